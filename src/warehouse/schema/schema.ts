/** What this program wants a warehouse's catalogue to hold, and what a warehouse has noted of that. */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Pipeline } from '../../core/pipeline.ts';
import type { Bookkeeping } from '../bookkeeping.ts';
import { hasBookkeeping } from '../bookkeeping.ts';
import type { SqlDialect } from '../target-name.ts';
import { definitionsIn } from './definitions.ts';
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
export async function recordedCatalogue(
  db: Bookkeeping,
): Promise<{ sha256: string; things: readonly MadeThing[] } | null> {
  const [row] = await db
    .selectFrom('etl.catalogue')
    .select(['sha256', sql<string>`cast(things as varchar)`.as('things')])
    .execute();
  return row ? { sha256: row.sha256, things: JSON.parse(row.things) as MadeThing[] } : null;
}

/** As it was noted when it was made. */
interface MadeThing extends Thing {
  readonly definition: string | null;
}

export interface AlteredThing extends Thing {
  /** In words, beginning with what it is. */
  readonly problem: string;
}

/**
 * Views, functions and indexes that are gone, or are not as they were made. To be asked where nothing is lacking: the texts that they come
 * from are those of this program then.
 */
export async function alteredIn(db: Bookkeeping, { engine }: Schema): Promise<AlteredThing[]> {
  const made: readonly MadeThing[] = (await recordedCatalogue(db))?.things ?? [];
  const there = await definitionsIn(db, engine);
  return made.flatMap(({ kind, name, definition }) => {
    const now = there.get(name);
    if (now === definition) return [];
    const is = now === undefined ? 'is missing' : 'is not the one that partner-etl made';
    return [{ kind, name, problem: `${kind.toLowerCase()} ${name.replace(/^main\./, 'warehouse.')} ${is}` }];
  });
}

/** What `alteredIn` finds, in words. */
export async function alteredWords(db: Bookkeeping, schema: Schema): Promise<string[]> {
  return (await alteredIn(db, schema)).map(({ problem }) => problem);
}

export async function recordCatalogue(db: Bookkeeping, schema: Schema, at: string): Promise<void> {
  await db.deleteFrom('etl.catalogue').execute();
  const definitions = await definitionsIn(db, schema.engine);
  const made = thingsOf(schema).map(
    (thing): MadeThing => ({ ...thing, definition: definitions.get(thing.name) ?? null }),
  );
  const things = JSON.stringify(made);
  await db.insertInto('etl.catalogue').values({ sha256: schema.sha256, things, made_at: at }).execute();
}
