/**
 * Rows told by look-ups or a file → slices of versions.
 *
 * In:  the told rows of a pipeline and of its parts, what could not even become a row, and what the lake holds already.
 * Out: for each day on which something new was seen the slice's whole content: what it held plus the new rows. Nothing new, no
 *      slice. Rows of a part are kept where the row that they belong to is new.
 *
 * A reject is set aside once: while the same stands in the lake already (same reason, same raw text) it is only counted.
 */
import { mkdir } from 'node:fs/promises';
import { isoTime } from '../core/clock.ts';
import type { Day } from '../core/days.ts';
import { OBSERVED_FROM, OBSERVED_ON, type Pipeline, storedColumns, type Versions } from '../core/pipeline.ts';
import type { DriftRecord, SliceContent } from '../core/records.ts';
import {
  contentColumnsSql,
  contentOf,
  digestOf,
  type HashSums,
  hashSumsOf,
  NO_HASHES,
  rowHashSql,
} from '../engine/content.ts';
import { type Engine, quoteList, quoteName, quoteText, type Row } from '../engine/duckdb.ts';
import { driftOf } from './drift.ts';
import { writeSlices } from './parquet.ts';
import { rejectHashes, writeRejects } from './rejects.ts';
import {
  addGone,
  type Comparison,
  compare,
  dropTables,
  readKnown,
  readTold,
  type Told,
  tableNames,
  type Whole,
} from './told.ts';
import { UNIT } from './typing.ts';

/** What the lake holds of a pipeline. */
export interface Held {
  /** Rows of all slices that count as known. */
  readonly knownFiles: readonly string[];
  /** Rejects of all slices. */
  readonly rejectFiles: readonly string[];
  /** Files of the slice of a day, to which new rows are added; nulls where there is none. */
  readonly slice: (day: Day) => { readonly file: string | null; readonly rejectsFile: string | null };
  readonly digest: (day: Day) => string | null;
}

export interface Observed {
  readonly told: Told;
  readonly held: Held;
  /** Set where what is told is the whole, so that what is not told is gone. */
  readonly whole?: Whole;
}

export interface ObserveInput {
  readonly whole: Observed;
  readonly parts: readonly Observed[];
  /** Newline-delimited JSON of what could not even become a row: see REFUSED_COLUMNS. */
  readonly refusedFiles: readonly string[];
  /** Named where no row names a fetch. */
  readonly fetchId: string;
  /** Epoch milliseconds: when rejects without a row were seen. */
  readonly atMs: number;
  readonly timeZone: string;
  readonly outDir: string;
  /** Called with the name of the table of all rows told, while it is there. */
  readonly onTold?: (table: string) => Promise<void>;
}

/** A line of what could not become a row; `item` is its place in the answer or list, `raw` what a person shall see. */
const REFUSED_COLUMNS = `{fetch_id: 'VARCHAR', item: 'BIGINT', day: 'DATE', reason: 'VARCHAR', detail: 'VARCHAR', raw: 'VARCHAR'}`;

export interface ObservedSlice {
  readonly pipeline: Pipeline;
  readonly content: SliceContent;
  readonly file: string | null;
  readonly rejectsFile: string | null;
}

export interface Observations extends Comparison {
  /** Slices whose content is another than the lake's. */
  readonly slices: readonly ObservedSlice[];
  readonly drift: readonly DriftRecord[];
  /** Rows told, the new ones and those that say what was known. */
  readonly rows: number;
  /** Rejects seen, also those that stand in the lake already. */
  readonly rejects: number;
}

export async function observe(engine: Engine, input: ObserveInput): Promise<Observations> {
  const { whole, parts } = input;
  const all = [whole, ...parts];
  await mkdir(input.outDir, { recursive: true });
  try {
    const { pipeline } = whole.told;
    await readTold(engine, whole.told, input.timeZone);
    await readKnown(engine, pipeline, whole.held.knownFiles);
    if (whole.whole) await addGone(engine, pipeline, whole.whole);
    const comparison = await compare(engine, pipeline, whole.whole !== undefined);
    await input.onTold?.(tableNames(pipeline).told);
    for (const part of parts) {
      await readTold(engine, part.told, input.timeZone);
      await freshOfPart(engine, part.told.pipeline, pipeline);
    }
    let rejects = 0;
    const drift: DriftRecord[] = [];
    const slices: ObservedSlice[] = [];
    for (const one of all) {
      rejects += await collectRefused(engine, one, one === whole ? input : { ...input, refusedFiles: [] });
      drift.push(...(await driftOf(engine, one.told.pipeline, input.fetchId, tableNames(one.told.pipeline).told)));
      slices.push(...(await slicesOf(engine, one, input)));
    }
    const { rows } = await engine.row(
      `SELECT count(*) AS rows FROM ${tableNames(pipeline).told} WHERE _reject IS NULL`,
    );
    return { ...comparison, slices, drift, rows: Number(rows), rejects };
  } finally {
    for (const { told } of all) await dropTables(engine, told.pipeline);
  }
}

/** Rows of a part are new where the row that they belong to is; those that belong to none are always. */
async function freshOfPart(engine: Engine, part: Pipeline, whole: Pipeline): Promise<void> {
  const [own, its] = [tableNames(part), tableNames(whole)];
  await engine.run(
    `CREATE OR REPLACE TABLE ${own.fresh} AS SELECT t._item, true AS _new FROM ${own.told} AS t
     WHERE t._p IS NULL OR t._p::BIGINT IN (SELECT _item FROM ${its.fresh} WHERE _new)`,
  );
}

/** Makes table `refused`: rejects that the lake does not have yet. Returns how many were seen. */
async function collectRefused(
  engine: Engine,
  { told: { pipeline }, held }: Observed,
  { refusedFiles, timeZone, fetchId, atMs }: ObserveInput,
): Promise<number> {
  const { told, refused, fresh } = tableNames(pipeline);
  const today = `timezone(${quoteText(timeZone)}, TIMESTAMPTZ ${quoteText(isoTime(atMs))})::DATE`;
  const isPart = pipeline.source.kind === 'part';
  const ofNewRows = isPart ? `AND _item IN (SELECT _item FROM ${fresh})` : '';
  await engine.run(
    `CREATE OR REPLACE TABLE ${refused} AS SELECT coalesce(fetch_id, ${quoteText(fetchId)}) AS fetch_id, _item, coalesce(${quoteName(pipeline.day)}, ${today}) AS slice_day,
       split_part(_reject, ${UNIT}, 1) AS reason, split_part(_reject, ${UNIT}, 2) AS detail, coalesce(_raw, '') AS raw
     FROM ${told} WHERE _reject IS NOT NULL ${ofNewRows}`,
  );
  if (pipeline.versions?.refusedWhen) await addRefused(engine, pipeline, pipeline.versions);
  if (refusedFiles.length > 0)
    await engine.run(
      `INSERT INTO ${refused} SELECT fetch_id, item, day, reason, detail, raw FROM read_json(${quoteList(refusedFiles)},
         format = 'newline_delimited', records = true,
         columns = ${REFUSED_COLUMNS})`,
    );
  const { seen } = await engine.row(`SELECT count(*) AS seen FROM ${refused}`);
  const same = 'reason, detail, raw';
  if (held.rejectFiles.length > 0 && Number(seen) > 0)
    await engine.run(
      `DELETE FROM ${refused} WHERE (${same}) IN (SELECT (${same}) FROM read_parquet(${quoteList(held.rejectFiles)}))`,
    );
  return Number(seen);
}

/** A thing that the service refuses is a row, which ends what was known of it, and a reject, so that somebody looks at it. */
async function addRefused(engine: Engine, pipeline: Pipeline, { of, refusedWhen }: Versions): Promise<void> {
  const { told, refused } = tableNames(pipeline);
  const named = of.map((column) => `${quoteText(`${column}=`)} || ${quoteName(column)}::VARCHAR`);
  await engine.run(
    `INSERT INTO ${refused} SELECT fetch_id, _item, ${quoteName(pipeline.day)}, 'refused', coalesce(reason, ''), concat_ws(' ', ${named.join(', ')})
     FROM ${told} WHERE _reject IS NULL AND ${refusedWhen}`,
  );
}

/** The slices of a pipeline that change, written out. */
async function slicesOf(engine: Engine, one: Observed, input: ObserveInput): Promise<ObservedSlice[]> {
  const { pipeline } = one.told;
  const names = tableNames(pipeline);
  const day = quoteName(OBSERVED_ON);
  const found = await engine.rows(
    `SELECT DISTINCT ${day}::VARCHAR AS day FROM ${names.told} WHERE _item IN (SELECT _item FROM ${names.fresh} WHERE _new) AND _reject IS NULL
     UNION SELECT DISTINCT slice_day::VARCHAR FROM ${names.refused}`,
  );
  const days = found.map((row) => String(row.day) as Day).sort();
  if (days.length === 0) return [];
  await gatherRows(engine, one, days);
  const contents = (await contentsOf(engine, pipeline, days, input)).filter(
    (content) => one.held.digest(content.day) !== content.digest,
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
async function gatherRows(engine: Engine, { told: { pipeline }, held }: Observed, days: readonly Day[]): Promise<void> {
  const names = tableNames(pipeline);
  const columns = storedColumns(pipeline)
    .map((c) => quoteName(c.column))
    .join(', ');
  const slices = days.map((day) => held.slice(day));
  const files = slices.flatMap(({ file }) => file ?? []);
  const before = files.length
    ? `UNION ALL SELECT ${columns}, -1 AS _item FROM read_parquet(${quoteList(files)}, union_by_name = true)`
    : '';
  await engine.run(
    `CREATE OR REPLACE VIEW ${names.rows} AS SELECT *, ${rowHashSql(pipeline)} AS _hash, NULL AS _reject, false AS _duplicate FROM (
       SELECT ${columns}, _item FROM ${names.told} WHERE _reject IS NULL AND _item IN (SELECT _item FROM ${names.fresh} WHERE _new) ${before})`,
  );
  const rejectFiles = slices.flatMap(({ rejectsFile }) => rejectsFile ?? []);
  if (rejectFiles.length > 0)
    await engine.run(
      `INSERT INTO ${names.refused} SELECT fetch_id, item, slice_day, reason, detail, raw FROM read_parquet(${quoteList(rejectFiles)})`,
    );
}

async function contentsOf(
  engine: Engine,
  pipeline: Pipeline,
  days: readonly Day[],
  input: ObserveInput,
): Promise<SliceContent[]> {
  const names = tableNames(pipeline);
  const day = quoteName(OBSERVED_ON);
  const rows = await engine.rows(
    `SELECT ${day}::VARCHAR AS _day, max(fetch_id) AS _fetch, strftime(max(${quoteName(OBSERVED_FROM)}), '%Y-%m-%dT%H:%M:%S.%gZ') AS _at,
       ${contentColumnsSql(pipeline)} FROM ${names.rows} GROUP BY ${day}`,
  );
  const byDay = new Map(rows.map((row) => [String(row._day), row]));
  const rejects = await rejectHashes(engine, names.refused);
  return days.map((name) => contentOn(pipeline, name, byDay.get(name), rejects.get(name) ?? NO_HASHES, input));
}

function contentOn(
  pipeline: Pipeline,
  day: Day,
  row: Row | undefined,
  rejects: HashSums,
  { fetchId, atMs }: ObserveInput,
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
