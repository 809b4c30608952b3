/**
 * What look-ups asked for: when each key was asked for last, and what came of it. A memory aid and not truth: what is lost is asked again.
 * It stands apart from the lake because an answer that changes nothing writes nothing there.
 *
 * There may be a million keys. They are read as text that the database itself puts together (a million rows as objects took twice the
 * time), and written in short transactions: a receiver of push messages waits for each of them.
 */
import { sql } from 'kysely';
import { ACCOUNT } from '../../core/account.ts';
import type { State, StateDb, StateTransaction } from '../state.ts';
import { inBatches } from './batches.ts';
import type { AskedTable } from './tables.ts';

/** Rows of a page: some 2 MB of text. */
const PAGE = 20_000;
/** Rows of a transaction. */
const MOST_WRITTEN = 8000;

/** `key`: the values of the key columns as a JSON array, null for what there is none of. */
export type AskedKey = Omit<AskedTable, 'account' | 'pipeline'>;

/** What came of a key now, to be noted over what came of it before. */
export interface Noted extends AskedKey {
  /** Whether `misses` come on top of those before. */
  readonly isMissAgain: boolean;
}

/** Every key of the pipeline in pages, an object of JSON a line: `key`, `asked_at`, `outcome`, `misses`. */
export async function* askedLines(db: StateDb, pipeline: string): AsyncGenerator<string> {
  for (let after = ''; ; ) {
    const page = sql`SELECT * FROM asked WHERE account = ${ACCOUNT} AND pipeline = ${pipeline} AND key > ${after} ORDER BY key LIMIT ${PAGE}`;
    const line = sql`'{"key":' || key || ',"asked_at":"' || asked_at || '","outcome":"' || outcome || '","misses":' || misses || '}'`;
    const found = await sql<{ lines: string | null; last: string; n: number }>`
      SELECT string_agg(${line}, ${'\n'}) AS lines, max(key) AS last, count(*) AS n FROM (${page}) AS page`.execute(db);
    const { lines, last, n } = found.rows[0]!;
    if (lines === null) return;
    yield `${lines}\n`;
    if (n < PAGE) return;
    after = last;
  }
}

export interface AskedOutcome {
  readonly outcome: string;
  readonly keys: number;
  /** When one of them was asked for last. */
  readonly asked_at: string;
}

export async function askedOutcomes(db: StateDb, pipeline: string): Promise<AskedOutcome[]> {
  return db
    .selectFrom('asked')
    .select((e) => ['outcome', e.fn.countAll<number>().as('keys'), e.fn.max('asked_at').as('asked_at')])
    .where('account', '=', ACCOUNT)
    .where('pipeline', '=', pipeline)
    .groupBy('outcome')
    .orderBy('outcome')
    .execute();
}

/** When a key was asked for last; null where none was. */
export async function newestAsked(db: StateDb, pipeline: string): Promise<string | null> {
  const found = await askedOutcomes(db, pipeline);
  return found.reduce<string | null>(
    (newest, { asked_at: at }) => (newest === null || at > newest ? at : newest),
    null,
  );
}

/** Notes what came of keys. What is older than what is noted already counts for nothing, so to note it twice changes nothing. */
export async function noteAsked(state: State, pipeline: string, noted: readonly Noted[]): Promise<void> {
  const again = noted.filter(({ isMissAgain }) => isMissAgain);
  const first = noted.filter(({ isMissAgain }) => !isMissAgain);
  for (const [rows, misses] of [
    [first, sql`excluded.misses`],
    [again, sql`asked.misses + excluded.misses`],
  ] as const)
    for (const some of inBatches(rows, MOST_WRITTEN)) {
      // As one parameter: to bind each value takes twice as long.
      const json = JSON.stringify(some.map((row) => [row.key, row.asked_at, row.outcome, row.misses]));
      await state.write((tx) =>
        sql`INSERT INTO asked (account, pipeline, key, asked_at, outcome, misses)
          SELECT ${sql.lit(ACCOUNT)}, ${sql.lit(pipeline)}, value ->> 0, value ->> 1, value ->> 2, CAST(value ->> 3 AS bigint)
          FROM ${state.elements(json)} WHERE true
          ON CONFLICT (account, pipeline, key)
          DO UPDATE SET asked_at = excluded.asked_at, outcome = excluded.outcome, misses = ${misses}
          WHERE excluded.asked_at > asked.asked_at`.execute(tx),
      );
    }
}

/** Forgets keys that were asked for last at an instant or before. */
export async function forgetAsked(state: State, pipeline: string, upTo: string): Promise<void> {
  const old = ofPipeline(state.db, pipeline).where('asked_at', '<=', upTo).limit(MOST_WRITTEN);
  for (let rows = await old.execute(); rows.length > 0; rows = await old.execute())
    await state.write((tx) => deleteKeys(tx, pipeline, rows));
}

/** Replaces keys for which `change` has another one; returns how many. With `isDryRun` nothing is written. */
export async function renameAsked(
  state: State,
  pipeline: string,
  change: (key: string) => string,
  isDryRun: boolean,
): Promise<number> {
  let changed = 0;
  for (let after = ''; ; ) {
    const rows = await ofPipeline(state.db, pipeline)
      .where('key', '>', after)
      .orderBy('key')
      .limit(MOST_WRITTEN)
      .execute();
    const old = rows.filter(({ key }) => change(key) !== key);
    changed += old.length;
    if (old.length > 0 && !isDryRun) {
      const fresh = old.map(({ key, asked_at, outcome, misses }) => ({ key: change(key), asked_at, outcome, misses }));
      // Under its new name it may have been asked for since.
      await noteAsked(
        state,
        pipeline,
        fresh.map((row) => ({ ...row, isMissAgain: false })),
      );
      await state.write((tx) => deleteKeys(tx, pipeline, old));
    }
    if (rows.length < MOST_WRITTEN) return changed;
    after = rows.at(-1)!.key;
  }
}

function ofPipeline(db: StateDb, pipeline: string) {
  return db.selectFrom('asked').selectAll().where('account', '=', ACCOUNT).where('pipeline', '=', pipeline);
}

async function deleteKeys(tx: StateTransaction, pipeline: string, rows: readonly AskedKey[]): Promise<void> {
  for (const some of inBatches(rows.map(({ key }) => key)))
    await tx
      .deleteFrom('asked')
      .where('account', '=', ACCOUNT)
      .where('pipeline', '=', pipeline)
      .where('key', 'in', some)
      .execute();
}
