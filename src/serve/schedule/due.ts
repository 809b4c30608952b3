/**
 * Which pipelines are due, from their schedules and from what was started and finished before. Pure.
 *
 * Of all due times that have passed since the last one that was handled, a pipeline is due for the newest alone: seven nights
 * that were missed are one run. A due time is handled when a run for it has ended, however it ended; one whose run never
 * came to an end (a crash, a restart) is due again, but not for ever. A pipeline that was never seen before is due from now on.
 */
import { isoTime } from '../../core/clock.ts';
import type { ScheduledRun, ScheduleEntry, ScheduleState } from '../../store/tables/scheduled.ts';
import type { Schedule } from './schedule.ts';

/** A schedule for each pipeline. */
export type Schedules = ReadonlyMap<string, Schedule>;

/** A pipeline that is to be run, and the due time that it is for. */
export interface Due {
  readonly pipeline: string;
  readonly dueMs: number;
}

/** What came of a scheduled run. */
export interface ScheduledEnd {
  readonly result: NonNullable<ScheduledRun['result']>;
  readonly runId: string | null;
}

/** A run that dies each time must not be begun for ever. */
export const MOST_TRIES = 3;
/** A due time that lies further ahead than this was recorded under a clock that was wrong. */
const MOST_AHEAD_MS = 26 * 3_600_000;

/** The state with what it must know of every pipeline: the same object where it knows it already. */
export function knowing(schedules: Schedules, state: ScheduleState, nowMs: number): ScheduleState {
  const news = [...schedules.keys()].filter((pipeline) => {
    const known = state[pipeline];
    return !known || Date.parse(known.handled_until) > nowMs + MOST_AHEAD_MS;
  });
  if (news.length === 0) return state;
  const fresh = (pipeline: string): ScheduleEntry => ({
    handled_until: isoTime(nowMs),
    last: state[pipeline]?.last ?? null,
  });
  return { ...state, ...Object.fromEntries(news.map((pipeline) => [pipeline, fresh(pipeline)])) };
}

/** What is due now, in the order of the schedules. */
export function dueNow(schedules: Schedules, state: ScheduleState, nowMs: number): Due[] {
  const found: Due[] = [];
  for (const [pipeline, schedule] of schedules) {
    const dueMs = schedule.last(nowMs);
    if (dueMs !== null && dueMs > handledMs(state[pipeline], nowMs)) found.push({ pipeline, dueMs });
  }
  return found;
}

/** When the next pipeline will be due after the instant; null when none ever will. */
export function nextDue(schedules: Schedules, afterMs: number): number | null {
  const all = [...schedules.values()].map((schedule) => schedule.next(afterMs) ?? Number.POSITIVE_INFINITY);
  const nextMs = Math.min(Number.POSITIVE_INFINITY, ...all);
  return nextMs === Number.POSITIVE_INFINITY ? null : nextMs;
}

/** The oldest due time that is not handled; null when none is waiting. */
export function waitingSince(schedules: Schedules, state: ScheduleState, nowMs: number): number | null {
  const oldest = [...schedules].map(([pipeline, schedule]) => schedule.next(handledMs(state[pipeline], nowMs)));
  const waiting = oldest.filter((ms): ms is number => ms !== null && ms <= nowMs);
  return waiting.length === 0 ? null : Math.min(...waiting);
}

/** The state once a run of these has begun. */
export function whenStarted(state: ScheduleState, due: readonly Due[], nowMs: number): ScheduleState {
  return changed(state, due, nowMs, ({ handled_until, last }, dueAt) => {
    const isAgain = last?.due_at === dueAt && last.finished_at === null;
    const tries = isAgain ? last.tries + 1 : 1;
    const begun = { due_at: dueAt, started_at: isoTime(nowMs), finished_at: null, result: null, run_id: null, tries };
    return { handled_until, last: begun };
  });
}

/** The state once that run has ended. */
export function whenEnded(
  state: ScheduleState,
  due: readonly Due[],
  { result, runId }: ScheduledEnd,
  nowMs: number,
): ScheduleState {
  return changed(state, due, nowMs, ({ last }, dueAt) => ({
    handled_until: dueAt,
    last: {
      tries: 1,
      started_at: isoTime(nowMs),
      ...last,
      due_at: dueAt,
      finished_at: isoTime(nowMs),
      result,
      run_id: runId,
    },
  }));
}

/** The state once that run was stopped because `serve` ends: it is due again, and that was no try. */
export function whenStopped(state: ScheduleState, due: readonly Due[], runId: string | null, nowMs: number) {
  return changed(state, due, nowMs, ({ handled_until, last }) => ({
    handled_until,
    last: last && { ...last, result: 'interrupted', run_id: runId, tries: Math.max(1, last.tries - 1) },
  }));
}

function changed(
  state: ScheduleState,
  due: readonly Due[],
  nowMs: number,
  change: (entry: ScheduleEntry, dueAt: string) => ScheduleEntry,
): ScheduleState {
  const made = due.map(({ pipeline, dueMs }) => {
    const before = state[pipeline] ?? { handled_until: isoTime(nowMs), last: null };
    return [pipeline, change(before, isoTime(dueMs))] as const;
  });
  return { ...state, ...Object.fromEntries(made) };
}

function handledMs(known: ScheduleEntry | undefined, nowMs: number): number {
  if (!known) return nowMs;
  const { handled_until, last } = known;
  const untilMs = Date.parse(handled_until);
  const isGivenUp = last !== null && last.finished_at === null && last.tries >= MOST_TRIES;
  return isGivenUp ? Math.max(untilMs, Date.parse(last.due_at)) : untilMs;
}
