/**
 * The tables of pipelines, made from their declarations. In Postgres a table has its key and an index on its day; in DuckDB neither
 * (replacing 365 days of 10 million rows: 1.9 s against 72 s with a key).
 *
 * A table that is there already is compared with its declaration: a column that it lacks is added behind the others, one that is not
 * declared any more is left alone. A column of another type would have to be worked out again from the lake, so the table is made anew
 * when that happens anyway, or when it holds no row.
 */
import { DUCKDB_TYPE, POSTGRES_TYPE } from '../../core/columns.ts';
import { assert, EtlError } from '../../core/errors.ts';
import {
  ACCOUNT_COLUMN,
  FETCH_COLUMN,
  LOADED_COLUMN,
  type Pipeline,
  storedColumns,
  VALID_FROM,
} from '../../core/pipeline.ts';
import { quoteName } from '../../engine/duckdb.ts';
import type { SqlDialect, TargetName } from '../target-name.ts';

export interface TableColumn {
  readonly name: string;
  /** As the engine's catalogue writes it. */
  readonly type: string;
  /** NOT NULL. */
  readonly isRequired: boolean;
}

/** A table of a warehouse, as its catalogue has it. */
export type FoundTables = ReadonlyMap<string, readonly TableColumn[]>;

/** Tables whose day another index serves, as `table.day`. */
export type IndexedDays = ReadonlySet<string>;

export interface TablesDue {
  /** Tables to be made that are not there. */
  readonly missing: readonly Pipeline[];
  /** Statements that change tables that are there, without touching a row. */
  readonly changes: readonly string[];
  /** Tables that only making anew brings into line, with the first column at which they differ, in words. */
  readonly differing: readonly { readonly pipeline: Pipeline; readonly what: string }[];
}

/** The columns of a pipeline's table, in order. */
export function tableColumns(pipeline: Pipeline, engine: SqlDialect): TableColumn[] {
  const types = engine === 'duckdb' ? DUCKDB_TYPE : POSTGRES_TYPE;
  const required = new Set([
    ...pipeline.columns.filter((c) => c.required).map((c) => c.column),
    FETCH_COLUMN,
    VALID_FROM,
  ]);
  return [
    { name: ACCOUNT_COLUMN, type: types.text, isRequired: true },
    ...storedColumns(pipeline).map(({ column, kind }) => ({
      name: column,
      type: types[kind],
      isRequired: required.has(column),
    })),
    { name: LOADED_COLUMN, type: types['utc-time'], isRequired: true },
  ];
}

/**
 * What makes a pipeline's table. The account ends its key: a look for rows by the rest of it, as in views, finds them too. Only since when
 * a row was so comes behind it: who looks for all that a thing was knows the account, and Postgres overrates what skipping a column costs.
 */
export function createTable(pipeline: Pipeline, engine: SqlDialect, indexed: IndexedDays): string[] {
  const table = `warehouse.${quoteName(pipeline.table)}`;
  const columns = tableColumns(pipeline, engine).map((column) => `  ${columnSql(column)}`);
  if (engine === 'duckdb') return [`CREATE TABLE ${table} (\n${columns.join(',\n')}\n)`];
  const nullable = nullableKey(pipeline);
  const names = pipeline.key ?? [];
  const since = names.filter((name) => name === VALID_FROM);
  const whole = names.length === 0 ? [] : [...names.filter((name) => name !== VALID_FROM), ACCOUNT_COLUMN, ...since];
  const key = whole.map((name) => (nullable.has(name) ? neverNull(pipeline, name) : quoteName(name)));
  const primary = key.length > 0 && nullable.size === 0 ? [`  PRIMARY KEY (${key.join(', ')})`] : [];
  const statements = [`CREATE TABLE ${table} (\n${[...columns, ...primary].join(',\n')}\n)`];
  if (nullable.size > 0)
    statements.push(`CREATE UNIQUE INDEX ${quoteName(`${pipeline.table}_key`)} ON ${table} (${key.join(', ')})`);
  if (!indexed.has(`${pipeline.table}.${pipeline.day}`))
    statements.push(`CREATE INDEX ${quoteName(`${pipeline.table}_day`)} ON ${table} (${quoteName(pipeline.day)})`);
  return statements;
}

/** What is to be done about the tables of these pipelines. */
export function tablesDue(pipelines: readonly Pipeline[], found: FoundTables, engine: SqlDialect): TablesDue {
  const missing: Pipeline[] = [];
  const changes: string[] = [];
  const differing: TablesDue['differing'][number][] = [];
  for (const pipeline of pipelines) {
    const there = found.get(pipeline.table);
    if (there === undefined) missing.push(pipeline);
    else {
      const [what] = differences(tableColumns(pipeline, engine), there);
      if (what === undefined) changes.push(...columnChanges(pipeline, engine, there));
      else differing.push({ pipeline, what });
    }
  }
  return { missing, changes, differing };
}

/** The refusal of a table that would have to be made anew. */
export function differingTable(target: TargetName, { pipeline, what }: TablesDue['differing'][number]): EtlError {
  return new EtlError('failed', 'table_differs', `${target}: table warehouse.${pipeline.table}: ${what}`, {
    concern: { target, pipeline: pipeline.name },
    hint: `make the warehouse anew from the lake: partner-etl rebuild --target ${target}`,
  });
}

function differences(declared: readonly TableColumn[], there: readonly TableColumn[]): string[] {
  const known = new Map(there.map((column) => [column.name, column]));
  return declared.flatMap(({ name, type, isRequired }) => {
    const column = known.get(name);
    if (column === undefined) return isRequired ? [`it has no column ${name}, which every row must have`] : [];
    if (column.type !== type) return [`column ${name} is ${column.type}, this program writes ${type}`];
    return isRequired && !column.isRequired
      ? [`column ${name} may be null, this program has a value in every row`]
      : [];
  });
}

function columnChanges(pipeline: Pipeline, engine: SqlDialect, there: readonly TableColumn[]): string[] {
  const known = new Map(there.map((column) => [column.name, column]));
  const table = `ALTER TABLE warehouse.${quoteName(pipeline.table)}`;
  return tableColumns(pipeline, engine).flatMap((column) => {
    const found = known.get(column.name);
    if (found === undefined) return [`${table} ADD COLUMN ${columnSql(column)}`];
    return found.isRequired && !column.isRequired
      ? [`${table} ALTER COLUMN ${quoteName(column.name)} DROP NOT NULL`]
      : [];
  });
}

function columnSql({ name, type, isRequired }: TableColumn): string {
  return `${quoteName(name)} ${type}${isRequired ? ' NOT NULL' : ''}`;
}

function nullableKey({ key, columns }: Pipeline): ReadonlySet<string> {
  const required = new Set(columns.filter((c) => c.required).map((c) => c.column));
  return new Set((key ?? []).filter((name) => !required.has(name)));
}

/**
 * Nulls of a key are equal, which before Postgres 15 only an expression can say: NaN and infinity stand for null, as no value of the
 * lake can be either.
 */
function neverNull(pipeline: Pipeline, name: string): string {
  const kind = pipeline.columns.find(({ column }) => column === name)?.kind ?? 'text';
  const isNumber = kind === 'money' || kind === 'percentage' || kind === 'ratio';
  const isTime = kind === 'day' || kind === 'utc-time' || kind === 'local-time';
  assert(
    isNumber || isTime,
    `${pipeline.name}: a part of the key that may be null is a number or a time, ${name} is not`,
  );
  return `coalesce(${quoteName(name)}, ${isNumber ? `'NaN'` : `'infinity'`})`;
}
