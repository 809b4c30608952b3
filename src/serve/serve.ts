/** What `serve` keeps running, from its locks to its end: the receiver of push messages, the scheduler, and the server of page, health and metrics. */
import type { AlertSettings } from '../config/alerts.ts';
import type { PushSettings, ServeSettings } from '../config.ts';
import { EtlError } from '../core/errors.ts';
import type { RunContext } from '../run/context.ts';
import { RECEIVER_LOCK, SCHEDULER_LOCK } from '../run/verify/rebuild-state.ts';
import { whoHolds } from '../store/locks.ts';
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

/** With the state in Postgres the scheduler of another host may be at work: then this one waits for its end, and looks so often. */
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
    const locks = await takeLocks(options, parts);
    if (settings.schedule) scheduler = await openScheduler(options);
    const receiving = push.enabled ? await startReceiving(context, push, parts) : null;
    const view = scheduler && (() => scheduler!.view);
    const isServing = () => !signal.aborted && locks.areHeld;
    const sources: HealthSources = {
      now: () => clock.now(),
      isLocked: isServing,
      isReceiving: receiving && (() => isServing() && receiving.isTaking()),
      schedule: view,
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
    const working = scheduler?.work(signal);
    parts.add('the scheduled run', async () => working);
    const watching = watchForAlerts(context, options.alerts, settings.runLimitMinutes);
    parts.add('sending alerts', async () => watching);
    onReady({ url: receiving?.url ?? null, health: `${admin.url}/healthz` });
    await untilAborted(signal);
  } finally {
    await parts.close();
    signal.removeEventListener('abort', atEnd);
    over.abort();
  }
}

async function takeLocks({ context, push, settings, command }: ServeOptions, parts: OpenParts) {
  const { locks, log, clock, signal } = context;
  const isShared = context.state.engine === 'postgres';
  const held = { areHeld: true };
  const take = async (name: string, code: string, what: string, why: string, isStandby = false) => {
    let lock = await locks.tryLock(name, command);
    if (!lock && isStandby) log.info(`another ${what} is at work: ${await whoHolds(locks, name)}; this one stands by`);
    while (!lock && isStandby && !signal.aborted) {
      await clock.sleep(STANDBY_MS, signal).catch(() => undefined);
      lock = await locks.tryLock(name, command);
    }
    if (!lock)
      throw new EtlError('locked', code, `another ${what} is at work: ${await whoHolds(locks, name)}`, {
        hint: `end it first: ${why}`,
      });
    parts.add(`the lock of the ${what}`, () => {
      held.areHeld = false;
      return lock.release();
    });
  };
  // Receivers of several hosts write into one inbox, which has a message once.
  if (push.enabled && !isShared)
    await take(RECEIVER_LOCK, 'receiver', 'receiver', 'of two receivers doctor could find only one');
  if (settings.schedule)
    await take(SCHEDULER_LOCK, 'scheduler', 'scheduler', 'two schedulers would start every run twice', isShared);
  return held;
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
