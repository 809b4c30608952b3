/** `/metrics` for Prometheus: what this process does, and what runs, which are processes of their own, leave behind. */
import type { FastifyInstance } from 'fastify';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Day } from '../../core/days.ts';
import { asEtlError } from '../../core/errors.ts';
import type { RunContext } from '../../run/context.ts';
import type { ReceiverCounts } from '../refusals/counts.ts';
import { DEFERRALS, REFUSALS } from '../refusals/refusals.ts';
import type { Schedules } from '../schedule/due.ts';
import { CallCounts, TokenCounts } from './calls.ts';
import { type Meters, metersIn } from './meters.ts';
import { RunCounts } from './runs.ts';
import { StateGauges } from './state.ts';

export interface MetricsOptions {
  readonly context: RunContext;
  readonly version: string;
  readonly today: () => Day;
  /** null: the scheduler is switched off. */
  readonly schedules: Schedules | null;
  /** null: the receiver is switched off. */
  readonly receiver: ReceiverCounts | null;
}

export interface Metrics {
  /** In Prometheus' text format. */
  text(): Promise<string>;
  readonly contentType: string;
}

/** A part that cannot be read is logged once an hour. */
const SHORTEST_SILENCE_MS = 3_600_000;

/** Counts from now on. */
export async function openMetrics(options: MetricsOptions): Promise<Metrics> {
  const { context, version, today, schedules, receiver } = options;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const meters = metersIn(registry);
  meters.build.set({ version }, 1);
  const runs = await RunCounts.open(context.state, meters);
  const calls = new CallCounts(context, meters);
  await calls.read();
  const tokens = new TokenCounts(context, meters);
  const state = new StateGauges(context, today, meters);
  const parts = new Parts(context, meters, {
    runs: () => runs.read(),
    calls: () => calls.read(),
    tokens: () => tokens.read(),
    pipelines: () => state.readPipelines(),
    inbox: () => state.readInbox(),
    schedule: async () => void (schedules && (await state.readSchedule(schedules))),
    receiver: async () => void (receiver && countReceived(meters, receiver)),
  });
  let making: Promise<string> | null = null;
  const make = async () => {
    await parts.read();
    return registry.metrics();
  };
  const text = () => {
    // Several who scrape at once are given the same.
    making ??= make().finally(() => {
      making = null;
    });
    return making;
  };
  return { text, contentType: registry.contentType };
}

/** What is read at each scrape; one that fails is logged and counted, and keeps none of the others back. */
class Parts {
  private readonly log: RunContext['log'];
  private readonly clock: RunContext['clock'];
  private readonly meters: Meters;
  private readonly parts: Readonly<Record<string, () => Promise<void>>>;
  private readonly loggedMs = new Map<string, number>();

  constructor({ log, clock }: RunContext, meters: Meters, parts: Readonly<Record<string, () => Promise<void>>>) {
    this.log = log;
    this.clock = clock;
    this.meters = meters;
    this.parts = parts;
    for (const part of Object.keys(parts)) meters.scrapeErrors.inc({ part }, 0);
  }

  async read(): Promise<void> {
    for (const [part, read] of Object.entries(this.parts)) {
      try {
        await read();
      } catch (thrown) {
        this.meters.scrapeErrors.inc({ part });
        this.warn(part, asEtlError(thrown));
      }
    }
  }

  private warn(part: string, { message, code }: { message: string; code: string }): void {
    const nowMs = this.clock.now();
    const loggedMs = this.loggedMs.get(part);
    if (loggedMs !== undefined && Math.abs(nowMs - loggedMs) < SHORTEST_SILENCE_MS) return;
    this.loggedMs.set(part, nowMs);
    this.log.warn(`metrics: ${part} could not be read and keep what they last said: ${message}`, { part, code });
  }
}

/** The receiver counts since it was started, which is when these began. */
function countReceived(meters: Meters, counts: ReceiverCounts): void {
  const { pushMessages, pushDropped, keyFetches, pushInHand } = meters;
  for (const one of [pushMessages, pushDropped, keyFetches]) one.reset();
  pushMessages.inc({ outcome: 'accepted', reason: '' }, counts.accepted);
  pushMessages.inc({ outcome: 'copy', reason: '' }, counts.copies);
  for (const reason of Object.keys(REFUSALS) as (keyof typeof REFUSALS)[])
    pushMessages.inc({ outcome: 'refused', reason }, counts.refused[reason]);
  for (const reason of DEFERRALS) pushMessages.inc({ outcome: 'deferred', reason }, counts.deferred[reason]);
  pushDropped.inc(counts.connectionsDropped);
  keyFetches.inc(counts.keyFetches);
  pushInHand.set(counts.inHand);
}

export function metricsRoutes(metrics: Metrics): (app: FastifyInstance) => void {
  return (app) => {
    app.get('/metrics', async (_request, reply) => {
      const text = await metrics.text();
      return reply.type(metrics.contentType).send(text);
    });
  };
}
