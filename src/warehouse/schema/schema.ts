/** What this program wants a warehouse's catalogue to hold, and what a warehouse has noted of that. */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Pipeline } from '../../core/pipeline.ts';
import type { Bookkeeping } from '../bookkeeping.ts';
import { hasBookkeeping } from '../bookkeeping.ts';
import type { SqlDialect } from '../target-name.ts';
import { type Indexes, type Mart, readIndexes, readMarts, type Thing } from './marts.ts';
import { type AppliedMigration, type Migration, pendingMigrations, readMigrations } from './migrations.ts';
import { createTable } from './tables.ts';

export interface Schema {
  readonly engine: SqlDialect;
  readonly pipelines: readonly Pipeline[];
  readonly migrations: readonly Migration[];
  readonly marts: readonly Mart[];
  readonly indexes: Indexes;
  /** Of all texts that tables, views and indexes are made from. */
  readonly sha256: string;
}

/** What `lacking` says where views, functions, indexes or tables are to be made. */
export const CATALOGUE_DUE = 'tables and views';

const NO_INDEXES: Indexes = { sql: '', things: [], first: new Set() };

/** Reads `sql/`, once for each engine and list of pipelines. */
export function readSchema(engine: SqlDialect, pipelines: readonly Pipeline[]): Promise<Schema> {
  const known = read[engine].get(pipelines) ?? makeSchema(engine, pipelines);
  read[engine].set(pipelines, known);
  return known;
}

type Read = WeakMap<readonly Pipeline[], Promise<Schema>>;
const read: Readonly<Record<SqlDialect, Read>> = { duckdb: new WeakMap(), postgres: new WeakMap() };

async function makeSchema(engine: SqlDialect, pipelines: readonly Pipeline[]): Promise<Schema> {
  const [migrations, marts, indexes] = await Promise.all([
    readMigrations(engine),
    readMarts(engine, pipelines),
    engine === 'postgres' ? readIndexes() : NO_INDEXES,
  ]);
  const tables = pipelines.flatMap((pipeline) => createTable(pipeline, engine, indexes.first));
  const texts = [...tables, ...marts.map((mart) => mart.sql), indexes.sql];
  const sha256 = createHash('sha256').update(JSON.stringify(texts)).digest('hex');
  return { engine, pipelines, migrations, marts, indexes, sha256 };
}

/** Everything that views, functions and indexes of this program are, in the order of their making. */
export function thingsOf({ marts, indexes }: Schema): Thing[] {
  return [...marts.flatMap(({ things }) => things), ...indexes.things];
}

/** The migrations that a warehouse lacks. Errors: as of `pendingMigrations`. */
export async function pendingIn(db: Bookkeeping, { migrations }: Schema): Promise<Migration[]> {
  return pendingMigrations(migrations, await appliedMigrations(db));
}

async function appliedMigrations(db: Bookkeeping): Promise<AppliedMigration[]> {
  if (!(await hasBookkeeping(db))) return [];
  return db.selectFrom('etl.migration').select(['number', 'name', 'sha256']).orderBy('number').execute();
}

export async function recordMigration(db: Bookkeeping, { number, name, sha256 }: Migration, at: string): Promise<void> {
  await db.insertInto('etl.migration').values({ number, name, sha256, applied_at: at }).execute();
}

/** Names of what is still to be done to a warehouse. Errors: as of `pendingMigrations`. */
export async function lackingIn(db: Bookkeeping, schema: Schema): Promise<string[]> {
  const pending = await pendingIn(db, schema);
  const isMade = pending.length === 0 && (await recordedCatalogue(db))?.sha256 === schema.sha256;
  return [...pending.map(({ name }) => name), ...(isMade ? [] : [CATALOGUE_DUE])];
}

/** From which texts views and indexes were made, and what they are; null where none were. */
export async function recordedCatalogue(db: Bookkeeping): Promise<{ sha256: string; things: readonly Thing[] } | null> {
  const [row] = await db
    .selectFrom('etl.catalogue')
    .select(['sha256', sql<string>`cast(things as varchar)`.as('things')])
    .execute();
  return row ? { sha256: row.sha256, things: JSON.parse(row.things) as Thing[] } : null;
}

export async function recordCatalogue(db: Bookkeeping, schema: Schema, at: string): Promise<void> {
  await db.deleteFrom('etl.catalogue').execute();
  const things = JSON.stringify(thingsOf(schema));
  await db.insertInto('etl.catalogue').values({ sha256: schema.sha256, things, made_at: at }).execute();
}
