/** For each pipeline that runs by a schedule: when it is due next, and what its last scheduled run came to. */
import { isoTime } from '../../core/clock.ts';
import type { State } from '../../store/state.ts';
import { readSchedule, type ScheduledRun } from '../../store/tables/scheduled.ts';
import { dueNow, type Schedules } from './due.ts';

export interface ScheduleStatus {
  /** In the past where a run is due now; null when none ever will be. */
  readonly next_due_at: string | null;
  /** null before the first one. */
  readonly last: ScheduledRun | null;
}

/** By pipeline; nothing where no scheduler has been at work. */
export async function scheduleStatus(
  { db }: Pick<State, 'db'>,
  schedules: Schedules,
  nowMs: number,
): Promise<ReadonlyMap<string, ScheduleStatus>> {
  const known = await readSchedule(db);
  if (known === null) return new Map();
  const due = new Map(dueNow(schedules, known, nowMs).map(({ pipeline, dueMs }) => [pipeline, dueMs]));
  return new Map(
    [...schedules].map(([pipeline, schedule]) => {
      const nextMs = due.get(pipeline) ?? schedule.next(nowMs);
      const last = known[pipeline]?.last ?? null;
      return [pipeline, { next_due_at: nextMs === null ? null : isoTime(nextMs), last }];
    }),
  );
}
