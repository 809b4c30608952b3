/**
 * Runs, fetches, receipts, holds and drift: read and written alike in both engines, in the transaction of the
 * slices that they belong to. Rows and rejects do not come this way: they are many.
 *
 * Nothing here leans on keys or ON CONFLICT, because the DuckDB tables have neither; who writes holds the target's
 * publishing lock, so looking and then writing is safe.
 */
import { type Kysely, sql } from 'kysely';
import { ACCOUNT } from '../core/account.ts';
import type { Day } from '../core/days.ts';
import type { DriftRecord, FetchRecord, PrunedFetch, RunRecord } from '../core/records.ts';
import type { BookkeepingTables, DriftTable, ReceiptTable, RunTable } from './bookkeeping-tables.ts';
import { CHECK_KINDS, isCheckKind } from './checks/drift.ts';
import type { HoldRecord, LoadSlice, Publication, Receipt, Receipts, ShownHold } from './target.ts';

export type Bookkeeping = Kysely<BookkeepingTables>;

/** Values in one statement. Postgres takes 65,535 at most. */
const VALUES_A_STATEMENT = 10_000;

const FETCH_COLUMNS = [
  'fetch_id',
  'run_id',
  'pipeline',
  'window_from',
  'window_to',
  'method',
  'url',
  'attempt',
  'started_at',
  'finished_at',
  'status',
  'content_type',
  'bytes_received',
  'bytes_decoded',
  'sha256',
  'raw_path',
  'items',
  'outcome',
  'error_code',
  'error_message',
] as const satisfies readonly (keyof FetchRecord)[];

const HOLD_COLUMNS = [
  'pipeline',
  'slice_day',
  'reason',
  'detail',
  'digest',
  'rows',
  'rows_before',
  'fetch_id',
  'held_at',
] as const satisfies readonly (keyof HoldRecord)[];

const DRIFT_COLUMNS = [
  'pipeline',
  'fetch_id',
  'kind',
  'field',
  'count',
  'example',
] as const satisfies readonly (keyof DriftRecord)[];

/** The record with these columns and no others: a newer program's file may tell more than our tables hold. */
function only<T extends object, K extends keyof T>(record: T, columns: readonly K[]): Pick<T, K> {
  return Object.fromEntries(columns.map((column) => [column, record[column]])) as Pick<T, K>;
}

function batches<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}

/** The last of those that share a name, in the order of their first. */
function lastOfEach<T>(items: readonly T[], name: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [name(item), item])).values()];
}

async function insertAll<T extends keyof BookkeepingTables>(
  db: Bookkeeping,
  table: T,
  rows: readonly BookkeepingTables[T][],
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {}).length;
  for (const batch of batches(rows, Math.floor(VALUES_A_STATEMENT / Math.max(columns, 1))))
    await db
      .insertInto(table)
      .values(batch as never)
      .execute();
}

/** Whether the tables of the bookkeeping are there. */
export async function hasBookkeeping(db: Bookkeeping): Promise<boolean> {
  const found = await db
    .selectFrom('information_schema.tables')
    .select('table_name')
    .where('table_schema', '=', 'etl')
    .where('table_name', '=', 'migration')
    .execute();
  return found.length > 0;
}

/** What is loaded. */
export async function currentReceipts(db: Bookkeeping): Promise<Receipts> {
  const rows = await db
    .selectFrom('etl.receipt')
    .select(['pipeline', sql<string>`cast(slice_day as varchar)`.as('day'), 'digest', 'fetch_id'])
    .where('account', '=', ACCOUNT)
    .where('superseded_at', 'is', null)
    .execute();
  const receipts = new Map<string, Map<Day, Receipt>>();
  for (const { pipeline, day, ...receipt } of rows) {
    const days = receipts.get(pipeline) ?? new Map<Day, Receipt>();
    receipts.set(pipeline, days.set(day as Day, receipt));
  }
  return receipts;
}

/** What is kept back, as the target shows it. */
export function shownHolds(db: Bookkeeping): Promise<ShownHold[]> {
  return db
    .selectFrom('etl.hold')
    .select(['pipeline', sql<Day>`cast(slice_day as varchar)`.as('slice_day'), 'digest', 'detail'])
    .where('account', '=', ACCOUNT)
    .execute();
}

/** The newest run that is recorded with its end; ids sort by birth. What came of one that is not over is still to be recorded. */
export async function newestRunId(db: Bookkeeping): Promise<string | null> {
  const { newest } = await db
    .selectFrom('etl.run')
    .select(sql<string | null>`max(run_id)`.as('newest'))
    .where('account', '=', ACCOUNT)
    .where('ended_at', 'is not', null)
    .executeTakeFirstOrThrow();
  return newest;
}

/** Records a publication; `loaded` are those of its slices that were loaded, `at` the time that they all get. */
export async function recordPublication(
  db: Bookkeeping,
  publication: Publication,
  loaded: readonly LoadSlice[],
  at: string,
): Promise<void> {
  await recordRuns(db, [...publication.runs, publication.run]);
  await recordFetches(db, publication.fetches);
  await recordPruned(db, publication.pruned ?? []);
  await recordReceipts(db, publication.run.run_id, loaded, at);
  await recordDrift(db, publication, at);
  await recordHolds(db, publication.holds);
}

async function recordRuns(db: Bookkeeping, runs: readonly RunRecord[]): Promise<void> {
  const rows = lastOfEach(runs, (run) => run.run_id).map(
    (run): RunTable => ({
      account: ACCOUNT,
      run_id: run.run_id,
      command: run.command,
      pipelines: JSON.stringify(run.pipelines),
      started_at: run.started_at,
      ended_at: run.ended_at,
      result: run.result,
      exit_code: run.exit_code,
      summary: run.summary && JSON.stringify(run.summary),
    }),
  );
  for (const batch of batches(rows, VALUES_A_STATEMENT)) {
    const ids = batch.map((row) => row.run_id);
    await db.deleteFrom('etl.run').where('account', '=', ACCOUNT).where('run_id', 'in', ids).execute();
  }
  await insertAll(db, 'etl.run', rows);
}

async function recordFetches(db: Bookkeeping, fetches: readonly FetchRecord[]): Promise<void> {
  const known = await fetchesAmong(
    db,
    fetches.map((fetch) => fetch.fetch_id),
  );
  const rows = lastOfEach(fetches, (fetch) => fetch.fetch_id)
    .filter((fetch) => !known.has(fetch.fetch_id))
    .map((fetch) => ({ account: ACCOUNT, ...only(fetch, FETCH_COLUMNS), pruned_at: fetch.pruned_at ?? null }));
  await insertAll(db, 'etl.fetch', rows);
}

async function recordPruned(db: Bookkeeping, pruned: readonly PrunedFetch[]): Promise<void> {
  for (const at of new Set(pruned.map(({ pruned_at }) => pruned_at))) {
    const ids = pruned.filter(({ pruned_at }) => pruned_at === at).map(({ fetch_id }) => fetch_id);
    for (const batch of batches(ids, VALUES_A_STATEMENT))
      await db
        .updateTable('etl.fetch')
        .set({ pruned_at: at })
        .where('account', '=', ACCOUNT)
        .where('fetch_id', 'in', batch)
        .execute();
  }
}

/** Those of the fetches that are recorded, with the time they were finished. */
async function fetchesAmong(db: Bookkeeping, ids: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const batch of batches(ids, VALUES_A_STATEMENT)) {
    const rows = await db
      .selectFrom('etl.fetch')
      .select(['fetch_id', sql<string>`cast(finished_at as varchar)`.as('finished_at')])
      .where('account', '=', ACCOUNT)
      .where('fetch_id', 'in', batch)
      .execute();
    for (const row of rows) found.set(row.fetch_id, row.finished_at);
  }
  return found;
}

async function recordReceipts(db: Bookkeeping, runId: string, loaded: readonly LoadSlice[], at: string): Promise<void> {
  const rows = loaded.map(
    ({ pipeline, content }): ReceiptTable => ({
      account: ACCOUNT,
      pipeline: pipeline.name,
      slice_day: content.day,
      digest: content.digest,
      version: content.version,
      rows: content.rows,
      rejects: content.rejects,
      duplicates: content.duplicates,
      sums: JSON.stringify(content.sums),
      settled: content.settled,
      fetch_id: content.fetch_id,
      fetched_at: content.fetched_at,
      run_id: runId,
      loaded_at: at,
      superseded_at: null,
    }),
  );
  for (const pipeline of new Set(rows.map((row) => row.pipeline)))
    for (const batch of batches(
      rows.filter((row) => row.pipeline === pipeline),
      VALUES_A_STATEMENT,
    ))
      await db
        .updateTable('etl.receipt')
        .set({ superseded_at: at })
        .where('account', '=', ACCOUNT)
        .where('pipeline', '=', pipeline)
        .where('superseded_at', 'is', null)
        .where(
          'slice_day',
          'in',
          batch.map((row) => row.slice_day),
        )
        .execute();
  await insertAll(db, 'etl.receipt', rows);
}

/**
 * Drift lies by fetch, and what a fetch showed is replaced: recording it twice does not double it. What checks found is left to
 * check-drift.ts: what a run noted of it may come from another target.
 */
async function recordDrift(db: Bookkeeping, publication: Publication, at: string): Promise<void> {
  const shown = publication.drift.filter(({ kind }) => !isCheckKind(kind));
  const ids = [...new Set(shown.map((drift) => drift.fetch_id))];
  const finished = await fetchesAmong(db, ids);
  const name = (drift: DriftRecord) => JSON.stringify([drift.pipeline, drift.fetch_id, drift.kind, drift.field]);
  const rows = lastOfEach(shown, name).map(
    (drift): DriftTable => ({
      account: ACCOUNT,
      ...only(drift, DRIFT_COLUMNS),
      seen_at: finished.get(drift.fetch_id) ?? at,
    }),
  );
  for (const batch of batches(ids, VALUES_A_STATEMENT))
    await db
      .deleteFrom('etl.drift_by_fetch')
      .where('account', '=', ACCOUNT)
      .where('fetch_id', 'in', batch)
      .where('kind', 'not like', CHECK_KINDS)
      .execute();
  await insertAll(db, 'etl.drift_by_fetch', rows);
}

async function recordHolds(db: Bookkeeping, holds: readonly HoldRecord[]): Promise<void> {
  await db.deleteFrom('etl.hold').where('account', '=', ACCOUNT).execute();
  await insertAll(
    db,
    'etl.hold',
    holds.map((hold) => ({ account: ACCOUNT, ...only(hold, HOLD_COLUMNS) })),
  );
}
