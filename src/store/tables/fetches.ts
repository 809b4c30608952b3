/** Fetches: what was asked, what came of it, and where the response lies. */
import { type SqlBool, sql } from 'kysely';
import { ACCOUNT } from '../../core/account.ts';
import type { FetchRecord, PrunedFetch } from '../../core/records.ts';
import type { State, StateDb, StateTransaction } from '../state.ts';
import { inBatches } from './batches.ts';
import type { FetchTable } from './tables.ts';

const PAGE = 1000;
/** A row has 27 values. */
const MOST_ROWS = 200;
/** What stands between the object and the line in it. */
const LINE_MARK = '#';

/** Rows of one transaction: all of them are there, or none. `isLookup`: what they say is yet to be taken into the lake. */
export function insertFetches(state: State, fetches: readonly FetchRecord[], isLookup: boolean): Promise<void> {
  return state.write((tx) => insertInto(tx, fetches, isLookup ? 0 : null));
}

async function insertInto(
  tx: StateTransaction,
  fetches: readonly FetchRecord[],
  isApplied: FetchTable['is_applied'],
): Promise<void> {
  const first = (await lastWritten(tx)) + 1;
  const rows = fetches.map((fetch, i) => ({ ...rowOf(fetch), seq: first + i, is_applied: isApplied }));
  for (const some of inBatches(rows, MOST_ROWS)) await tx.insertInto('fetch').values(some).execute();
}

/**
 * Those of which there is no row; returns how many. `isPending`: whether what the response says is yet to be taken into the lake.
 */
export async function insertMissing(
  state: State,
  fetches: readonly FetchRecord[],
  isPending: (fetch: FetchRecord) => boolean = () => false,
): Promise<number> {
  const ids = fetches.map(({ fetch_id: id }) => id);
  return state.write(async (tx) => {
    const known = await knownFetches(tx, ids);
    const missing = fetches.filter(({ fetch_id: id }) => !known.has(id));
    await insertInto(tx, missing.filter(isPending), 0);
    await insertInto(
      tx,
      missing.filter((fetch) => !isPending(fetch)),
      null,
    );
    return missing.length;
  });
}

/** The row of one fetch, over one of the same id: messages may be stored again by the run after one that was killed. */
export function putFetch(state: State, fetch: FetchRecord): Promise<void> {
  return state.write(async (tx) => {
    await tx.deleteFrom('fetch').where('account', '=', ACCOUNT).where('fetch_id', '=', fetch.fetch_id).execute();
    await insertInto(tx, [fetch], null);
  });
}

export interface FetchRange {
  readonly pipeline: string;
  /** The first id that counts; '' for all. */
  readonly from?: string;
}

/** Oldest first, by their ids, in pages; what is written meanwhile may be among them. */
export async function* fetchesFrom(db: StateDb, { pipeline, from = '' }: FetchRange): AsyncGenerator<FetchRecord> {
  let [after, isIncluded] = [from, true];
  for (;;) {
    const rows = await fetches(db)
      .where('pipeline', '=', pipeline)
      .where('fetch_id', isIncluded ? '>=' : '>', after)
      .orderBy('fetch_id')
      .limit(PAGE)
      .execute();
    for (const row of rows) yield recordOf(row);
    if (rows.length < PAGE) return;
    [after, isIncluded] = [rows.at(-1)!.fetch_id, false];
  }
}

/** Those of the ids that have a row, oldest first. */
export async function* fetchesWith(db: StateDb, ids: Iterable<string>): AsyncGenerator<FetchRecord> {
  for (const some of inBatches([...new Set(ids)].sort())) {
    const rows = await fetches(db).where('fetch_id', 'in', some).orderBy('fetch_id').execute();
    for (const row of rows) yield recordOf(row);
  }
}

export interface ObjectFetches {
  readonly object: string;
  readonly fetches: readonly FetchRecord[];
}

/** Those that have a response, object by object, in pages; of an object in the order of their ids. */
export async function* fetchesByObject(db: StateDb, pipeline: string): AsyncGenerator<ObjectFetches> {
  let object = '';
  let found: FetchRecord[] = [];
  for (let last = ['', '']; ; ) {
    const rows = await fetches(db)
      .where('pipeline', '=', pipeline)
      .where(sql<SqlBool>`raw_path IS NOT NULL`)
      .where(sql<SqlBool>`(raw_path, fetch_id) > (${sql.join(last)})`)
      .orderBy('raw_path')
      .orderBy('fetch_id')
      .limit(PAGE)
      .execute();
    for (const row of rows) {
      if (row.raw_path !== object && found.length > 0) yield { object, fetches: found };
      if (row.raw_path !== object) [object, found] = [row.raw_path!, []];
      found.push(recordOf(row));
      last = [object, row.fetch_id];
    }
    if (rows.length === PAGE) continue;
    if (found.length > 0) yield { object, fetches: found };
    return;
  }
}

/** Those of runs, and of commands, from behind one (all when null) up to another one; oldest first. */
export async function fetchesOfRuns(db: StateDb, after: string | null, upTo: string): Promise<FetchRecord[]> {
  const rows = await fetches(db)
    .where('run_id', '>', after ?? '')
    .where('run_id', '<=', upTo)
    .orderBy('fetch_id')
    .execute();
  return rows.map(recordOf);
}

/** Those of the ids that have a row. */
export async function knownFetches(db: StateDb, ids: Iterable<string>): Promise<ReadonlySet<string>> {
  const known = new Set<string>();
  for (const some of inBatches([...new Set(ids)])) {
    const rows = await db
      .selectFrom('fetch')
      .select('fetch_id')
      .where('account', '=', ACCOUNT)
      .where('fetch_id', 'in', some)
      .execute();
    for (const { fetch_id } of rows) known.add(fetch_id);
  }
  return known;
}

/** In the order in which they were begun. */
export async function fetchesOfRun(db: StateDb, runId: string): Promise<FetchRecord[]> {
  return (await fetches(db).where('run_id', '=', runId).orderBy('fetch_id').execute()).map(recordOf);
}

/** Those that were written behind a row, in that order; `last` is the row that the next call goes on from. */
export async function fetchesWritten(
  db: StateDb,
  after: number,
): Promise<{ readonly fetches: readonly FetchRecord[]; readonly last: number }> {
  const rows = await fetches(db).where('seq', '>', after).orderBy('seq').execute();
  return { fetches: rows.map(recordOf), last: rows.at(-1)?.seq ?? after };
}

/** The row that was written last; 0: none. */
export async function lastWritten(db: StateDb): Promise<number> {
  const { last } = await db
    .selectFrom('fetch')
    .select((e) => e.fn.max('seq').as('last'))
    .where('account', '=', ACCOUNT)
    .executeTakeFirstOrThrow();
  return last ?? 0;
}

/** Look-ups that were answered, and whose responses the lake does not have yet, in the order in which they were written. */
export async function pendingFetches(db: StateDb, pipeline: string): Promise<FetchRecord[]> {
  const rows = await fetches(db)
    .where('pipeline', '=', pipeline)
    // Spelled out, or the partial index would not be seen to fit.
    .where(sql<SqlBool>`is_applied = 0`)
    .where('outcome', '=', 'ok')
    .where('raw_path', 'is not', null)
    .where('pruned_at', 'is', null)
    .orderBy('seq')
    .execute();
  return rows.map(recordOf);
}

/** The lake has what these say. */
export function markApplied(state: State, ids: readonly string[]): Promise<void> {
  return state.write(async (tx) => {
    for (const some of inBatches(ids))
      await tx
        .updateTable('fetch')
        .set({ is_applied: 1 })
        .where('account', '=', ACCOUNT)
        .where('fetch_id', 'in', some)
        .execute();
  });
}

/** Those whose responses were deleted since an instant (ISO 8601 UTC). */
export async function prunedSince(db: StateDb, at: string): Promise<PrunedFetch[]> {
  const rows = await fetches(db).where('pruned_at', '>=', at).orderBy('fetch_id').execute();
  return rows.map(({ fetch_id, pruned_at }) => ({ fetch_id, pruned_at: pruned_at! }));
}

/** The object is deleted, or about to be. */
export async function markPruned(
  state: State,
  { pipeline, object }: { pipeline: string; object: string },
  at: string,
): Promise<void> {
  await state.write((tx) =>
    tx
      .updateTable('fetch')
      .set({ pruned_at: at })
      .where('account', '=', ACCOUNT)
      .where('pipeline', '=', pipeline)
      .where('raw_path', '=', object)
      .where('pruned_at', 'is', null)
      .execute(),
  );
}

/** Rows that say the same of another response: its text was replaced. */
export function replaceFetches(state: State, changed: readonly FetchRecord[]): Promise<void> {
  return state.write(async (tx) => {
    for (const fetch of changed) {
      const { account, fetch_id, ...row } = rowOf(fetch);
      await tx.updateTable('fetch').set(row).where('account', '=', account).where('fetch_id', '=', fetch_id).execute();
    }
  });
}

function fetches(db: StateDb) {
  return db.selectFrom('fetch').selectAll().where('account', '=', ACCOUNT);
}

/** `raw_path` as records have it, taken apart. */
export function placeOf(rawPath: string): { readonly object: string; readonly line: number | null } {
  const at = rawPath.indexOf(LINE_MARK);
  if (at < 0) return { object: rawPath, line: null };
  return { object: rawPath.slice(0, at), line: Number(rawPath.slice(at + 1)) };
}

export function pathOf(object: string, line: number): string {
  return `${object}${LINE_MARK}${line}`;
}

function rowOf(fetch: FetchRecord): Omit<FetchTable, 'seq' | 'is_applied'> {
  const { endpoint, notes, pruned_at, raw_path, ...rest } = fetch;
  const place = raw_path === null ? { object: null, line: null } : placeOf(raw_path);
  return {
    account: ACCOUNT,
    ...rest,
    endpoint: endpoint ?? null,
    raw_path: place.object,
    line: place.line,
    notes: notes === undefined ? null : JSON.stringify(notes),
    pruned_at: pruned_at ?? null,
  };
}

function recordOf(row: FetchTable): FetchRecord {
  const { account: _, seq: __, is_applied: ___, endpoint, notes, pruned_at, raw_path, line, ...rest } = row;
  return {
    ...rest,
    raw_path: raw_path === null || line === null ? raw_path : pathOf(raw_path, line),
    ...(endpoint === null ? {} : { endpoint }),
    ...(notes === null ? {} : { notes: JSON.parse(notes) }),
    ...(pruned_at === null ? {} : { pruned_at }),
  } as FetchRecord;
}
