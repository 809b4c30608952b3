/** Runs, and what their answers showed that the contract does not know. A run has a row from its beginning on, so also one that was killed. */

import { ACCOUNT } from '../../core/account.ts';
import type { DriftRecord, RunRecord } from '../../core/records.ts';
import type { State, StateDb } from '../state.ts';
import { inBatches } from './batches.ts';
import type { DriftTable, RunTable } from './tables.ts';

export function beginRun(state: State, run: RunRecord): Promise<void> {
  return state.write(async (tx) => {
    await tx.insertInto('run').values(rowOf(run)).execute();
  });
}

/** Writes the end of a run, with what it saw. */
export function endRun(state: State, run: RunRecord, drift: readonly DriftRecord[]): Promise<void> {
  const of = { account: ACCOUNT, run_id: run.run_id };
  const seen = drift.map(({ check, ...one }, nth) => ({
    ...of,
    nth,
    ...one,
    found_by: check ? JSON.stringify(check) : null,
  }));
  return state.write(async (tx) => {
    await tx
      .updateTable('run')
      .set(rowOf(run))
      .where('account', '=', ACCOUNT)
      .where('run_id', '=', run.run_id)
      .execute();
    for (const rows of inBatches(seen)) await tx.insertInto('drift').values(rows).execute();
  });
}

/** Runs newer than `after` (all when null), oldest first. */
export async function runsSince(db: StateDb, after: string | null): Promise<RunRecord[]> {
  const rows = await runs(db)
    .where('run_id', '>', after ?? '')
    .orderBy('run_id')
    .execute();
  return rows.map(recordOf);
}

/** The last `count` runs, newest first; of those older than `before`, where that is given. */
export async function lastRuns(db: StateDb, count: number, before: string | null = null): Promise<RunRecord[]> {
  const all = runs(db).orderBy('run_id', 'desc').limit(count);
  return (await (before === null ? all : all.where('run_id', '<', before)).execute()).map(recordOf);
}

const PAGE = 100;

/** Runs from the newest to the oldest, in pages. */
export async function* runsBackwards(db: StateDb): AsyncGenerator<RunRecord> {
  for (let before: string | null = null; ; ) {
    const page: RunRecord[] = await lastRuns(db, PAGE, before);
    yield* page;
    if (page.length < PAGE) return;
    before = page.at(-1)!.run_id;
  }
}

/** Runs that began between two instants (ISO 8601 UTC), both included, oldest first. */
export async function runsBegun(db: StateDb, from: string, to: string): Promise<RunRecord[]> {
  const rows = await runs(db).where('started_at', '>=', from).where('started_at', '<=', to).orderBy('run_id').execute();
  return rows.map(recordOf);
}

/** Whether the last run ended, and in good order. */
export async function endedWell(db: StateDb): Promise<boolean> {
  const [last] = await lastRuns(db, 1);
  return last !== undefined && last.ended_at !== null && last.result !== 'failed';
}

/** Changes whenever a run begins or ends, or the records of old ones go. */
export async function runsStamp(db: StateDb): Promise<string> {
  const { count } = await db
    .selectFrom('run')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('account', '=', ACCOUNT)
    .executeTakeFirstOrThrow();
  const [last] = await lastRuns(db, 1);
  return `${count} ${last?.run_id} ${last?.ended_at}`;
}

/** Runs that began before an instant and are older than the run `upTo`, oldest first. */
export async function runsBefore(db: StateDb, began: string, upTo: string): Promise<string[]> {
  const rows = await db
    .selectFrom('run')
    .select('run_id')
    .where('account', '=', ACCOUNT)
    .where('started_at', '<', began)
    .where('run_id', '<', upTo)
    .orderBy('run_id')
    .execute();
  return rows.map(({ run_id }) => run_id);
}

export function deleteRuns(state: State, ids: readonly string[]): Promise<void> {
  return state.write(async (tx) => {
    for (const some of inBatches(ids))
      for (const table of ['run', 'drift'] as const)
        await tx.deleteFrom(table).where('account', '=', ACCOUNT).where('run_id', 'in', some).execute();
  });
}

export interface RunDrift {
  readonly runId: string;
  readonly startedAt: string;
  readonly drift: readonly DriftRecord[];
}

/** What runs newer than `after` (all when null) saw, at most the newest `most` of those that saw something; oldest first. */
export async function driftAfter(db: StateDb, after: string | null, most: number): Promise<RunDrift[]> {
  const newest = await drift(db)
    .innerJoin('run', (on) => on.onRef('run.account', '=', 'drift.account').onRef('run.run_id', '=', 'drift.run_id'))
    .select(['run.run_id', 'run.started_at'])
    .distinct()
    .where('drift.run_id', '>', after ?? '')
    .orderBy('run.run_id', 'desc')
    .limit(most)
    .execute();
  const seen = await driftOfRuns(
    db,
    newest.map(({ run_id }) => run_id),
  );
  return newest
    .reverse()
    .map(({ run_id, started_at }) => ({ runId: run_id, startedAt: started_at, drift: seen.get(run_id) ?? [] }));
}

/** By run; those that saw nothing are not among them. */
export async function driftOfRuns(
  db: StateDb,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly DriftRecord[]>> {
  const found = new Map<string, DriftRecord[]>();
  for (const some of inBatches(ids)) {
    const rows = await drift(db).selectAll().where('run_id', 'in', some).orderBy('run_id').orderBy('nth').execute();
    for (const row of rows) found.set(row.run_id, [...(found.get(row.run_id) ?? []), driftOf(row)]);
  }
  return found;
}

function runs(db: StateDb) {
  return db.selectFrom('run').selectAll().where('account', '=', ACCOUNT);
}

function drift(db: StateDb) {
  return db.selectFrom('drift').where('drift.account', '=', ACCOUNT);
}

function rowOf({ pipelines, summary, ...run }: RunRecord): RunTable {
  return {
    account: ACCOUNT,
    ...run,
    pipelines: JSON.stringify(pipelines),
    summary: summary === null ? null : JSON.stringify(summary),
  };
}

function recordOf({ account: _, pipelines, summary, ...run }: RunTable): RunRecord {
  const read = { pipelines: JSON.parse(pipelines), summary: summary === null ? null : JSON.parse(summary) };
  return { ...run, ...read } as RunRecord;
}

function driftOf({ pipeline, fetch_id, kind, field, count, example, found_by: by }: DriftTable): DriftRecord {
  return { pipeline, fetch_id, kind, field, count, example, ...(by === null ? {} : { check: JSON.parse(by) }) };
}
