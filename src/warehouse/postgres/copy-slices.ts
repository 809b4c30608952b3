/** The rows and rejects of slices, copied into a table. */
import { ACCOUNT } from '../../core/account.ts';
import { ACCOUNT_COLUMN, LOADED_COLUMN, type Pipeline, storedColumns } from '../../core/pipeline.ts';
import type { Engine } from '../../engine/duckdb.ts';
import { fileBatches, parquetRows, rejectFiles, sliceRows } from '../slice-files.ts';
import type { LoadSlice } from '../target.ts';
import { type CopyColumn, copyRows } from './copy-rows.ts';
import type { Client } from './sessions.ts';

/** What the slices of one pipeline are loaded with. */
export interface Loading {
  readonly client: Client;
  readonly engine: Engine;
  /** When it is loaded, as ISO 8601. */
  readonly at: string;
}

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

/** Copies the rows of slices of one pipeline into a table that is like its fact table; returns how many. */
export function copySlices(
  loading: Loading,
  table: string,
  pipeline: Pipeline,
  slices: readonly LoadSlice[],
  onRows?: (rows: number) => void,
): Promise<number> {
  const expected = slices.reduce((sum, { content }) => sum + content.rows, 0);
  return copyFacts(loading, table, pipeline, sliceRows(slices), expected, onRows);
}

/** The same for some relations of rows of a pipeline. Errors: those of `copyRows`. */
export function copyFacts(
  { client, engine, at }: Loading,
  table: string,
  pipeline: Pipeline,
  relations: readonly string[],
  expected: number,
  onRows?: (rows: number) => void,
): Promise<number> {
  const loadedAt: CopyColumn = { column: LOADED_COLUMN, kind: 'utc-time', value: at };
  const columns = [OF_THIS_ACCOUNT, ...storedColumns(pipeline), loadedAt];
  return copyRows(client, engine, table, columns, relations, expected, onRows);
}

/** Copies the rejects of slices into a table that is like `etl.reject`; returns how many. */
export function copyRejects(
  { client, engine }: Pick<Loading, 'client' | 'engine'>,
  table: string,
  slices: readonly LoadSlice[],
): Promise<number> {
  const expected = slices.reduce((sum, { content }) => sum + content.rejects, 0);
  const relations = fileBatches(rejectFiles(slices)).map((batch) => parquetRows(batch));
  return copyRows(client, engine, table, REJECT_COLUMNS, relations, expected);
}
