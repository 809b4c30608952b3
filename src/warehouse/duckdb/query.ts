/** An analyst's statement on a DuckDB warehouse that is open read-only. */
import { StatementType } from '@duckdb/node-api';
import { EtlError } from '../../core/errors.ts';
import { type Engine, quoteName, quoteText } from '../../engine/duckdb.ts';
import type { QueryResult } from '../target.ts';

type Cell = string | boolean | null;

/**
 * The first `limit` rows. What reads other files, writes, or changes settings is refused, as is more than one statement.
 * DuckDB itself stops at one row past the limit, so a forgotten condition costs no memory.
 * Errors: `usage/sql` with the engine's message.
 */
export async function runQuery(engine: Engine, sql: string, limit: number): Promise<QueryResult> {
  await engine.run('SET enable_external_access = false');
  await engine.run('SET lock_configuration = true');
  try {
    return await rowsOf(engine, await limitedTo(engine, sql, limit + 1), limit);
  } catch (cause) {
    if (cause instanceof EtlError) throw cause;
    throw new EtlError('usage', 'sql', cause instanceof Error ? cause.message : String(cause), {
      cause,
      hint: 'the warehouse is queried by one read-only statement (SELECT, WITH, DESCRIBE, SUMMARIZE, SHOW, EXPLAIN)',
    });
  }
}

/** The statement, wrapped so that it ends after so many rows and every value but a boolean comes as DuckDB's own text. */
async function limitedTo(engine: Engine, sql: string, rows: number): Promise<string> {
  const statements = await engine.connection.extractStatements(sql);
  const explains = statements.count === 1 && (await statements.prepare(0)).statementType === StatementType.EXPLAIN;
  if (explains) return sql;
  // query() takes the text of exactly one SELECT, so nothing in it can end the wrapping statement.
  const source = `(SELECT * FROM query(${quoteText(sql)}) LIMIT ${rows})`;
  const prepared = await engine.connection.prepare(`SELECT * FROM ${source}`);
  const items = Array.from({ length: prepared.columnCount }, (_, i) => {
    const isBoolean = prepared.columnType(i).toString() === 'BOOLEAN';
    return `${isBoolean ? `#${i + 1}` : `CAST(#${i + 1} AS VARCHAR)`} AS ${quoteName(prepared.columnName(i))}`;
  });
  return `SELECT ${items.join(', ')} FROM ${source}`;
}

async function rowsOf(engine: Engine, sql: string, limit: number): Promise<QueryResult> {
  const reader = await engine.connection.runAndReadAll(sql);
  const rows = reader.getRows() as Cell[][];
  return { columns: reader.columnNames(), rows: rows.slice(0, limit), truncated: rows.length > limit };
}
