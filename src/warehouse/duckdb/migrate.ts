/** Brings the tables of a DuckDB warehouse, open for writing, up to this program's migrations and the declared comments. */
import type { Clock } from '../../core/clock.ts';
import { isoTime } from '../../core/clock.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { type Engine, quoteList } from '../../engine/duckdb.ts';
import { appliedMigrations, recordMigration } from '../bookkeeping.ts';
import { pendingMigrations, readMigrations } from '../migrations.ts';
import { commentsDue, type TableComment } from '../table-comments.ts';
import { duckdbBookkeeping } from './dialect.ts';

/** Errors: `failed/migration_changed`, `failed/newer_schema`. */
export async function migrateDuckdb(engine: Engine, pipelines: readonly Pipeline[], clock: Clock): Promise<void> {
  const db = duckdbBookkeeping(engine.connection);
  const pending = pendingMigrations(await readMigrations('duckdb'), await appliedMigrations(db));
  for (const migration of pending)
    await engine.transaction(async () => {
      await engine.run(migration.sql);
      await recordMigration(db, migration, isoTime(clock.now()));
    });
  const comments = commentsDue(pipelines, await foundComments(engine, pipelines));
  // At once, in one commit: some 150 of them a fresh warehouse.
  if (comments.length > 0) await engine.transaction(() => engine.run(comments.join(';\n')));
}

async function foundComments(engine: Engine, pipelines: readonly Pipeline[]): Promise<TableComment[]> {
  const tables = quoteList(pipelines.map((pipeline) => pipeline.table));
  const rows = await engine.rows(
    `SELECT table_name AS "table", NULL AS "column", comment FROM duckdb_tables()
     WHERE database_name = 'warehouse' AND schema_name = 'main' AND list_contains(${tables}, table_name)
     UNION ALL
     SELECT table_name, column_name, comment FROM duckdb_columns()
     WHERE database_name = 'warehouse' AND schema_name = 'main' AND list_contains(${tables}, table_name)`,
  );
  return rows as unknown as TableComment[];
}
