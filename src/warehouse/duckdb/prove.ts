/** Damage of a warehouse: it is only seen when values are read. */
import { EtlError } from '../../core/errors.ts';
import { type Engine, quoteName } from '../../engine/duckdb.ts';
import type { DuckdbStore } from './store.ts';

/**
 * Reads every value of every table: checksums are only looked at when what they stand for is read.
 * Errors: `failed/damaged_warehouse`, with `remedy`.
 */
export async function proveTables(engine: Engine, place: string, remedy: string): Promise<void> {
  try {
    const tables = await engine.rows(
      `SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal AND database_name = current_database()`,
    );
    for (const { schema_name: schema, table_name: table } of tables)
      await engine.run(
        `SELECT bit_xor(hash(held)) FROM ${quoteName(String(schema))}.${quoteName(String(table))} AS held`,
      );
  } catch (cause) {
    throw new EtlError('failed', 'damaged_warehouse', `${place} is damaged`, {
      cause,
      concern: { file: place },
      hint: remedy,
    });
  }
}

/** Runs `work` on what is open. Errors: `failed/damaged_warehouse` in the place of what DuckDB says of damage. */
export async function proving<T>(
  store: Pick<DuckdbStore, 'prove'>,
  engine: Engine,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    // DuckDB says what broke and not of what kind it is; only a look at everything shows it.
    if (!(thrown instanceof EtlError)) await store.prove(engine);
    throw thrown;
  }
}
