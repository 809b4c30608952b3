/** Brings the catalogue of a DuckDB warehouse, open for writing, into line with what this program declares. */
import type { Clock } from '../../core/clock.ts';
import { isoTime } from '../../core/clock.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { type Engine, quoteName } from '../../engine/duckdb.ts';
import { commentOf, type Dictionary, readDictionary } from '../dictionary/dictionary.ts';
import type { DictionaryEntry } from '../dictionary/entry.ts';
import { commentsDue, declaredComments, statement } from '../schema/comments.ts';
import { type FoundThing, tablesAmong } from '../schema/found.ts';
import type { Thing } from '../schema/marts.ts';
import {
  alteredIn,
  pendingIn,
  readSchema,
  recordCatalogue,
  recordedCatalogue,
  recordMigration,
  type Schema,
  thingsOf,
} from '../schema/schema.ts';
import { createTable, differingTable, type TablesDue, tablesDue } from '../schema/tables.ts';
import type { TargetName } from '../target-name.ts';
import { duckdbBookkeeping } from './dialect.ts';

export interface Migrating {
  readonly pipelines: readonly Pipeline[];
  readonly clock: Clock;
  /** Everything is loaded anew afterwards. */
  readonly afresh: boolean;
  /** DuckLake keeps no comments on functions and on columns of views. */
  readonly target: TargetName;
}

/**
 * Whether anything but a comment was changed. Tables that would have to be made anew are refused, unless they hold nothing or the
 * warehouse is made `afresh`. Errors: `failed/migration_changed`, `failed/newer_schema`, `failed/table_differs`.
 */
export async function migrateDuckdb(engine: Engine, { pipelines, clock, afresh, target }: Migrating): Promise<boolean> {
  // To read the dictionary takes tens of milliseconds the first time, which DuckDB is at work.
  const [dictionary, schema] = await Promise.all([readDictionary(pipelines), readSchema('duckdb', pipelines)]);
  const isLake = target === 'ducklake';
  const found = await foundThings(engine); // 13 ms: asked again only where something was made
  const isChanged = await makeCatalogue(engine, { schema, found, at: isoTime(clock.now()), afresh, target });
  const there = isChanged ? await foundThings(engine) : found;
  const kept = isLake ? there.filter(({ kind, column }) => kind === 'TABLE' || column === null) : there;
  const comments = commentsDue(declaredComments(pipelines, dictionary), kept);
  if (comments.length > 0) await plainly(engine, () => engine.run(comments.join(';\n')));
  if (!isLake) await commentFunctions(engine, dictionary);
  return isChanged;
}

interface Making extends Pick<Migrating, 'afresh' | 'target'> {
  readonly schema: Schema;
  readonly found: readonly FoundThing[];
  readonly at: string;
}

/** Bookkeeping, tables, views and functions, in one commit; whether there was anything to do. */
async function makeCatalogue(engine: Engine, { schema, found, at, afresh, target }: Making): Promise<boolean> {
  const db = duckdbBookkeeping(engine.connection);
  const pending = await pendingIn(db, schema);
  const tables = tablesDue(schema.pipelines, tablesAmong(found), 'duckdb');
  const anew = await remaking(engine, tables, afresh, target);
  const isMade = tables.missing.length + tables.changes.length + anew.length === 0;
  const isOurs = isMade && pending.length === 0 && (await recordedCatalogue(db))?.sha256 === schema.sha256;
  if (isOurs && (await alteredIn(db, schema)).length === 0) return false;
  await plainly(engine, async () => {
    await engine.run('CREATE SCHEMA IF NOT EXISTS etl; CREATE SCHEMA IF NOT EXISTS mart');
    for (const migration of pending) {
      await engine.run(migration.sql);
      await recordMigration(db, migration, at);
    }
    const gone = goneThings((await recordedCatalogue(db))?.things ?? [], schema);
    await engine.run(
      [
        ...gone.map(({ kind, name }) => `DROP ${kind} IF EXISTS ${name}`),
        ...anew.map(({ table }) => `DROP TABLE main.${quoteName(table)}`),
        ...[...anew, ...tables.missing].flatMap((pipeline) => createTable(pipeline, 'duckdb', new Set())),
        ...tables.changes,
        ...schema.marts.map(({ sql }) => sql),
      ].join(';\n'),
    );
    await recordCatalogue(db, schema, at);
  });
  return true;
}

/** The pipelines whose tables are made anew. Errors: `failed/table_differs`. */
async function remaking(
  engine: Engine,
  { differing }: TablesDue,
  afresh: boolean,
  target: TargetName,
): Promise<Pipeline[]> {
  for (const table of afresh ? [] : differing) {
    const { held } = await engine.row(`SELECT count(*) AS held FROM main.${quoteName(table.pipeline.table)}`);
    if (held !== 0n) throw differingTable(target, table);
  }
  return differing.map(({ pipeline }) => pipeline);
}

/** What was made once and is in no text any more, the last first. */
function goneThings(made: readonly Thing[], schema: Schema): Thing[] {
  const names = new Set(thingsOf(schema).map(({ kind, name }) => `${kind} ${name}`));
  return made.filter(({ kind, name }) => !names.has(`${kind} ${name}`)).reverse();
}

/**
 * In one commit; hundreds of statements in a fresh warehouse. On one thread and unoptimised, for there is nothing to optimise and
 * no work to share: 500 take 77 ms then, 158 ms otherwise.
 */
async function plainly(engine: Engine, work: () => Promise<unknown>): Promise<void> {
  const { threads } = await engine.row(`SELECT current_setting('threads') AS threads`);
  await engine.run('SET threads = 1; PRAGMA disable_optimizer');
  try {
    await engine.transaction(work);
  } finally {
    await engine.run(`SET threads = ${threads}; PRAGMA enable_optimizer`);
  }
}

async function foundThings(engine: Engine): Promise<FoundThing[]> {
  const rows = await engine.rows(
    `WITH things AS (
       SELECT 'TABLE' AS kind, schema_name, table_name AS name, comment FROM duckdb_tables() WHERE database_name = 'warehouse'
       UNION ALL
       SELECT 'VIEW', schema_name, view_name, comment FROM duckdb_views() WHERE database_name = 'warehouse' AND NOT internal
     ), found AS (
       SELECT kind, schema_name, name, NULL AS "column", NULL AS type, NULL AS required, comment FROM things
       UNION ALL
       SELECT CASE WHEN things.kind = 'VIEW' THEN 'VIEW' ELSE 'TABLE' END, columns.schema_name, table_name, column_name,
         data_type, NOT is_nullable, columns.comment
       FROM duckdb_columns() AS columns
       LEFT JOIN things ON things.schema_name = columns.schema_name AND things.name = columns.table_name
       WHERE database_name = 'warehouse' AND NOT internal
     )
     SELECT kind, CASE schema_name WHEN 'main' THEN 'warehouse' ELSE schema_name END AS schema, name, "column", type,
       required AS "isRequired", comment
     FROM found`,
  );
  return rows as unknown as FoundThing[];
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

function functionOf({ schema, name, returns }: DictionaryEntry): Pick<FoundThing, 'kind' | 'schema' | 'name'> {
  return { kind: returns === null ? 'MACRO TABLE' : 'MACRO', schema, name };
}
