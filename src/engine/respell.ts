/**
 * Values of a column that are to be spelled otherwise, in SQL that DuckDB and Postgres understand alike. What they become is said by a
 * function of ours and not by SQL: the distinct texts that may be concerned come out, and pairs of old and new go in.
 */
import { quoteText } from './duckdb.ts';

export interface Respelling {
  readonly column: string;
  readonly isJson: boolean;
  /** SQL of the text that `spell` is asked about. */
  readonly text: string;
  /** SQL condition that is true on all rows which may be concerned. */
  readonly where: string;
  /** The column's new value as text; null where it stays as it is. */
  readonly spell: (text: string) => string | null;
}

/** An engine as this needs it. */
export interface SqlEngine {
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Returns how many rows were changed. */
  run(sql: string): Promise<number>;
}

/** A temporary table of what a column's values become: `old_text`, `new_text`. */
export const RESPELLED = 'respelled_text';
const PAIRS_A_STATEMENT = 200;

export interface Found {
  /** Old text → new value. */
  readonly pairs: ReadonlyMap<string, string>;
  /** That have one of them. */
  readonly rows: number;
}

/** What is to be respelled in a relation. */
export async function findTexts(
  engine: SqlEngine,
  relation: string,
  { text, where, spell }: Respelling,
): Promise<Found> {
  const pairs = new Map<string, string>();
  let rows = 0;
  const candidates = await engine.rows(
    `SELECT ${text} AS text, CAST(count(*) AS VARCHAR) AS rows FROM ${relation} WHERE ${where} GROUP BY 1`,
  );
  for (const row of candidates) {
    const old = String(row.text);
    const fresh = spell(old);
    if (fresh === null || fresh === old) continue;
    pairs.set(old, fresh);
    rows += Number(row.rows);
  }
  return { pairs, rows };
}

/** Makes the table of these pairs; whoever called drops it. */
export async function makeRespelled(engine: SqlEngine, pairs: ReadonlyMap<string, string>): Promise<void> {
  await engine.run(`CREATE TEMPORARY TABLE ${RESPELLED} (old_text VARCHAR NOT NULL, new_text VARCHAR NOT NULL)`);
  const values = [...pairs].map(([old, fresh]) => `(${quoteText(old)}, ${quoteText(fresh)})`);
  for (let at = 0; at < values.length; at += PAIRS_A_STATEMENT)
    await engine.run(`INSERT INTO ${RESPELLED} VALUES ${values.slice(at, at + PAIRS_A_STATEMENT).join(', ')}`);
}

/** A condition that is true where the text holds one of these; `isEscaped`: or where it could hold one behind escapes. */
export function mayHold(text: string, texts: readonly string[], isEscaped: boolean): string {
  const found = texts.map((one) => `strpos(${text}, ${quoteText(one)}) > 0`);
  if (isEscaped) found.push(`strpos(${text}, chr(92)) > 0`);
  return found.length === 0 ? 'false' : `(${found.join(' OR ')})`;
}
