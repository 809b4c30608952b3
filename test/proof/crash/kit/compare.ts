/**
 * What the two warehouses hold, as texts that are the same wherever the content is the same: all tables of `warehouse` and `etl`,
 * without ids of runs and fetches and without times of ours, which differ from one run to the next. Rows that are versions carry
 * their place in the history of their thing instead.
 */
import { DuckDBInstance } from '@duckdb/node-api';
import pg from 'pg';
import { pipelines } from '../../../../pipelines/index.ts';
import { OBSERVED_FROM, storedColumns, VALID_FROM, VALID_TO } from '../../../../src/core/pipeline.ts';
import type { Scene } from './scene.ts';

/**
 * `everything`; `remade`, after whatever makes all afresh, which leaves older receipts as often as it was tried: each kind of them once;
 * or what is the same after a command that fixes has run as well: no runs, no calls, no older receipts.
 */
export type Extent = 'everything' | 'remade' | 'fixed';

/** Rows as texts, sorted, by `target schema.table`. */
export type Contents = ReadonlyMap<string, readonly string[]>;

type Ask = (sql: string) => Promise<readonly (readonly unknown[])[]>;

/** Of ours: when something was seen or done, by which run, under which id. */
const ASIDE = [
  'fetch_id',
  'run_id',
  'loaded_at',
  'observed_from',
  'valid_from',
  'valid_to',
  'ended_on',
  'fetched_at',
  'superseded_at',
  'held_at',
  'applied_at',
  'made_at',
  'seen_at',
];

/** Where rows themselves hang on how often something was tried. */
const SPECIAL: Readonly<Record<string, string>> = {
  // Whether a run set something aside hangs on what an earlier one had done before it was killed.
  'etl.run': `SELECT DISTINCT command FROM etl.run WHERE result IN ('done', 'set_aside')`,
  'etl.fetch': `SELECT DISTINCT pipeline, window_from, window_to, CASE WHEN window_from IS NULL THEN NULL ELSE sha256 END
    FROM etl.fetch WHERE outcome = 'ok'`,
  'etl.drift_by_fetch': 'SELECT DISTINCT pipeline, kind, field FROM etl.drift_by_fetch',
  'etl.reject': 'SELECT pipeline, slice_day, reason, detail, raw FROM etl.reject',
  'etl.hold': 'SELECT pipeline, slice_day, reason, detail, rows, rows_before FROM etl.hold',
};
/** A night that went on without messages asked for what they would have told. */
const ASIDE_WHEN_FIXED = ['asked_by'];
const NOT_WHEN_FIXED = ['etl.run', 'etl.fetch', 'etl.drift_by_fetch'];

/** Their digests are of times as well. */
const timed = pipelines.filter((one) =>
  storedColumns(one).some(
    ({ column }) => [OBSERVED_FROM, VALID_TO].includes(column) || (one.merge !== null && column === VALID_FROM),
  ),
);

function receipts(extent: Extent): string {
  const isTimed = `pipeline IN (${timed.map(({ name }) => `'${name}'`).join(', ')})`;
  return `SELECT ${extent === 'remade' ? 'DISTINCT' : ''} pipeline, slice_day, version, rows, rejects, settled, superseded_at IS NULL,
      CASE WHEN ${isTimed} THEN NULL ELSE digest END, CASE WHEN ${isTimed} THEN NULL ELSE CAST(sums AS text) END
    FROM etl.receipt ${extent === 'fixed' ? 'WHERE superseded_at IS NULL' : ''}`;
}

export async function contentsOf(scene: Scene, extent: Extent): Promise<Contents> {
  const contents = new Map<string, readonly string[]>();
  await readDuckdb(`${scene.home}/warehouse.duckdb`, (ask) => readAll('duckdb', ask, extent, contents));
  await readPostgres(scene.databaseUrl, (ask) => readAll('postgres', ask, extent, contents));
  return contents;
}

/** What differs, a line each and a few of each table; empty when nothing does. */
export function differences(expected: Contents, found: Contents): string[] {
  const lines: string[] = [];
  for (const table of new Set([...expected.keys(), ...found.keys()])) {
    const [before, after] = [expected.get(table) ?? ['no such table'], found.get(table) ?? ['no such table']];
    const missing = without(before, after);
    const extra = without(after, before);
    if (missing.length + extra.length === 0) continue;
    lines.push(`${table}: ${missing.length} rows missing, ${extra.length} too much`);
    lines.push(
      ...missing.slice(0, 2).map((row) => `  missing ${row}`),
      ...extra.slice(0, 2).map((r) => `  extra ${r}`),
    );
  }
  return lines;
}

function without(rows: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const row of others) counts.set(row, (counts.get(row) ?? 0) + 1);
  return rows.filter((row) => {
    const left = counts.get(row) ?? 0;
    counts.set(row, left - 1);
    return left <= 0;
  });
}

async function readAll(target: string, ask: Ask, extent: Extent, contents: Map<string, readonly string[]>) {
  for (const [table, columns] of await tablesOf(ask)) {
    if (extent === 'fixed' && NOT_WHEN_FIXED.includes(table)) continue;
    const sql = table === 'etl.receipt' ? receipts(extent) : (SPECIAL[table] ?? rowsOf(table, columns, extent));
    const rows = await ask(sql);
    contents.set(`${target} ${table}`, rows.map((row) => row.map(spelled).join(' | ')).sort());
  }
}

/** The tables of both schemas with their columns; views show nothing else. */
async function tablesOf(ask: Ask): Promise<Map<string, string[]>> {
  const rows =
    await ask(`SELECT CASE WHEN table_schema = 'main' THEN 'warehouse' ELSE table_schema END, table_name, column_name
    FROM information_schema.columns JOIN information_schema.tables USING (table_catalog, table_schema, table_name)
    WHERE table_type = 'BASE TABLE' AND table_schema IN ('main', 'warehouse', 'etl') ORDER BY 1, 2, ordinal_position`);
  const tables = new Map<string, string[]>();
  for (const [schema, table, column] of rows) {
    const name = `${String(schema)}.${String(table)}`;
    tables.set(name, [...(tables.get(name) ?? []), String(column)]);
  }
  return tables;
}

function rowsOf(table: string, columns: readonly string[], extent: Extent): string {
  const aside = extent === 'fixed' ? [...ASIDE, ...ASIDE_WHEN_FIXED] : ASIDE;
  const kept = columns.filter((column) => !aside.includes(column)).map((column) => `CAST("${column}" AS text)`);
  const pipeline = pipelines.find((one) => `warehouse.${one.table}` === table);
  const [things, from] = pipeline?.isHistory
    ? [pipeline.key?.filter((column) => column !== VALID_FROM), VALID_FROM]
    : [undefined, VALID_FROM];
  const place = things
    ? [`dense_rank() OVER (PARTITION BY ${things.map((c) => `"${c}"`).join(', ')} ORDER BY ${from})`]
    : [];
  return `SELECT ${[...kept, ...place].join(', ')} FROM ${table}`;
}

function spelled(value: unknown): string {
  return value instanceof Date ? value.toISOString() : value === null ? '-' : String(value);
}

async function readDuckdb(file: string, work: (ask: Ask) => Promise<void>): Promise<void> {
  const instance = await DuckDBInstance.create(file, {
    access_mode: 'READ_ONLY',
    memory_limit: '256MiB',
    threads: '1',
  });
  const connection = await instance.connect();
  try {
    await connection.run(`SET TimeZone = 'UTC'`);
    await work(async (sql) => (await connection.runAndReadAll(sql)).getRows());
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function readPostgres(connectionString: string, work: (ask: Ask) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(`SET TimeZone = 'UTC'`);
    await work(async (text) => (await client.query({ text, rowMode: 'array' })).rows as unknown[][]);
  } finally {
    await client.end();
  }
}
