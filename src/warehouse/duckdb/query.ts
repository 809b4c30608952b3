/** An analyst's statement on a DuckDB warehouse that is open read-only. */
import { type DuckDBType, StatementType } from '@duckdb/node-api';
import { assert, EtlError } from '../../core/errors.ts';
import { type Engine, quoteName, quoteText } from '../../engine/duckdb.ts';
import type { AnswerColumn, AnswerRow, ColumnKind, QueryResult, ReadAnswer } from '../target.ts';
import { confine } from './confine.ts';

/**
 * The first `limit` rows. What reads other files, writes, or changes settings is refused, as is more than one statement.
 * DuckDB itself stops at one row past the limit, so a forgotten condition costs no memory.
 * Errors: `usage/sql` with the engine's message.
 */
export async function runQuery(engine: Engine, sql: string, limit: number): Promise<QueryResult> {
  await confine(engine);
  const { columns, rows } = await refusing(async () => {
    const select = await selectOf(engine, sql, limit + 1);
    if (select === null) return rowsOf(engine, sql);
    const items = select.columns.map(({ name }, i) => `${select.values[i]} AS ${quoteName(name)}`);
    return rowsOf(engine, `SELECT ${items.join(', ')} FROM ${select.source}`);
  });
  return { columns, rows: rows.slice(0, limit), truncated: rows.length > limit };
}

/**
 * Every row up to `limit`, batch by batch. The answer is put into a temporary table first, which spills to disk: so a statement that
 * fails in its middle fails before its first row is read, where DuckDB's client would end the stream early and say nothing.
 * Errors: as of `runQuery`, and those of `read`.
 */
export async function runStream(engine: Engine, sql: string, limit: number | null, read: ReadAnswer): Promise<boolean> {
  await engine.run('SET preserve_insertion_order = true');
  await confine(engine);
  const select = await refusing(() => selectOf(engine, sql, limit === null ? null : limit + 1));
  if (select === null) return readExplanation(await refusing(() => rowsOf(engine, sql)), limit, read);
  const items = select.values.map((value, i) => `${value} AS c${i}`);
  // The lengths are taken while the texts are at hand: to read them again a chunk of them must fit into memory.
  const lengths = items.map((_, i) => `coalesce(strlen(CAST(c${i} AS VARCHAR)), 0)`);
  await refusing(() =>
    engine.run(`CREATE TEMP TABLE answer AS SELECT *, ${lengths.join(' + ')} AS bytes
      FROM (SELECT ${items.join(', ')} FROM ${select.source})`),
  );
  const found = await countedRows(engine);
  const wanted = Math.min(found, limit ?? found);
  await read(select.columns, batchesOf(engine, select.columns.length, wanted));
  return found > wanted;
}

/** Rows that DuckDB hands over at once, all of their texts with them. */
const CHUNK_ROWS = 2048;
const CHUNK_MIB = 128;

/** How many rows the answer has. Errors: `usage/large_cells` where those that come at once would not fit into memory. */
async function countedRows(engine: Engine): Promise<number> {
  const { n, mib } = await engine.row(
    `SELECT coalesce(sum(n), 0) AS n, coalesce(max(bytes), 0) // 1048576 AS mib
     FROM (SELECT count(*) AS n, sum(bytes) AS bytes FROM answer GROUP BY rowid // ${CHUNK_ROWS})`,
  );
  if (Number(mib) < CHUNK_MIB) return Number(n);
  throw new EtlError('usage', 'large_cells', `${CHUNK_ROWS} rows of the answer hold ${mib} MiB of text`, {
    hint: `at most ${CHUNK_MIB} MiB are read at once: select fewer columns, or less of them, as left(column, 1000)`,
  });
}

/** Errors: `usage/sql` in the place of what DuckDB says. */
async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof EtlError) throw cause;
    throw new EtlError('usage', 'sql', cause instanceof Error ? cause.message : String(cause), {
      cause,
      hint: 'the warehouse is queried by one read-only statement (SELECT, WITH, DESCRIBE, SUMMARIZE, SHOW, EXPLAIN)',
    });
  }
}

interface Select {
  readonly columns: readonly AnswerColumn[];
  /** An expression for each column, which gives every value but a boolean as DuckDB's own text. */
  readonly values: readonly string[];
  /** What stands behind FROM: the statement, ended after so many rows. */
  readonly source: string;
}

/** Null for EXPLAIN, which cannot stand inside another statement. */
async function selectOf(engine: Engine, sql: string, rows: number | null): Promise<Select | null> {
  const statements = await engine.connection.extractStatements(sql);
  const explains = statements.count === 1 && (await statements.prepare(0)).statementType === StatementType.EXPLAIN;
  if (explains) return null;
  // query() takes the text of exactly one SELECT, so nothing in it can end the statement around it.
  const source = `(SELECT * FROM query(${quoteText(sql)})${rows === null ? '' : ` LIMIT ${rows}`})`;
  const prepared = await engine.connection.prepare(`SELECT * FROM ${source}`);
  const columns = Array.from({ length: prepared.columnCount }, (_, i) => {
    return { name: prepared.columnName(i), kind: kindOf(prepared.columnType(i)) };
  });
  const values = columns.map(({ kind }, i) => (kind === 'boolean' ? `#${i + 1}` : `CAST(#${i + 1} AS VARCHAR)`));
  return { columns, values, source };
}

function kindOf(type: DuckDBType): ColumnKind {
  const name = type.toString();
  if (name === 'BOOLEAN') return 'boolean';
  if (/^U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?$/.test(name)) return 'whole';
  if (name.startsWith('DECIMAL(') && !name.endsWith(']')) return 'decimal';
  return name === 'DOUBLE' || name === 'FLOAT' ? 'float' : 'other';
}

async function* batchesOf(engine: Engine, columns: number, wanted: number): AsyncGenerator<readonly AnswerRow[]> {
  const names = Array.from({ length: columns }, (_, i) => `c${i}`);
  const result = await engine.connection.stream(`SELECT ${names.join(', ')} FROM answer LIMIT ${wanted}`);
  let read = 0;
  for (;;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) break;
    read += chunk.rowCount;
    yield chunk.getRows() as unknown as AnswerRow[];
  }
  assert(read === wanted, `DuckDB gave ${read} of ${wanted} rows of an answer`);
}

async function rowsOf(engine: Engine, sql: string) {
  const reader = await engine.connection.runAndReadAll(sql);
  return { columns: reader.columnNames(), rows: reader.getRows() as unknown as AnswerRow[] };
}

async function readExplanation(
  { columns, rows }: Awaited<ReturnType<typeof rowsOf>>,
  limit: number | null,
  read: ReadAnswer,
): Promise<boolean> {
  const wanted = rows.slice(0, limit ?? rows.length);
  await read(
    columns.map((name) => ({ name, kind: 'other' as const })),
    oneBatch(wanted),
  );
  return rows.length > wanted.length;
}

async function* oneBatch(rows: readonly AnswerRow[]): AsyncGenerator<readonly AnswerRow[]> {
  yield rows;
}
