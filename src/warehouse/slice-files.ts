/** The lake's Parquet files, as a target reads them: what they hold is checked before, and a bad one is named. */

import { DUCKDB_TYPE } from '../core/columns.ts';
import { EtlError } from '../core/errors.ts';
import { type Pipeline, storedColumns } from '../core/pipeline.ts';
import { type Engine, quoteFiles, quoteName, quoteText } from '../engine/duckdb.ts';
import { controlError } from './slice-sql.ts';
import type { LoadSlice } from './target.ts';

/** Files that one statement reads: DuckDB opens them all, and their names make up the statement. */
const FILES_A_STATEMENT = 400;

/** A relation of the rows of some Parquet files; nothing is guessed from their paths. `isNumbered`: with `file_row_number`. */
export function parquetRows(files: readonly string[], isNumbered = false): string {
  const numbered = isNumbered ? ', file_row_number = true' : '';
  return `read_parquet(${quoteFiles(files)}, hive_partitioning = false, union_by_name = false${numbered})`;
}

/** Some files at a time, in the order given. */
export function fileBatches(files: readonly string[]): string[][] {
  const count = Math.ceil(files.length / FILES_A_STATEMENT);
  return Array.from({ length: count }, (_, i) => files.slice(i * FILES_A_STATEMENT, (i + 1) * FILES_A_STATEMENT));
}

/** Relations of all rows of the slices, some files each. */
export function sliceRows(slices: readonly LoadSlice[], isNumbered = false): string[] {
  return fileBatches(rowFiles(slices)).map((batch) => parquetRows(batch, isNumbered));
}

export function rowFiles(slices: readonly LoadSlice[]): string[] {
  return slices.flatMap((slice) => (slice.file === null ? [] : [slice.file]));
}

export function rejectFiles(slices: readonly LoadSlice[]): string[] {
  return slices.flatMap((slice) => (slice.rejectsFile === null ? [] : [slice.rejectsFile]));
}

/**
 * Reads the footers of all files: each must be there, be Parquet and hold as many rows as the lake declares.
 * Errors: `failed/lake_file`, `failed/control_sums`, naming the slice.
 */
export async function checkFiles(engine: Engine, slices: readonly LoadSlice[]): Promise<void> {
  const counts = await naming(engine, slices, () => countRows(engine, [...rowFiles(slices), ...rejectFiles(slices)]));
  for (const { pipeline, content, file, rejectsFile } of slices) {
    const rows = file === null ? 0 : counts.get(file);
    if (rows !== content.rows)
      throw controlError(pipeline, content.day, `its file holds ${rows} rows, the lake declares ${content.rows}`);
    const rejects = rejectsFile === null ? 0 : counts.get(rejectsFile);
    if (rejects !== content.rejects)
      throw controlError(
        pipeline,
        content.day,
        `its file holds ${rejects} rejects, the lake declares ${content.rejects}`,
      );
  }
}

async function countRows(engine: Engine, files: readonly string[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const batch of fileBatches(files)) {
    const rows = await engine.rows(`SELECT file_name, num_rows FROM parquet_file_metadata(${quoteFiles(batch)})`);
    for (const row of rows) counts.set(String(row.file_name), Number(row.num_rows));
  }
  return counts;
}

/** Runs `work`, which reads the slices' files; when it fails, looks for the file at fault and names it. */
export async function naming<T>(engine: Engine, slices: readonly LoadSlice[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof EtlError) throw error;
    throw (await badFile(engine, slices)) ?? error;
  }
}

/** Reads the slices' files one by one; `failed/lake_file` naming the first that cannot be loaded, null when all can. */
export async function badFile(engine: Engine, slices: readonly LoadSlice[]): Promise<EtlError | null> {
  const beside = await engine.beside(); // the transaction that failed answers nothing more
  try {
    return await firstBad(beside, slices);
  } finally {
    beside.close();
  }
}

async function firstBad(engine: Engine, slices: readonly LoadSlice[]): Promise<EtlError | null> {
  for (const slice of slices)
    for (const [file, check] of [
      [slice.file, rowsCheck(slice.pipeline)],
      [slice.rejectsFile, 'count(COLUMNS(*))'],
    ] as const) {
      if (file === null) continue;
      try {
        await engine.run(`SELECT ${check} FROM ${parquetRows([file])}`);
      } catch (cause) {
        return fileError(slice, file, cause);
      }
    }
  return null;
}

/** Aggregates that read and decode every value, and fail where one is of another type or is missing. */
function rowsCheck(pipeline: Pipeline): string {
  const required = new Set(pipeline.columns.filter((c) => c.required).map((c) => c.column));
  return storedColumns(pipeline)
    .map(({ column, kind }) => {
      const value = `CAST(${quoteName(column)} AS ${DUCKDB_TYPE[kind]})`;
      if (!required.has(column)) return `count(${value})`;
      return `count(CASE WHEN ${value} IS NULL THEN error(${quoteText(`${column} is missing`)}) ELSE '' END)`;
    })
    .join(', ');
}

function fileError({ pipeline, content }: LoadSlice, file: string, cause: unknown): EtlError {
  return new EtlError('failed', 'lake_file', `${pipeline.name} ${content.day}: cannot load ${file}`, {
    cause,
    concern: { pipeline: pipeline.name, day: content.day, file },
    hint: 'the file is missing or damaged: make the slice again from the raw store (replay)',
  });
}
