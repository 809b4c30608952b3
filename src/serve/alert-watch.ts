/** Sends what shows without a run: what is late, messages that stay away, runs that were killed or could not begin. */
import type { AlertSettings } from '../config/alerts.ts';
import { dayAt } from '../core/days.ts';
import { sendAlerts } from '../run/alerts/alerts.ts';
import type { Unstarted } from '../run/alerts/run-causes.ts';
import type { RunContext } from '../run/context.ts';
import { readSchedule, type ScheduleState } from '../store/tables/scheduled.ts';
import { MOST_TRIES } from './schedule/due.ts';

const EVERY_MS = 300_000;
/** A scheduled run whose end was not recorded by then is gone: after its limit it is ended by force within a quarter of an hour. */
const GONE_AFTER_MS = 20 * 60_000;

/** Looks every five minutes until the signal is aborted. Never rejects. */
export async function watchForAlerts(
  context: RunContext,
  settings: AlertSettings,
  runLimitMinutes: number,
): Promise<void> {
  const { clock, signal, timeZone, today, state } = context;
  // A day that is only pretended stays what it is.
  if (today !== dayAt(clock.now(), timeZone)) return;
  while (!signal.aborted) {
    const nowMs = clock.now();
    const schedule = (await readSchedule(state.db).catch(() => null)) ?? {};
    const unstarted = neverBegun(schedule, nowMs - runLimitMinutes * 60_000 - GONE_AFTER_MS);
    await sendAlerts({ ...context, today: dayAt(nowMs, timeZone) }, settings, unstarted);
    await clock.sleep(EVERY_MS, signal).catch(() => undefined); // rejected: it is over
  }
}

/** Scheduled runs that ended without a record, and those that were given up and began before `goneMs`; pipelines of one run together. */
export function neverBegun(state: ScheduleState, goneMs: number): Unstarted[] {
  const runs = new Map<string, Unstarted>();
  for (const [pipeline, { last }] of Object.entries(state)) {
    if (last === null || last.run_id !== null) continue;
    const isGivenUp = last.finished_at === null && last.tries >= MOST_TRIES && Date.parse(last.started_at) < goneMs;
    if (last.result !== 'failed' && last.result !== 'refused' && !isGivenUp) continue;
    const others = runs.get(last.started_at)?.pipelines ?? [];
    const code = isGivenUp ? 'lost' : 'not_begun';
    runs.set(last.started_at, { pipelines: [...others, pipeline], at: last.started_at, code });
  }
  return [...runs.values()];
}
