/** Brings the catalogue of a Postgres warehouse into line with what this program declares. */
import { type Clock, isoTime } from '../../core/clock.ts';
import { EtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { quoteName } from '../../engine/duckdb.ts';
import { stateOf } from '../../store/postgres/errors.ts';
import { readDictionary } from '../dictionary/dictionary.ts';
import { commentsDue, declaredComments } from '../schema/comments.ts';
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
import { postgresBookkeeping } from './bookkeeping.ts';
import { grantsOn } from './grants.ts';
import { takeLock } from './lock.ts';
import type { Client, Sessions } from './sessions.ts';

/** Building an index on a large table takes its time. */
const STATEMENT_TIMEOUT_MS = 3_600_000;

/** A view with other columns, a function with another result: only one that was dropped can be made like that. */
const NEEDS_DROPPING: ReadonlySet<string | null> = new Set(['42P16', '42P13', '42809']);
const IN_USE = '2BP01';

/**
 * What becomes of tables that hold rows and would have to be made anew: a publication refuses them; one that makes the warehouse afresh
 * leaves them until its own transaction, where they are replaced together with their rows.
 */
export type Differing = 'refuse' | 'leave' | 'replace';

/**
 * In one transaction under the publishing lock; any number of processes may do this at once. Takes no lock and writes nothing where
 * everything is up to date. Errors: `failed/migration_changed`, `failed/newer_schema`, `failed/table_differs`, `failed/views_in_use`,
 * `locked/publish`.
 */
export async function migratePostgres(
  sessions: Sessions,
  pipelines: readonly Pipeline[],
  clock: Clock,
  differing: Differing = 'refuse',
): Promise<void> {
  const schema = await readSchema('postgres', pipelines);
  const options = { statementTimeoutMs: STATEMENT_TIMEOUT_MS };
  const isDue = await sessions.transaction({ ...options, readOnly: true }, async (client) => {
    const found = await foundThings(client);
    return (await catalogueDue(client, schema, found, differing)).isDue || (await comments(schema, found)).length > 0;
  });
  if (!isDue) return;
  await sessions.transaction({ ...options, readOnly: false }, async (client) => {
    await takeLock(client, clock);
    await makeCatalogue(client, schema, isoTime(clock.now()), differing);
  });
}

/** The same in the transaction of a publication that makes the warehouse afresh. For the holder of the lock. */
export async function replaceDiffering(client: Client, pipelines: readonly Pipeline[], at: string): Promise<void> {
  await makeCatalogue(client, await readSchema('postgres', pipelines), at, 'replace');
}

interface CatalogueDue {
  readonly isDue: boolean;
  readonly tables: TablesDue;
  /** Those whose tables are made anew. */
  readonly anew: readonly Pipeline[];
  /** Those of them that are gone or are others now. */
  readonly altered: readonly Thing[];
  /** Views, functions and indexes that were made here. */
  readonly made: readonly Thing[];
}

async function catalogueDue(
  client: Client,
  schema: Schema,
  found: readonly FoundThing[],
  differing: Differing,
): Promise<CatalogueDue> {
  const db = postgresBookkeeping(client);
  const pending = await pendingIn(db, schema);
  const recorded = pending.length === 0 ? await recordedCatalogue(db) : null;
  const tables = tablesDue(schema.pipelines, tablesAmong(found), 'postgres');
  const anew = await remaking(client, tables, differing);
  const isMade = tables.missing.length + tables.changes.length + anew.length === 0;
  const isOurs = pending.length === 0 && isMade && recorded?.sha256 === schema.sha256;
  const altered = isOurs ? await alteredIn(db, schema) : [];
  return { isDue: !isOurs || altered.length > 0, tables, anew, altered, made: recorded?.things ?? [] };
}

/** The pipelines whose tables are made anew now. Errors: `failed/table_differs`. */
async function remaking(client: Client, { differing }: TablesDue, what: Differing): Promise<Pipeline[]> {
  const anew: Pipeline[] = [];
  for (const table of differing) {
    const { rowCount } = await client.query(`SELECT FROM warehouse.${quoteName(table.pipeline.table)} LIMIT 1`);
    if (rowCount !== 0 && what === 'refuse') throw differingTable('postgres', table);
    if (rowCount === 0 || what === 'replace') anew.push(table.pipeline);
  }
  return anew;
}

async function makeCatalogue(client: Client, schema: Schema, at: string, differing: Differing): Promise<void> {
  const db = postgresBookkeeping(client);
  for (const migration of await pendingIn(db, schema)) {
    await makeSchemas(client);
    await client.query(migration.sql);
    await recordMigration(db, migration, at);
  }
  const due = await catalogueDue(client, schema, await foundThings(client), differing);
  const isLater = due.tables.differing.length > due.anew.length; // its new columns may be what a view asks for
  if (due.isDue && !isLater) {
    await makeThings(client, schema, due);
    await recordCatalogue(db, schema, at);
  }
  const statements = await comments(schema, await foundThings(client));
  if (statements.length > 0) await client.query(statements.join(';\n'));
}

/** One that is there already was made by the administrator of a server where we may not make any. */
async function makeSchemas(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT name FROM unnest(ARRAY['warehouse', 'mart', 'etl']) AS name WHERE to_regnamespace(name) IS NULL`,
  );
  for (const { name } of rows) await client.query(`CREATE SCHEMA ${name}`);
}

async function makeThings(
  client: Client,
  schema: Schema,
  { tables, anew, altered, made }: CatalogueDue,
): Promise<void> {
  const ours = thingsOf(schema);
  const isGone = ({ name }: Thing) => !ours.some((thing) => thing.name === name);
  await client.query(
    [
      ...tables.missing.flatMap((pipeline) => createTable(pipeline, 'postgres', schema.indexes.first)),
      ...tables.changes,
      ...[...made.filter(isGone), ...altered].filter(({ kind }) => kind === 'INDEX').map(dropping),
    ].join(';\n'),
  );
  const texts = schema.marts.map(({ sql }) => sql);
  const inPlace = anew.length === 0 && !made.some((thing) => thing.kind !== 'INDEX' && isGone(thing));
  if (!inPlace || !(await madeInPlace(client, texts))) await makeAnew(client, schema, anew, [...made, ...ours]);
  await client.query(schema.indexes.sql);
}

/** Whether the texts could be carried out over what is there: then nobody's rights and nobody's views are touched. */
async function madeInPlace(client: Client, texts: readonly string[]): Promise<boolean> {
  await client.query('SAVEPOINT in_place');
  try {
    await client.query(texts.join('\n'));
  } catch (error) {
    if (!NEEDS_DROPPING.has(stateOf(error))) throw error;
    await client.query('ROLLBACK TO SAVEPOINT in_place');
    return false;
  }
  await client.query('RELEASE SAVEPOINT in_place');
  return true;
}

/** Drops views, functions and the tables of `anew`, makes them, and gives the rights again that others had been given. */
async function makeAnew(
  client: Client,
  schema: Schema,
  anew: readonly Pipeline[],
  things: readonly Thing[],
): Promise<void> {
  const views = things.filter(({ kind }) => kind !== 'INDEX');
  const tables = anew.map(({ table }) => `warehouse.${quoteName(table)}`);
  const kept = new Set([...thingsOf(schema).map(({ name }) => name), ...anew.map(({ table }) => `warehouse.${table}`)]);
  const grants = await grantsOn(client, [...kept]);
  const drops = [...new Set(views.map(dropping))].reverse();
  try {
    await client.query([...drops, ...tables.map((table) => `DROP TABLE ${table}`)].join(';\n'));
  } catch (error) {
    if (stateOf(error) === IN_USE) throw inUse(error);
    throw error;
  }
  await client.query(
    [
      ...anew.flatMap((pipeline) => createTable(pipeline, 'postgres', schema.indexes.first)),
      ...schema.marts.map(({ sql }) => sql),
      ...grants,
    ].join(';\n'),
  );
}

function dropping({ kind, name }: Thing): string {
  return `DROP ${kind} IF EXISTS ${name}`;
}

function inUse(cause: unknown): EtlError {
  const { detail } = cause as { detail?: unknown };
  return new EtlError(
    'failed',
    'views_in_use',
    `Postgres: views must be made anew, but others are built on them: ${detail}`,
    {
      cause,
      concern: { target: 'postgres' },
      hint: 'drop the views of your own that it names, publish (partner-etl run), and create them again',
    },
  );
}

async function comments(schema: Schema, found: readonly FoundThing[]): Promise<string[]> {
  return commentsDue(declaredComments(schema.pipelines, await readDictionary(schema.pipelines)), found);
}

async function foundThings(client: Client): Promise<FoundThing[]> {
  const { rows } = await client.query<FoundThing>(
    `WITH things AS (
       SELECT
         pg_class.oid,
         CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END AS kind,
         nspname AS schema,
         relname AS name
       FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
       WHERE nspname IN ('warehouse', 'mart', 'etl') AND relkind IN ('r', 'p', 'v', 'm')
     )
     SELECT kind, schema, name, NULL AS "column", NULL AS type, NULL AS "isRequired", obj_description(oid, 'pg_class') AS comment
     FROM things
     UNION ALL
     SELECT kind, schema, name, attname, format_type(atttypid, atttypmod), attnotnull, col_description(attrelid, attnum)
     FROM things JOIN pg_attribute ON attrelid = oid
     WHERE attnum > 0 AND NOT attisdropped
     UNION ALL
     SELECT 'FUNCTION', nspname, proname, NULL, NULL, NULL, obj_description(pg_proc.oid, 'pg_proc')
     FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
     WHERE nspname IN ('warehouse', 'mart', 'etl')`,
  );
  return rows;
}
