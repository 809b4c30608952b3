/**
 * Items that moved to another day.
 *
 * An item has one key, so when an answer shows it on a day where the lake did not have it, and the lake has it on another day
 * that this answer did not cover, it left that day. The other day's slice is written again without it, in the same commit, so
 * that no item is ever in two slices; and the day is marked to be asked for again, because the service may tell more.
 *
 * Only keys that are new on their day are looked for, and only in slices whose range of keys meets theirs: the service
 * numbers orders as they come, so that is a handful of files however long the history.
 */
import { copyFile, mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Pipeline } from '../../core/pipeline.ts';
import { storedColumns } from '../../core/pipeline.ts';
import type { SliceContent } from '../../core/records.ts';
import type { SliceEntry } from '../../core/slices.ts';
import { type Engine, quoteName, quoteText, readParquet } from '../../engine/duckdb.ts';
import { measureSlice } from '../../engine/measure.ts';
import type { Lake, SliceChange } from '../../lake/lake.ts';
import { parquetOptions } from '../../normalise/parquet.ts';

/** The slices that lose items to the given new ones, as changes for the same commit. */
export async function amendLosers(
  engine: Engine,
  lake: Lake,
  pipeline: Pipeline,
  replaced: readonly { readonly content: SliceContent; readonly file: string | null }[],
  outDir: string,
): Promise<SliceChange[]> {
  const files = replaced.flatMap((r) => (r.file ? [r.file] : []));
  if (!pipeline.key || files.length === 0) return [];
  const slices = await lake.slices(pipeline.name);
  const days = new Set(replaced.map((r) => r.content.day));
  const before = [...days].flatMap((day) => entryFile(lake, slices.get(day)));
  const range = await freshKeys(engine, pipeline.key, files, before);
  if (!range) return [];
  const others = [...slices.values()].filter(
    (e) => !days.has(e.content.day) && e.file !== null && meets(e.content, range),
  );
  const changes: SliceChange[] = [];
  for (const loser of await losersAmong(engine, lake, pipeline, others)) {
    const file = lake.rowsFile(loser);
    const whole = { content: loser.content, file, rejectsFile: lake.rejectsFile(loser) };
    changes.push(await withoutKeys(engine, pipeline, whole, 'fresh_key', outDir));
  }
  await engine.run('DROP TABLE IF EXISTS fresh_key');
  return changes;
}

interface KeyRange {
  readonly min: string;
  readonly max: string;
}

/** Makes table fresh_key of the keys that are in `files` and not in `before`; returns the range of the first key column. */
async function freshKeys(
  engine: Engine,
  key: readonly string[],
  files: readonly string[],
  before: readonly string[],
): Promise<KeyRange | null> {
  const columns = key.map(quoteName).join(', ');
  const known = before.length ? `EXCEPT SELECT ${columns} FROM ${readParquet(before)}` : '';
  const make = (except: string) =>
    engine.run(`CREATE OR REPLACE TEMP TABLE fresh_key AS SELECT ${columns} FROM ${readParquet(files)} ${except}`);
  // A file that is damaged is replaced by this very commit; with every key fresh, more slices are looked into.
  await (known === '' ? make('') : make(known).catch(() => make('')));
  const first = quoteName(key[0]!);
  const row = await engine.row(`SELECT min(${first}) AS low, max(${first}) AS high FROM fresh_key`);
  return row.low === null ? null : { min: String(row.low), max: String(row.high) };
}

/** Whether a slice may have keys in the range. */
export function meets(content: SliceContent, range: KeyRange): boolean {
  if (content.key_min === null || content.key_max === null) return false;
  return compareText(content.key_min, range.max) <= 0 && compareText(content.key_max, range.min) >= 0;
}

/** DuckDB compares text by its bytes, JavaScript by UTF-16; they differ outside the first plane. */
function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

async function losersAmong(
  engine: Engine,
  lake: Lake,
  pipeline: Pipeline,
  others: readonly SliceEntry[],
): Promise<SliceEntry[]> {
  const files = others.flatMap((e) => entryFile(lake, e));
  if (files.length === 0) return [];
  const keys = pipeline.key!.map(quoteName).join(', ');
  const rows = await engine.rows(
    `SELECT DISTINCT filename FROM ${readParquet(files, ['filename = true'])} SEMI JOIN fresh_key USING (${keys})`,
  );
  const names = new Set(rows.map((row) => String(row.filename)));
  return others.filter((e) => entryFile(lake, e).some((file) => names.has(file)));
}

/** What a slice holds, with its files by absolute path. */
export interface WholeSlice {
  readonly content: SliceContent;
  readonly file: string | null;
  readonly rejectsFile: string | null;
}

/** The slice without the keys of a table, as a change that leaves it to be asked for again. Its files stay where they are. */
export async function withoutKeys(
  engine: Engine,
  pipeline: Pipeline,
  { content: before, file, rejectsFile }: WholeSlice,
  table: string,
  outDir: string,
): Promise<Extract<SliceChange, { kind: 'amend' }>> {
  const columns = storedColumns(pipeline).map((c) => quoteName(c.column));
  const keys = pipeline.key!.map(quoteName).join(', ');
  const source = readParquet(file === null ? [] : [file]);
  const rest = `(SELECT ${columns.join(', ')} FROM ${source} ANTI JOIN ${table} USING (${keys}))`;
  const content: SliceContent = { ...before, ...(await measureSlice(engine, pipeline, rest, rejectsFile)) };
  await mkdir(outDir, { recursive: true });
  const at = (name: string) => path.join(outDir, `amended-${name}.parquet`);
  const { day } = content;
  if (content.rows > 0)
    await engine.run(
      `COPY (SELECT * FROM ${rest} ORDER BY ${pipeline.sort.map(quoteName).join(', ')}) TO ${quoteText(at(day))} (${parquetOptions(pipeline, content)})`,
    );
  if (rejectsFile) await copyFile(rejectsFile, at(`${day}.rejects`));
  const files = { file: content.rows > 0 ? at(day) : null, rejectsFile: rejectsFile ? at(`${day}.rejects`) : null };
  return { kind: 'amend', pipeline: pipeline.name, content, files };
}

function entryFile(lake: Lake, entry: SliceEntry | undefined): string[] {
  const file = entry && lake.rowsFile(entry);
  return file ? [file] : [];
}
