/**
 * Lines → typed Parquet, one file a slice, and everything that could not be loaded set aside with its reason.
 *
 * In:  the splitter's lines of one answer (proved sound JSON, every value as text), what the splitter rejected, the raw answer.
 * Out: per day of the window the content (digest, control sums, …) and, where the caller does not have that content yet,
 *      the files that hold it. A day without rows is a slice too: it says that the day is empty now.
 *
 * Counts are proved before anything is handed on: items = rows + rejects + exact duplicates.
 */
import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { type Day, type DayRange, daysOf } from '../core/days.ts';
import { assert } from '../core/errors.ts';
import type { Pipeline } from '../core/pipeline.ts';
import type { DriftRecord, SliceContent } from '../core/records.ts';
import { contentColumnsSql, contentOf, digestOf, emptySlice, hashSumsOf, NO_HASHES } from '../engine/content.ts';
import { type Engine, quoteFile, quoteName, quoteText, readParquet } from '../engine/duckdb.ts';
import { driftOf } from './drift.ts';
import { judgedRows, VERDICT } from './duplicates.ts';
import { DICTIONARY, TYPED_GROUP_ROWS, writeSlices } from './parquet.ts';
import { collectRejects, type RawSource, rejectHashes, writeRejects } from './rejects.ts';
import { lineColumns, typedSelect } from './typing.ts';

export interface NormaliseInput {
  readonly pipeline: Pipeline;
  readonly range: DayRange;
  /** Newline-delimited lines of the splitter. */
  readonly linesFile: string;
  readonly lines: number;
  readonly longestLineBytes: number;
  /** Whether a number of the lines may have an exponent. */
  readonly hasExponents: boolean;
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
  /** Of rows whose history is kept: what the day holds until now, null for nothing. A row that is as it was stays with its fetch and instant. */
  readonly current?: (day: Day) => string | null;
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

/** The typed rows of an answer lie in a view of this name while it is normalised, its rejects in another. */
const TYPED = 'typed';
const REJECTED = 'rejected';

export async function normalise(engine: Engine, input: NormaliseInput): Promise<Normalised> {
  await mkdir(input.outDir, { recursive: true });
  try {
    return await normaliseRows(engine, input);
  } finally {
    for (const view of [REJECTED, TYPED]) await engine.run(`DROP VIEW IF EXISTS ${view}`);
    await engine.run(`DROP TABLE IF EXISTS ${VERDICT}`);
  }
}

async function normaliseRows(engine: Engine, input: NormaliseInput): Promise<Normalised> {
  const { pipeline, range } = input;
  const read = await readLines(engine, input);
  const judged = await judgedRows(engine, pipeline, read);
  const rows = judged ?? `(SELECT *, false AS _duplicate FROM ${read})`;
  await engine.run(`CREATE OR REPLACE VIEW ${TYPED} AS SELECT * FROM ${rows}`);
  const isSorted = judged === null && (await isSortedAlready(engine, pipeline, read));
  await collectRejects(engine, input, TYPED, REJECTED);

  const drift = await driftOf(engine, pipeline, input.fetchId, TYPED);
  const contents = await contentsOf(engine, input, TYPED, REJECTED);
  const days = input.days ?? daysOf(range);
  const slices: NormalisedSlice[] = [];
  const wanted = days.map((day) => {
    const content = contents.get(day) ?? emptyContent(input, day);
    return { content, isKnown: input.isKnown(day, content.digest) };
  });
  const rejectFiles = await writeRejects(
    engine,
    input,
    REJECTED,
    wanted.filter((w) => !w.isKnown && w.content.rejects > 0).map((w) => w.content),
  );
  const needed = wanted.filter((w) => !w.isKnown && w.content.rows > 0).map((w) => w.content);
  const files = await writeSlices(engine, input, TYPED, needed, isSorted);
  for (const { content, isKnown } of wanted) {
    const { day } = content;
    slices.push({ content, file: files.get(day) ?? null, rejectsFile: rejectFiles.get(day) ?? null, isKnown });
  }
  const all = [...contents.values()];
  const total = (of: (c: SliceContent) => number) => all.reduce((sum, c) => sum + of(c), 0);
  const [loaded, rejects, duplicates] = [total((c) => c.rows), total((c) => c.rejects), total((c) => c.duplicates)];
  const items = input.lines + input.splitRejects;
  assert(
    loaded + rejects + duplicates === items,
    `${pipeline.name} ${range.from}..${range.to}: ${items} items, but ${loaded} rows + ${rejects} rejects + ${duplicates} duplicates`,
  );
  return { slices, drift, rows: loaded, rejects, duplicates };
}

/**
 * Types the lines into a Parquet file of their own, in the order of the answer; returns a relation of its rows. A file,
 * because DuckDB streams into it: a table would be held in memory or compressed a second time (1,000,000 rows: 6 s of
 * CPU against 10 s).
 */
async function readLines(engine: Engine, input: NormaliseInput): Promise<string> {
  const { pipeline } = input;
  const file = path.join(input.outDir, 'typed.parquet');
  // maximum_object_size is allocated twice by each thread, hence what is needed and no more.
  const size = Math.max(input.longestLineBytes + 1024, 64 * 1024);
  const source = `read_json(${quoteFile(input.linesFile)}, format = 'newline_delimited', records = true, compression = 'uncompressed',
    maximum_object_size = ${size}, columns = ${lineColumns(pipeline)})`;
  const select = typedSelect(pipeline, source, input.range, input.timeZone, input);
  const options = `FORMAT parquet, COMPRESSION lz4, ${DICTIONARY}, ROW_GROUP_SIZE ${TYPED_GROUP_ROWS}, PRESERVE_ORDER true`;
  // Without a line there is nothing that DuckDB could read columns from.
  const rows = input.lines === 0 ? `(${select}) LIMIT 0` : `(${select})`;
  const copy = `COPY (SELECT ${HASH_STORED} FROM ${rows}) TO ${quoteText(file)} (${options})`;
  const read = (await areTiny(input)) ? await engine.withThreads(1, () => engine.run(copy)) : await engine.run(copy);
  assert(read === input.lines, `${input.linesFile}: ${input.lines} lines were written, ${read} read`);
  return `(SELECT ${HASH_READ} FROM ${readParquet([file])})`;
}

/**
 * Whether lines hold hardly more than their place. A buffer of them becomes so many wide rows that two threads, of which one waits for its
 * turn, hold all memory there is (3,000,000 items `{}`: 700 MiB and 10.9 s, by one thread 200 MiB and 10.3 s).
 */
async function areTiny({ linesFile, lines }: NormaliseInput): Promise<boolean> {
  return (await stat(linesFile)).size < lines * TINY_LINE_BYTES;
}

const TINY_LINE_BYTES = 96;

/** Parquet has no 128-bit integers (DuckDB would write them as doubles), so a row's hash is stored as two halves. */
const HASH_STORED =
  '* EXCLUDE (_hash), (_hash & 18446744073709551615::UHUGEINT)::UBIGINT AS _h1, (_hash >> 64)::UBIGINT AS _h2';
const HASH_READ = '* EXCLUDE (_h1, _h2), (_h2::UHUGEINT << 64) + _h1::UHUGEINT AS _hash';

/** Whether the rows stand day by day, and within a day in the order of the slices' files. Sorting them again costs 2 s a million. */
async function isSortedAlready(engine: Engine, pipeline: Pipeline, typed: string): Promise<boolean> {
  const keys = [pipeline.day, ...pipeline.sort].map((column) => `${quoteName(column)}`);
  const row = await engine.row(
    `SELECT coalesce(bool_and(_sorted), true) AS sorted FROM (
       SELECT (${keys.join(', ')}) >= lag((${keys.join(', ')})) OVER () AS _sorted FROM ${typed} WHERE _reject IS NULL)`,
  );
  return row.sorted === true;
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
function emptyContent({ pipeline, fetchId, fetchedAt }: NormaliseInput, day: Day): SliceContent {
  return emptySlice(pipeline, { day, fetch_id: fetchId, fetched_at: fetchedAt });
}
