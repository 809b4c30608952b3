/**
 * Lines → typed Parquet, one file a slice, and everything that could not be loaded set aside with its reason.
 *
 * In:  the splitter's lines of one answer (proved sound JSON, every value as text), what the splitter rejected, the raw answer.
 * Out: per day of the window the content (digest, control sums, …) and, where the caller does not have that content yet,
 *      the files that hold it. A day without rows is a slice too: it says that the day is empty now.
 *
 * Counts are proved before anything is handed on: items = rows + rejects + exact duplicates.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { type Day, type DayRange, daysOf } from '../core/days.ts';
import { assert } from '../core/errors.ts';
import type { Pipeline } from '../core/pipeline.ts';
import type { DriftRecord, SliceContent } from '../core/records.ts';
import { contentColumnsSql, contentOf, digestOf, hashSumsOf, NO_HASHES } from '../engine/content.ts';
import { type Engine, quoteName, quoteText } from '../engine/duckdb.ts';
import { markDuplicates } from './duplicates.ts';
import { writeSlice } from './parquet.ts';
import { collectRejects, type RawSource, rejectHashes, writeRejects } from './rejects.ts';
import { lineColumns, typedSelect } from './typing.ts';

export interface NormaliseInput {
  readonly pipeline: Pipeline;
  readonly range: DayRange;
  /** Newline-delimited lines of the splitter. */
  readonly linesFile: string;
  readonly lines: number;
  readonly longestLineBytes: number;
  /** Newline-delimited JSON of the splitter's rejects. */
  readonly splitRejectsFile: string;
  readonly splitRejects: number;
  readonly fetchId: string;
  readonly fetchedAt: string;
  /** The decoded answer again, from its first byte, to cut the raw text of rejects out of. */
  readonly rawAnswer: RawSource;
  readonly timeZone: string;
  /** Empty folder for the files made here. */
  readonly outDir: string;
  /** Days to make slices of: those of the range, or fewer in a replay. */
  readonly days?: readonly Day[];
  /** Whether the caller has this content already, so that no file is needed. */
  readonly isKnown: (day: Day, digest: string) => boolean;
}

export interface NormalisedSlice {
  readonly content: SliceContent;
  /** Absolute path, null when the slice has no rows or its content is known already. */
  readonly file: string | null;
  readonly rejectsFile: string | null;
  readonly isKnown: boolean;
}

export interface Normalised {
  readonly slices: readonly NormalisedSlice[];
  readonly drift: readonly DriftRecord[];
  readonly rows: number;
  readonly rejects: number;
  readonly duplicates: number;
}

/** Above this many bytes of lines the typed rows go to a scratch file, compressed, instead of memory. */
const IN_MEMORY_BYTES = 48 * 1024 * 1024;

export async function normalise(engine: Engine, input: NormaliseInput, lineBytes: number): Promise<Normalised> {
  await mkdir(input.outDir, { recursive: true });
  const scratch = lineBytes > IN_MEMORY_BYTES ? path.join(input.outDir, 'scratch.duckdb') : null;
  if (scratch) await engine.run(`ATTACH ${quoteText(scratch)} AS scratch`);
  const schema = scratch ? 'scratch.main' : 'memory.main';
  try {
    return await normaliseInto(engine, input, schema);
  } finally {
    for (const table of ['typed', 'rejected']) await engine.run(`DROP TABLE IF EXISTS ${schema}.${table}`);
    if (scratch) await engine.run('DETACH scratch');
  }
}

async function normaliseInto(engine: Engine, input: NormaliseInput, schema: string): Promise<Normalised> {
  const { pipeline, range } = input;
  const typed = `${schema}.typed`;
  const rejected = `${schema}.rejected`;
  await readLines(engine, input, typed);
  await markDuplicates(engine, pipeline, typed);
  await collectRejects(engine, input, typed, rejected);

  const drift = await driftOf(engine, input, typed);
  const contents = await contentsOf(engine, input, typed, rejected);
  const days = input.days ?? daysOf(range);
  const slices: NormalisedSlice[] = [];
  const wanted = days.map((day) => {
    const content = contents.get(day) ?? emptyContent(input, day);
    return { content, isKnown: input.isKnown(day, content.digest) };
  });
  const rejectFiles = await writeRejects(
    engine,
    input,
    rejected,
    wanted.filter((w) => !w.isKnown && w.content.rejects > 0).map((w) => w.content),
  );
  for (const { content, isKnown } of wanted) {
    const file = isKnown || content.rows === 0 ? null : await writeSlice(engine, input, typed, content);
    slices.push({ content, file, rejectsFile: rejectFiles.get(content.day) ?? null, isKnown });
  }
  const all = [...contents.values()];
  const total = (of: (c: SliceContent) => number) => all.reduce((sum, c) => sum + of(c), 0);
  const [rows, rejects, duplicates] = [total((c) => c.rows), total((c) => c.rejects), total((c) => c.duplicates)];
  const items = input.lines + input.splitRejects;
  assert(
    rows + rejects + duplicates === items,
    `${pipeline.name} ${range.from}..${range.to}: ${items} items, but ${rows} rows + ${rejects} rejects + ${duplicates} duplicates`,
  );
  return { slices, drift, rows, rejects, duplicates };
}

async function readLines(engine: Engine, input: NormaliseInput, typed: string): Promise<void> {
  // maximum_object_size is allocated twice by each thread, hence what is needed and no more.
  const size = Math.max(input.longestLineBytes + 1024, 64 * 1024);
  const source = `read_json(${quoteText(input.linesFile)}, format = 'newline_delimited', records = true, compression = 'uncompressed',
    maximum_object_size = ${size}, columns = ${lineColumns(input.pipeline)})`;
  const select = typedSelect(input.pipeline, source, input.range, input.timeZone);
  const marks = 'false AS _duplicate';
  if (input.lines === 0) await engine.run(`CREATE TABLE ${typed} AS SELECT *, ${marks} FROM (${select}) LIMIT 0`);
  else await engine.run(`CREATE TABLE ${typed} AS SELECT *, ${marks} FROM (${select})`);
  const read = Number((await engine.row(`SELECT count(*) AS n FROM ${typed}`)).n);
  assert(read === input.lines, `${input.linesFile}: ${input.lines} lines were written, ${read} read`);
}

/** The content of every day that has rows, rejects or duplicates. */
async function contentsOf(
  engine: Engine,
  input: NormaliseInput,
  typed: string,
  rejected: string,
): Promise<Map<Day, SliceContent>> {
  const { pipeline } = input;
  const day = quoteName(pipeline.day);
  const rows = await engine.rows(
    `SELECT ${day}::VARCHAR AS _day, ${contentColumnsSql(pipeline)} FROM ${typed} WHERE _reject IS NULL AND NOT _duplicate GROUP BY ${day}`,
  );
  const doubled = await engine.rows(
    `SELECT ${day}::VARCHAR AS _day, count(*) AS n FROM ${typed} WHERE _duplicate GROUP BY ${day}`,
  );
  const duplicates = new Map(doubled.map((row) => [String(row._day), Number(row.n)]));
  const rejects = await rejectHashes(engine, rejected);
  const byDay = new Map(rows.map((row) => [String(row._day), row]));
  const contents = new Map<Day, SliceContent>();
  for (const name of new Set([...byDay.keys(), ...duplicates.keys(), ...rejects.keys()])) {
    const row = byDay.get(name);
    const refused = rejects.get(name) ?? NO_HASHES;
    const content: SliceContent = {
      ...(row ? contentOf(row) : emptyContent(input, name as Day)),
      day: name as Day,
      digest: digestOf(pipeline, row ? hashSumsOf(row, '_rows') : NO_HASHES, refused),
      rejects: refused.count,
      duplicates: duplicates.get(name) ?? 0,
      version: pipeline.version,
      fetch_id: input.fetchId,
      fetched_at: input.fetchedAt,
    };
    contents.set(name as Day, content);
  }
  return contents;
}

/** A day that the service has nothing to say about. */
function emptyContent(input: NormaliseInput, day: Day): SliceContent {
  const { pipeline } = input;
  return {
    day,
    digest: digestOf(pipeline, NO_HASHES, NO_HASHES),
    rows: 0,
    rejects: 0,
    duplicates: 0,
    sums: {},
    settled: true,
    version: pipeline.version,
    fetch_id: input.fetchId,
    fetched_at: input.fetchedAt,
    key_min: null,
    key_max: null,
  };
}

/** What SQL mended or did not understand, counted by kind and field, with an example. */
async function driftOf(engine: Engine, input: NormaliseInput, typed: string): Promise<DriftRecord[]> {
  const rows = await engine.rows(
    `SELECT name, count(*) AS n, min(_item) AS example FROM (
       SELECT unnest(string_split(rtrim(_drift, ','), ',')) AS name, _item FROM ${typed} WHERE _drift <> '')
     GROUP BY name ORDER BY name`,
  );
  const records: DriftRecord[] = [];
  for (const row of rows) {
    const [kind = '', field = ''] = String(row.name).split(':');
    const value = await engine.row(
      `SELECT ${quoteName(field)}::VARCHAR AS v FROM ${typed} WHERE _item = ${row.example}`,
    );
    const example = String(value.v ?? '').slice(0, 100);
    records.push({
      pipeline: input.pipeline.name,
      fetch_id: input.fetchId,
      kind,
      field,
      count: Number(row.n),
      example,
    });
  }
  return records;
}
