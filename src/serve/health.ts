/** Whether `serve` is alive and ready, and the routes that say so. */
import type { FastifyInstance } from 'fastify';
import { isoTime } from '../core/clock.ts';
import type { SchedulerView } from './schedule/scheduler.ts';

/** What is asked each time; parts that are switched off are null. */
export interface HealthSources {
  readonly now: () => number;
  /** Whether the locks of what runs here are held. */
  readonly isLocked: () => boolean;
  readonly isReceiving: (() => boolean) | null;
  /** Whether another host starts the runs, and this one waits for its end. */
  readonly isStandingBy: () => boolean;
  readonly schedule: () => SchedulerView | null;
}

export interface Health {
  /** It answers. */
  readonly live: true;
  /** It holds its locks, can store messages, and no scheduled run is late by more than an hour. */
  readonly ready: boolean;
  readonly locked: boolean;
  /** Whether messages are taken and can be stored; null: the receiver is switched off. */
  readonly receiving: boolean | null;
  /** Whether another host starts the runs, and this one waits for its end. */
  readonly standing_by: boolean;
  /** null: the scheduler is switched off, or another host's. */
  readonly schedule: {
    readonly next_due_at: string | null;
    /** The oldest due time for which no run was begun. */
    readonly missed_since: string | null;
    readonly running: { readonly pipelines: readonly string[]; readonly since: string } | null;
  } | null;
}

/** A run that waits for another one is late; only after this is it missed. */
const MISSED_AFTER_MS = 3_600_000;

export function healthOf({ now, isLocked, isReceiving, isStandingBy, schedule }: HealthSources): Health {
  const locked = isLocked();
  const receiving = isReceiving?.() ?? null;
  const view = schedule();
  const isMissed = view?.missedMs != null && now() - view.missedMs > MISSED_AFTER_MS;
  return {
    live: true,
    ready: locked && receiving !== false && !isMissed,
    locked,
    receiving,
    standing_by: isStandingBy(),
    schedule: view && {
      next_due_at: view.nextMs === null ? null : isoTime(view.nextMs),
      missed_since: view.missedMs === null ? null : isoTime(view.missedMs),
      running: view.running && { pipelines: view.running.pipelines, since: isoTime(view.running.sinceMs) },
    },
  };
}

/** `/healthz`: 200 when ready, else 503. `/healthz/live`: 200 as long as anything answers. */
export function healthRoutes(sources: HealthSources): (app: FastifyInstance) => void {
  return (app) => {
    app.get('/healthz', (_request, reply) => {
      const health = healthOf(sources);
      reply.code(health.ready ? 200 : 503).send(health);
    });
    app.get('/healthz/live', (_request, reply) => {
      reply.send({ live: true });
    });
  };
}
