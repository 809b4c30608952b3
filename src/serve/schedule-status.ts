/** For each pipeline that runs by a schedule: when it is due next, and what its last scheduled run came to. */
import { isoTime } from '../core/clock.ts';
import type { HomePaths } from '../core/home.ts';
import { dueNow, type ScheduledRun, type Schedules } from './schedule-due.ts';
import { readSchedule } from './schedule-file.ts';

export interface ScheduleStatus {
  /** In the past where a run is due now; null when none ever will be. */
  readonly next_due_at: string | null;
  /** null before the first one. */
  readonly last: ScheduledRun | null;
}

/** By pipeline; nothing where no scheduler has been at work. */
export async function scheduleStatus(
  paths: Pick<HomePaths, 'state'>,
  schedules: Schedules,
  nowMs: number,
): Promise<ReadonlyMap<string, ScheduleStatus>> {
  const state = await readSchedule(paths);
  if (state === null) return new Map();
  const due = new Map(dueNow(schedules, state, nowMs).map(({ pipeline, dueMs }) => [pipeline, dueMs]));
  return new Map(
    [...schedules].map(([pipeline, schedule]) => {
      const nextMs = due.get(pipeline) ?? schedule.next(nowMs);
      const last = state[pipeline]?.last ?? null;
      return [pipeline, { next_due_at: nextMs === null ? null : isoTime(nextMs), last }];
    }),
  );
}
