/** Values of people that leave a warehouse: the statements, alike in both engines, inside the transaction of the target. */

import { quoteName } from '../engine/duckdb.ts';
import { findTexts, makeRespelled, RESPELLED, type Respelling, type SqlEngine } from '../engine/respell.ts';

/** What is respelled in a table, in this order. */
export interface ErasedTable {
  /** Without its schema. */
  readonly name: string;
  readonly schema: 'warehouse' | 'etl';
  readonly respellings: readonly Respelling[];
}

export interface Erasure {
  readonly tables: readonly ErasedTable[];
  /** Count only. */
  readonly isDryRun: boolean;
}

/**
 * Respells in every table that there is; returns how many values in rows. `schemaOf` tells what the engine calls a schema in its
 * catalogue, `jsonType` the type of columns of JSON.
 */
export async function eraseRows(
  engine: SqlEngine,
  { tables, isDryRun }: Erasure,
  { jsonType, facts }: { readonly jsonType: string; readonly facts: string },
): Promise<number> {
  const columns = await columnsOf(engine, facts);
  let erased = 0;
  for (const { schema, name, respellings } of tables)
    for (const respelling of respellings)
      if (columns.has(`${schema}.${name}.${respelling.column}`))
        erased += await respell(engine, `${schema}.${quoteName(name)}`, respelling, isDryRun ? null : jsonType);
  return erased;
}

/** `schema.table.column` of all that there are: an older warehouse lacks some. */
async function columnsOf(engine: SqlEngine, facts: string): Promise<ReadonlySet<string>> {
  const rows = await engine.rows(
    `SELECT CASE table_schema WHEN '${facts}' THEN 'warehouse' ELSE table_schema END AS schema, table_name, column_name
     FROM information_schema.columns WHERE table_schema IN ('${facts}', 'etl')`,
  );
  return new Set(rows.map((row) => `${row.schema}.${row.table_name}.${row.column_name}`));
}

/** `jsonType` null: only counts. */
async function respell(
  engine: SqlEngine,
  table: string,
  respelling: Respelling,
  jsonType: string | null,
): Promise<number> {
  const { pairs, rows } = await findTexts(engine, table, respelling);
  if (pairs.size === 0 || jsonType === null) return rows;
  const { column, isJson, text, where } = respelling;
  await makeRespelled(engine, pairs);
  const fresh = isJson ? `CAST(fresh.new_text AS ${jsonType})` : 'fresh.new_text';
  const changed = await engine.run(
    `UPDATE ${table} AS kept SET ${quoteName(column)} = ${fresh} FROM ${RESPELLED} AS fresh WHERE ${text} = fresh.old_text AND (${where})`,
  );
  await engine.run(`DROP TABLE ${RESPELLED}`);
  return changed;
}
