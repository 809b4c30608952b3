/** What `serve` keeps running, from its locks to its end: the receiver of push messages, the scheduler, and the server of page, health and metrics. */
import type { AlertSettings } from '../config/alerts.ts';
import type { PushSettings, ServeSettings } from '../config.ts';
import { EtlError } from '../core/errors.ts';
import type { RunContext } from '../run/context.ts';
import { RECEIVER_LOCK, SCHEDULER_LOCK } from '../run/verify/rebuild-state.ts';
import { type Lock, whoHolds } from '../store/locks.ts';
import { startAdminServer } from './admin-server.ts';
import { watchForAlerts } from './alert-watch.ts';
import { type HealthSources, healthOf, healthRoutes } from './health.ts';
import { metricsRoutes, openMetrics } from './metrics/metrics.ts';
import { OpenParts } from './open-parts.ts';
import { openPage, type Page, type PageOptions } from './page/page.ts';
import { startReceiving } from './receiver/receiving.ts';
import type { Schedules } from './schedule/due.ts';
import { Scheduler, type StartRun } from './schedule/scheduler.ts';

export interface ServeOptions {
  readonly context: RunContext;
  readonly push: PushSettings;
  readonly settings: ServeSettings;
  /** When pipelines are due, in the order in which a run takes them. */
  readonly schedules: Schedules;
  readonly startRun: StartRun;
  readonly page: PageOptions;
  readonly alerts: AlertSettings;
  /** Of the program. */
  readonly version: string;
  /** What the locks' holder is called. */
  readonly command: string;
  /** Called when messages are taken and runs are started. */
  readonly onReady: (addresses: Addresses) => void;
  /** Gets what has not ended long after it was asked to, and ends the program. */
  readonly onHung: (names: readonly string[]) => void;
}

export interface Addresses {
  /** null: the receiver is switched off. */
  readonly url: string | null;
  readonly health: string;
}

/** How often a host that stands by looks whether the one at work is gone. */
const STANDBY_MS = 500;

/** Who asks for an end waits 20 s at the most; a second of them is for ending by force. */
const END_MS = 19_000;

/**
 * Serves until the context's signal is aborted, then ends in good order: messages in hand are answered, a run ends after the slice in
 * hand. Errors: `locked/receiver` and `locked/scheduler` when another process does the same here, and those of `startReceiver` and
 * `startAdminServer`.
 */
export async function serve(options: ServeOptions): Promise<void> {
  const { context, push, settings, onReady, onHung } = options;
  const { signal, clock, log } = context;
  await context.state.file?.prove();
  const parts = new OpenParts(log);
  const over = new AbortController();
  let scheduler: Scheduler | null = null;
  let page: Page | null = null;
  const atEnd = () => {
    const hung = () => {
      scheduler?.kill();
      page?.kill();
      onHung(parts.names);
    };
    clock.sleep(END_MS, over.signal).then(hung, () => undefined); // rejected: it ended in time
  };
  try {
    const turn = await takeTurn(options, parts);
    if (settings.schedule && turn.has()) scheduler = await openScheduler(options);
    const receiving = push.enabled ? await startReceiving(context, push, parts) : null;
    const isServing = () => !signal.aborted && turn.isSound();
    const sources: HealthSources = {
      now: () => clock.now(),
      isLocked: isServing,
      isReceiving: receiving && (() => isServing() && receiving.isTaking()),
      isStandingBy: () => !turn.has(),
      schedule: () => scheduler?.view ?? null,
    };
    page = openPage(options.page, context, settings.host, () => healthOf(sources));
    parts.add('what was begun on the status page', () => page!.close());
    const metrics = await openMetrics({
      context,
      version: options.version,
      today: options.page.today,
      schedules: settings.schedule ? options.schedules : null,
      receiver: receiving?.counts ?? null,
    });
    const admin = await startAdminServer(settings, [healthRoutes(sources), metricsRoutes(metrics), page.routes]);
    parts.add('the health server', () => admin.close());
    if (signal.aborted) atEnd();
    else signal.addEventListener('abort', atEnd, { once: true });
    const working = turn.come.then(async (isMine) => {
      if (isMine && settings.schedule) scheduler ??= await openScheduler(options);
      await scheduler?.work(signal);
    });
    parts.add('the scheduled run', () => working);
    const watching = turn.come.then(async (isMine) => {
      if (isMine) await watchForAlerts(context, options.alerts, settings.runLimitMinutes);
    });
    parts.add('sending alerts', () => watching);
    onReady({ url: receiving?.url ?? null, health: `${admin.url}/healthz` });
    await Promise.race([untilAborted(signal), working.then(() => untilAborted(signal))]);
  } finally {
    await parts.close();
    signal.removeEventListener('abort', atEnd);
    over.abort();
  }
}

/** Of several hosts with one state in Postgres one starts the runs and sends the alerts; the others receive messages, show the page, and stand by. */
interface Turn {
  /** Whether it is this one's. */
  readonly has: () => boolean;
  /** Whether what this process has to hold alone is held. */
  readonly isSound: () => boolean;
  /** Resolves when it is this one's; to false when it was asked to end before. */
  readonly come: Promise<boolean>;
}

async function takeTurn({ context, push, settings, command }: ServeOptions, parts: OpenParts): Promise<Turn> {
  const { locks, log, clock, signal } = context;
  const isShared = context.state.engine === 'postgres';
  let [isSound, isStandingBy] = [true, false];
  const keep = (what: string, lock: Lock) =>
    parts.add(`the lock of the ${what}`, () => {
      isSound = false;
      return lock.release();
    });
  const refusal = async (name: string, what: 'receiver' | 'scheduler', why: string) =>
    new EtlError('locked', what, `another ${what} is at work: ${await whoHolds(locks, name)}`, {
      hint: `end it first: ${why}`,
    });
  const standBy = async (): Promise<boolean> => {
    while (!signal.aborted) {
      // A server that restarts is no reason to stop receiving.
      const lock = await locks.tryLock(SCHEDULER_LOCK, command).catch(() => null);
      if (lock) {
        keep('scheduler', lock);
        isStandingBy = false;
        log.info('the host that started the runs is gone; this one does now');
        return true;
      }
      await clock.sleep(STANDBY_MS, signal).catch(() => undefined);
    }
    return false;
  };
  // Receivers of several hosts write into one inbox, which has a message once.
  if (push.enabled && !isShared) {
    const lock = await locks.tryLock(RECEIVER_LOCK, command);
    if (!lock) throw await refusal(RECEIVER_LOCK, 'receiver', 'of two receivers doctor could find only one');
    keep('receiver', lock);
  }
  const turn = { has: () => !isStandingBy, isSound: () => isSound };
  const lock = settings.schedule ? await locks.tryLock(SCHEDULER_LOCK, command) : null;
  if (lock) keep('scheduler', lock);
  if (lock || !settings.schedule) return { ...turn, come: Promise.resolve(true) };
  const refused = await refusal(SCHEDULER_LOCK, 'scheduler', 'two schedulers would start every run twice');
  if (!isShared) throw refused;
  log.info(`${refused.message}; this one stands by`);
  isStandingBy = true;
  return { ...turn, come: standBy() };
}

function openScheduler({ context, settings, schedules, startRun }: ServeOptions): Promise<Scheduler> {
  const { runLimitMinutes } = settings;
  return Scheduler.open({ schedules, context, start: startRun, runLimitMinutes });
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
