/**
 * Loading slices into Postgres inside a transaction: rows, rejects, and the checks on them.
 *
 * Deleting the days and copying straight into the table is the fastest way measured (1,000,000 rows into a table of 10
 * million: 11.7 s; through a staging table 13 s, as upserts 15 s). The primary key keeps keys unique.
 */
import { ACCOUNT } from '../../core/account.ts';
import type { Day } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import { ACCOUNT_COLUMN, LOADED_COLUMN, OBSERVED_TO, type Pipeline, storedColumns } from '../../core/pipeline.ts';
import type { Engine } from '../../engine/duckdb.ts';
import { badFile, rejectFiles, rowFiles } from '../slice-files.ts';
import { checkRejects, checkRows, dayRejects, daySums, daySumsOf, type PipelineLoad, rejectsOn } from '../slice-sql.ts';
import { factTable, onSlices } from '../table-sql.ts';
import type { LoadSlice } from '../target.ts';
import { type CopyColumn, copyRows, type RowSource } from './copy-rows.ts';
import { filling } from './first-load.ts';
import type { Client } from './sessions.ts';

/** No file of the lake has it: its path says it. */
const OF_THIS_ACCOUNT: CopyColumn = { column: ACCOUNT_COLUMN, kind: 'text', value: ACCOUNT };

const REJECT_COLUMNS: readonly CopyColumn[] = [
  OF_THIS_ACCOUNT,
  { column: 'pipeline', kind: 'text' },
  { column: 'slice_day', kind: 'day' },
  { column: 'fetch_id', kind: 'text' },
  { column: 'item', kind: 'count' },
  { column: 'reason', kind: 'text' },
  { column: 'detail', kind: 'text' },
  { column: 'raw', kind: 'text' },
];

/**
 * From so many new rows on, statements on versions find their way wrong without fresh statistics (a night: 1.2 s, else 0.2 s), and
 * indexes are better made afterwards.
 */
const MUCH_ROWS = 10_000;
/**
 * And who reads a table of facts first, before the server has looked at it by itself, when so much of it is new; of versions already
 * when less is, because this very publication reads them. A look at a long history takes seconds.
 */
const ANALYSED_SHARE = { facts: 0.1, versions: 0.02 };

/** Replaces the slices of one pipeline; returns the rows loaded. `at` is when, as ISO 8601; `ended` reads rows with `observed_to`. */
export async function loadPipeline(
  client: Client,
  engine: Engine,
  load: PipelineLoad,
  at: string,
  ended: RowSource | undefined,
): Promise<number> {
  try {
    const rows = await replaceRows(client, engine, load, at, ended);
    checkRows(load, daySumsOf((await client.query(daySums(load.pipeline, load.days))).rows));
    await replaceRejects(client, engine, load);
    const rejects = await client.query<{ day: Day; rejects: string }>(dayRejects(load.pipeline, load.days));
    checkRejects(load, new Map(rejects.rows.map((row) => [row.day, Number(row.rejects)])));
    return rows;
  } catch (error) {
    if (error instanceof EtlError && error.code === 'lake_rows') throw (await badFile(engine, load.slices)) ?? error;
    throw error;
  }
}

async function replaceRows(
  client: Client,
  engine: Engine,
  load: PipelineLoad,
  at: string,
  ended: RowSource | undefined,
): Promise<number> {
  const { pipeline, slices, days, onRows } = load;
  const table = factTable(pipeline);
  await client.query(`DELETE FROM ${table} WHERE ${onSlices(pipeline, days)}`);
  const copy = () => copySlices(client, engine, table, pipeline, slices, at, ended, onRows);
  const isMuch = slices.reduce((sum, { content }) => sum + content.rows, 0) >= MUCH_ROWS;
  const rows = await (isMuch ? filling(client, table, copy) : copy());
  if (rows >= MUCH_ROWS && (await isMostlyNew(client, pipeline, rows))) await client.query(`ANALYZE ${table}`);
  return rows;
}

/** Whether the server's statistics of the table, if it has any, are of far fewer rows. It would fix that by itself, but only after the commit. */
async function isMostlyNew(client: Client, pipeline: Pipeline, rows: number): Promise<boolean> {
  const known = await client.query<{ rows: number }>(
    'SELECT reltuples AS rows FROM pg_class WHERE oid = $1::regclass',
    [factTable(pipeline)],
  );
  const share = pipeline.versions ? ANALYSED_SHARE.versions : ANALYSED_SHARE.facts;
  return rows > share * Math.max(0, known.rows[0]?.rows ?? 0);
}

async function replaceRejects(client: Client, engine: Engine, { pipeline, slices, days }: PipelineLoad): Promise<void> {
  await client.query(`DELETE FROM etl.reject WHERE ${rejectsOn(pipeline, days)}`);
  await copyRejects(client, engine, 'etl.reject', slices);
}

/** Copies the rows of slices of one pipeline into a table that is like its fact table; returns how many. */
export function copySlices(
  client: Client,
  engine: Engine,
  table: string,
  pipeline: Pipeline,
  slices: readonly LoadSlice[],
  at: string,
  ended?: RowSource,
  onRows?: (rows: number) => void,
): Promise<number> {
  const loadedAt: CopyColumn = { column: LOADED_COLUMN, kind: 'utc-time', value: at };
  const columns: CopyColumn[] = [OF_THIS_ACCOUNT, ...storedColumns(pipeline), loadedAt];
  if (ended) columns.push({ column: OBSERVED_TO, kind: 'utc-time' });
  const expected = slices.reduce((sum, { content }) => sum + content.rows, 0);
  return copyRows(client, engine, table, columns, rowFiles(slices), expected, ended, onRows);
}

/** Copies the rejects of slices into a table that is like `etl.reject`; returns how many. */
export function copyRejects(
  client: Client,
  engine: Engine,
  table: string,
  slices: readonly LoadSlice[],
): Promise<number> {
  const expected = slices.reduce((sum, { content }) => sum + content.rejects, 0);
  return copyRows(client, engine, table, REJECT_COLUMNS, rejectFiles(slices), expected);
}
