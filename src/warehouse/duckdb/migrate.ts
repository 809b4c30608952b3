/** Brings the tables of a DuckDB warehouse, open for writing, up to this program's migrations and the declared comments. */
import type { Clock } from '../../core/clock.ts';
import { isoTime } from '../../core/clock.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { Engine } from '../../engine/duckdb.ts';
import { appliedMigrations, recordMigration } from '../bookkeeping.ts';
import { commentOf, type Dictionary, type DictionaryEntry, readDictionary } from '../dictionary.ts';
import { pendingMigrations, readMigrations } from '../migrations.ts';
import { commentsDue, declaredComments, type FoundComment, statement } from '../table-comments.ts';
import { duckdbBookkeeping } from './dialect.ts';

/** Whether a migration was applied. Errors: `failed/migration_changed`, `failed/newer_schema`. */
export async function migrateDuckdb(engine: Engine, pipelines: readonly Pipeline[], clock: Clock): Promise<boolean> {
  // To read the dictionary takes tens of milliseconds the first time, which DuckDB is at work.
  const [dictionary, applied] = await Promise.all([readDictionary(), applyPending(engine, clock)]);
  const comments = commentsDue(declaredComments(pipelines, dictionary), await foundComments(engine));
  if (comments.length > 0) await atOnce(engine, comments);
  await commentFunctions(engine, dictionary);
  return applied > 0;
}

/** How many. */
async function applyPending(engine: Engine, clock: Clock): Promise<number> {
  const db = duckdbBookkeeping(engine.connection);
  const pending = pendingMigrations(await readMigrations('duckdb'), await appliedMigrations(db));
  for (const migration of pending)
    await engine.transaction(async () => {
      await engine.run(migration.sql);
      await recordMigration(db, migration, isoTime(clock.now()));
    });
  return pending.length;
}

/**
 * In one commit; hundreds of statements in a fresh warehouse. On one thread and unoptimised, for there is nothing to optimise and
 * no work to share: 500 take 77 ms then, 158 ms otherwise.
 */
async function atOnce(engine: Engine, statements: readonly string[]): Promise<void> {
  const { threads } = await engine.row(`SELECT current_setting('threads') AS threads`);
  await engine.run('SET threads = 1; PRAGMA disable_optimizer');
  try {
    await engine.transaction(() => engine.run(statements.join(';\n')));
  } finally {
    await engine.run(`SET threads = ${threads}; PRAGMA enable_optimizer`);
  }
}

async function foundComments(engine: Engine): Promise<FoundComment[]> {
  const rows = await engine.rows(
    `WITH things AS (
       SELECT 'TABLE' AS kind, schema_name, table_name AS name, comment FROM duckdb_tables() WHERE database_name = 'warehouse'
       UNION ALL
       SELECT 'VIEW', schema_name, view_name, comment FROM duckdb_views() WHERE database_name = 'warehouse' AND NOT internal
     ), found AS (
       SELECT kind, schema_name, name, NULL AS "column", comment FROM things
       UNION ALL
       SELECT 'TABLE', schema_name, table_name, column_name, comment FROM duckdb_columns()
       WHERE database_name = 'warehouse' AND NOT internal
     )
     SELECT kind, CASE schema_name WHEN 'main' THEN 'warehouse' ELSE schema_name END AS schema, name, "column", comment FROM found`,
  );
  return rows as unknown as FoundComment[];
}

/**
 * Comments of functions are written without looking, 1 ms: to list functions DuckDB makes a row of each of its own 3,000, 25 ms.
 * Only where one of ours is not there are they listed.
 */
async function commentFunctions(engine: Engine, dictionary: Dictionary): Promise<void> {
  const functions = [...dictionary.values()].filter((entry) => entry.arguments !== null);
  const write = async (entries: readonly DictionaryEntry[]) => {
    const statements = entries.map((entry) =>
      statement({ ...functionOf(entry), column: null, comment: commentOf(entry) }),
    );
    if (statements.length > 0) await engine.transaction(() => engine.run(statements.join(';\n')));
  };
  await write(functions).catch(async () => {
    const rows = await engine.rows(
      `SELECT function_name AS name FROM duckdb_functions() WHERE database_name = 'warehouse'`,
    );
    const there = new Set(rows.map(({ name }) => name));
    await write(functions.filter(({ name }) => there.has(name)));
  });
}

function functionOf({ schema, name, returns }: DictionaryEntry): Pick<FoundComment, 'kind' | 'schema' | 'name'> {
  return { kind: returns === null ? 'MACRO TABLE' : 'MACRO', schema, name };
}
