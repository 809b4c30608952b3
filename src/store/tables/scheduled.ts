/** Which scheduled runs were started and finished, so that a restart knows it. Runs by hand are not among them. */

import { ACCOUNT } from '../../core/account.ts';
import type { State, StateDb } from '../state.ts';

export interface ScheduledRun {
  /** The due time that it was for. */
  readonly due_at: string;
  readonly started_at: string;
  /** null while it runs, or when it never came to an end. */
  readonly finished_at: string | null;
  /** As in the record of the run; `nothing_due` where there was nothing to do and so no run; `failed` also for a run that never began. */
  readonly result: 'done' | 'failed' | 'set_aside' | 'refused' | 'interrupted' | 'nothing_due' | null;
  readonly run_id: string | null;
  /** How often a run was begun for this due time. */
  readonly tries: number;
}

export interface ScheduleEntry {
  /** Every due time up to here is handled. */
  readonly handled_until: string;
  readonly last: ScheduledRun | null;
}

/** By pipeline. */
export type ScheduleState = Readonly<Record<string, ScheduleEntry>>;

/** null where no scheduler has been at work. */
export async function readSchedule(db: StateDb): Promise<ScheduleState | null> {
  const rows = await db.selectFrom('scheduled').selectAll().where('account', '=', ACCOUNT).execute();
  if (rows.length === 0) return null;
  const entryOf = ({ account, pipeline, handled_until, due_at, ...run }: (typeof rows)[number]) =>
    [pipeline, { handled_until, last: due_at === null ? null : ({ due_at, ...run } as ScheduledRun) }] as const;
  return Object.fromEntries(rows.map(entryOf));
}

/** All of it or nothing. */
export async function writeSchedule(state: State, schedule: ScheduleState): Promise<void> {
  const rows = Object.entries(schedule).map(([pipeline, { handled_until, last }]) => ({
    account: ACCOUNT,
    pipeline,
    handled_until,
    due_at: null,
    started_at: null,
    finished_at: null,
    result: null,
    run_id: null,
    tries: null,
    ...last,
  }));
  await state.write(async (tx) => {
    await tx.deleteFrom('scheduled').where('account', '=', ACCOUNT).execute();
    if (rows.length > 0) await tx.insertInto('scheduled').values(rows).execute();
  });
}
