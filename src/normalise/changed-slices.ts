/**
 * Rows that were observed and are new → the whole content of the slices that they change, and what cannot be a row.
 *
 * In a table `observed` of the pipeline stand the rows, in `fresh` which of them are new; the slices' own rows are added to them.
 */
import { isoTime } from '../core/clock.ts';
import type { Day } from '../core/days.ts';
import { isNamed, type Merge, type Pipeline, storedColumns } from '../core/pipeline.ts';
import type { SliceContent } from '../core/records.ts';
import {
  contentColumnsSql,
  contentOf,
  digestOf,
  type HashSums,
  hashSumsOf,
  NO_HASHES,
  rowHashSql,
} from '../engine/content.ts';
import { type Engine, quoteFiles, quoteName, quoteText, type Row, readParquet } from '../engine/duckdb.ts';
import { type ObservedRows, tableNames } from './observed.ts';
import { writeSlices } from './parquet.ts';
import { rejectHashes, writeRejects } from './rejects.ts';
import { UNIT } from './typing.ts';

/** What the lake holds of a pipeline. */
export interface CurrentSlices {
  /** Rows of all slices that count as known. */
  readonly knownFiles: readonly string[];
  /** Rejects of all slices. */
  readonly rejectFiles: readonly string[];
  /** Files of the slice of a day, to which new rows are added; nulls where there is none. */
  readonly slice: (day: Day) => { readonly file: string | null; readonly rejectsFile: string | null };
  readonly digest: (day: Day) => string | null;
}

/** What was observed of a pipeline, and what the lake holds of it. */
export interface Incoming {
  readonly observed: ObservedRows;
  readonly current: CurrentSlices;
}

/** What taking rows in needs besides them. */
export interface Taking {
  /** Newline-delimited JSON of what could not even become a row: see REFUSED_COLUMNS. */
  readonly refusedFiles: readonly string[];
  /** Named where no row names a fetch. */
  readonly fetchId: string;
  /** Epoch milliseconds: when rejects without a row were seen. */
  readonly atMs: number;
  readonly timeZone: string;
  readonly outDir: string;
}

/** A line of what could not become a row; `item` is its place in the answer or list, `raw` what a person shall see. */
const REFUSED_COLUMNS = `{fetch_id: 'VARCHAR', item: 'BIGINT', day: 'DATE', reason: 'VARCHAR', detail: 'VARCHAR', raw: 'VARCHAR'}`;

/** Where a row stood in its answer. */
const PLACE = 'coalesce(_n::BIGINT, _item)';

export interface ChangedSlice {
  readonly pipeline: Pipeline;
  readonly content: SliceContent;
  readonly file: string | null;
  readonly rejectsFile: string | null;
}

/** Makes table `refused`: rejects that the lake does not have yet. Returns how many were seen. */
export async function collectRefused(
  engine: Engine,
  { observed: { pipeline }, current }: Incoming,
  { refusedFiles, timeZone, fetchId, atMs }: Taking,
): Promise<number> {
  const { observed, refused, fresh } = tableNames(pipeline);
  const today = `timezone(${quoteText(timeZone)}, TIMESTAMPTZ ${quoteText(isoTime(atMs))})::DATE`;
  const isPart = !isNamed(pipeline);
  const ofNewRows = isPart ? `AND _item IN (SELECT _item FROM ${fresh})` : '';
  await engine.run(
    `CREATE OR REPLACE TABLE ${refused} AS SELECT coalesce(fetch_id, ${quoteText(fetchId)}) AS fetch_id, ${PLACE} AS _item, coalesce(${quoteName(pipeline.day)}, ${today}) AS slice_day,
       split_part(_reject, ${UNIT}, 1) AS reason, split_part(_reject, ${UNIT}, 2) AS detail, coalesce(_raw, '') AS raw
     FROM ${observed} WHERE _reject IS NOT NULL ${ofNewRows}`,
  );
  if (pipeline.merge?.refusedWhen) await addRefused(engine, pipeline, pipeline.merge);
  if (refusedFiles.length > 0)
    await engine.run(
      `INSERT INTO ${refused} SELECT fetch_id, item, day, reason, detail, raw FROM read_json(${quoteFiles(refusedFiles)},
         format = 'newline_delimited', records = true,
         columns = ${REFUSED_COLUMNS})`,
    );
  const { seen } = await engine.row(`SELECT count(*) AS seen FROM ${refused}`);
  if (Number(seen) === 0) return 0;
  const same = 'reason, detail, raw';
  // Answers of several nights, as a replay takes them, say what they would have said one after the other: the first one counts.
  await engine.run(
    `CREATE OR REPLACE TABLE ${refused} AS SELECT * FROM ${refused}
     QUALIFY fetch_id = first_value(fetch_id) OVER (PARTITION BY ${same} ORDER BY slice_day, fetch_id)`,
  );
  if (current.rejectFiles.length > 0)
    await engine.run(
      `DELETE FROM ${refused} WHERE (${same}) IN (SELECT (${same}) FROM ${readParquet(current.rejectFiles)})`,
    );
  return Number(seen);
}

/** A key that the service refuses is a row, which ends what was known of it, and a reject, so that somebody looks at it. */
async function addRefused(engine: Engine, pipeline: Pipeline, { by, refusedWhen }: Merge): Promise<void> {
  const { observed, refused } = tableNames(pipeline);
  const named = by.map((column) => `${quoteText(`${column}=`)} || ${quoteName(column)}::VARCHAR`);
  await engine.run(
    `INSERT INTO ${refused} SELECT fetch_id, ${PLACE}, ${quoteName(pipeline.day)}, 'refused', coalesce(reason, ''), concat_ws(' ', ${named.join(', ')})
     FROM ${observed} WHERE _reject IS NULL AND ${refusedWhen}`,
  );
}

export interface ChangeOptions {
  /** The column that says when a row was seen. */
  readonly at: string;
  /** SQL over the stored columns of `kept`: rows of the slices that stay; all of them where it is not given. */
  readonly staying?: string;
  /** Days that rows leave. */
  readonly alsoOn?: readonly Day[];
  /** Answers that changed a day otherwise than by rows of theirs on it. */
  readonly touched?: ReadonlyMap<Day, Touched>;
}

export interface Touched {
  readonly fetchId: string;
  /** ISO 8601. */
  readonly at: string;
}

/** The slices of a pipeline whose content becomes another one, written out. */
export async function changedSlices(
  engine: Engine,
  one: Incoming,
  input: Taking,
  options: ChangeOptions,
): Promise<ChangedSlice[]> {
  const { pipeline } = one.observed;
  const names = tableNames(pipeline);
  const day = quoteName(pipeline.day);
  const found = await engine.rows(
    `SELECT DISTINCT ${day}::VARCHAR AS day FROM ${names.observed} WHERE _item IN (SELECT _item FROM ${names.fresh} WHERE _new) AND _reject IS NULL
     UNION SELECT DISTINCT slice_day::VARCHAR FROM ${names.refused}`,
  );
  const days = [...new Set([...found.map((row) => String(row.day) as Day), ...(options.alsoOn ?? [])])].sort();
  if (days.length === 0) return [];
  await gatherRows(engine, one, days, options.staying ?? 'true');
  const contents = (await contentsOf(engine, pipeline, days, input, options)).filter(
    (content) => one.current.digest(content.day) !== content.digest,
  );
  const output = { pipeline, outDir: input.outDir, fetchId: null };
  const withRows = contents.filter(({ rows }) => rows > 0);
  const files = await writeSlices(engine, output, names.rows, withRows, false);
  const withRejects = contents.filter(({ rejects }) => rejects > 0);
  const rejectFiles = await writeRejects(engine, output, names.refused, withRejects);
  return contents.map((content) => ({
    pipeline,
    content,
    file: files.get(content.day) ?? null,
    rejectsFile: rejectFiles.get(content.day) ?? null,
  }));
}

/** Makes view `rows` of what the slices hold and what is new, and adds the slices' rejects to table `refused`. */
async function gatherRows(
  engine: Engine,
  { observed: { pipeline }, current }: Incoming,
  days: readonly Day[],
  staying: string,
): Promise<void> {
  const names = tableNames(pipeline);
  const columns = storedColumns(pipeline)
    .map((c) => quoteName(c.column))
    .join(', ');
  const slices = days.map((day) => current.slice(day));
  const files = slices.flatMap(({ file }) => file ?? []);
  const before = files.length
    ? `UNION ALL SELECT ${columns}, -1 AS _item FROM ${readParquet(files, ['union_by_name = true'])} AS kept WHERE ${staying}`
    : '';
  await engine.run(
    `CREATE OR REPLACE VIEW ${names.rows} AS SELECT *, ${rowHashSql(pipeline)} AS _hash, NULL AS _reject, false AS _duplicate FROM (
       SELECT ${columns}, _item FROM ${names.observed} WHERE _reject IS NULL AND _item IN (SELECT _item FROM ${names.fresh} WHERE _new) ${before})`,
  );
  const rejectFiles = slices.flatMap(({ rejectsFile }) => rejectsFile ?? []);
  if (rejectFiles.length > 0)
    await engine.run(
      `INSERT INTO ${names.refused} SELECT fetch_id, item, slice_day, reason, detail, raw FROM ${readParquet(rejectFiles)}`,
    );
}

async function contentsOf(
  engine: Engine,
  pipeline: Pipeline,
  days: readonly Day[],
  input: Taking,
  { at, touched }: ChangeOptions,
): Promise<SliceContent[]> {
  const names = tableNames(pipeline);
  const day = quoteName(pipeline.day);
  const rows = await engine.rows(
    `SELECT ${day}::VARCHAR AS _day, max(fetch_id) AS _fetch, strftime(max(${quoteName(at)}), '%Y-%m-%dT%H:%M:%S.%gZ') AS _at,
       ${contentColumnsSql(pipeline)} FROM ${names.rows} GROUP BY ${day}`,
  );
  const byDay = new Map(rows.map((row) => [String(row._day), row]));
  const rejects = await rejectHashes(engine, names.refused);
  return days.map((name) => {
    const content = contentOn(pipeline, name, byDay.get(name), rejects.get(name) ?? NO_HASHES, input);
    const by = touched?.get(name);
    return by && (content.rows === 0 || by.fetchId > content.fetch_id)
      ? { ...content, fetch_id: by.fetchId, fetched_at: by.at }
      : content;
  });
}

function contentOn(
  pipeline: Pipeline,
  day: Day,
  row: Row | undefined,
  rejects: HashSums,
  { fetchId, atMs }: Taking,
): SliceContent {
  const none = { rows: 0, sums: {}, settled: true, key_min: null, key_max: null };
  return {
    ...(row ? contentOf(row) : none),
    day,
    digest: digestOf(pipeline, row ? hashSumsOf(row, '_rows') : NO_HASHES, rejects),
    rejects: rejects.count,
    duplicates: 0,
    version: pipeline.version,
    fetch_id: row ? String(row._fetch) : fetchId,
    fetched_at: row ? String(row._at) : isoTime(atMs),
  };
}
