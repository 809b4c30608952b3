/** Texts that are replaced in rows which stay what they are. */
import { type RawBuilder, sql } from 'kysely';
import { ACCOUNT } from '../../core/account.ts';
import type { State, StateDb } from '../state.ts';
import type { StateTables } from './tables.ts';

/** Columns of a table; `key` and the account name a row. */
export interface TableTexts {
  readonly table: keyof StateTables;
  readonly key: readonly string[];
  readonly texts: readonly string[];
}

type Row = Readonly<Record<string, string | number | null>>;

const PAGE = 500;

/** Replaces the texts for which `change` has another one; returns in how many rows. With `isDryRun` nothing is written. */
export async function rewriteTexts(
  state: State,
  of: TableTexts,
  change: (text: string, column: string) => string,
  isDryRun: boolean,
): Promise<number> {
  let changed = 0;
  for await (const row of rowsOf(state.db, of)) {
    const fresh = of.texts.flatMap((column) => {
      const text = row[column];
      const anew = typeof text === 'string' ? change(text, column) : text;
      return anew === text ? [] : [sql`${sql.ref(column)} = ${anew}`];
    });
    if (fresh.length === 0) continue;
    changed += 1;
    if (!isDryRun)
      await state.write((tx) =>
        sql`UPDATE ${sql.table(of.table)} SET ${sql.join(fresh)} WHERE ${isRow(of, row)}`.execute(tx),
      );
  }
  return changed;
}

async function* rowsOf(db: StateDb, { table, key, texts }: TableTexts): AsyncGenerator<Row> {
  const columns = sql.join([...key, ...texts].map((column) => sql.ref(column)));
  const order = sql.join(key.map((column) => sql.ref(column)));
  for (let last: Row | null = null; ; ) {
    const behind: RawBuilder<unknown> =
      last === null ? sql`` : sql`AND (${order}) > (${sql.join(key.map((column) => last![column]))})`;
    const { rows }: { rows: Row[] } = await sql<Row>`
      SELECT ${columns} FROM ${sql.table(table)} WHERE account = ${ACCOUNT} ${behind} ORDER BY ${order} LIMIT ${PAGE}`.execute(
      db,
    );
    yield* rows;
    if (rows.length < PAGE) return;
    last = rows.at(-1)!;
  }
}

function isRow({ key }: TableTexts, row: Row) {
  const same = [...key].map((column) => sql`${sql.ref(column)} = ${row[column]}`);
  return sql`account = ${ACCOUNT} AND ${sql.join(same, sql` AND `)}`;
}
