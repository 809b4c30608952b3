/** A slice as a Parquet file: zstd, sorted, field ids from the declaration, and in its metadata who made it from what. */
import path from 'node:path';
import { DUCKDB_TYPE } from '../core/columns.ts';
import type { Day } from '../core/days.ts';
import { assert } from '../core/errors.ts';
import { FETCH_COLUMN, isStamped, type Pipeline, storedColumns, VALID_FROM } from '../core/pipeline.ts';
import type { SliceContent } from '../core/records.ts';
import { rowHashSql } from '../engine/content.ts';
import { type Engine, quoteName, quoteText, readParquet } from '../engine/duckdb.ts';

/** Raised when the layout of the files changes in a way that readers must know of. */
const LAYOUT = '1';

/**
 * Rows in a row group. Its writer holds one until it is whole: with 122,880, which is DuckDB's own, two files of wide rows take
 * some 200 MB more and no less time.
 */
const ROW_GROUP_ROWS = 61_440;

/** Rows of a row group of the intermediate file of typed rows: what DuckDB holds in memory for each thread. */
export const TYPED_GROUP_ROWS = 40_000;

/**
 * Values of a column in a row group up to which its writer makes a dictionary. Ids, times and titles have more, and finding that out at
 * DuckDB's own limit, a fifth of the rows, costs a fifth of the writing and saves nothing.
 */
export const DICTIONARY = 'DICTIONARY_SIZE_LIMIT 2000';

/** COPY options of a slice's file. */
export function parquetOptions(pipeline: Pipeline, content: SliceContent): string {
  const ids = storedColumns(pipeline).map((c) => `${quoteName(c.column)}: ${c.id}`);
  const metadata = {
    'partner_etl.layout': LAYOUT,
    'partner_etl.pipeline': pipeline.name,
    'partner_etl.version': String(pipeline.version),
    'partner_etl.day': content.day,
    'partner_etl.digest': content.digest,
    'partner_etl.fetch_id': content.fetch_id,
    'partner_etl.fetched_at': content.fetched_at,
    'partner_etl.duplicates': String(content.duplicates),
  };
  const pairs = Object.entries(metadata).map(([name, value]) => `${quoteName(name)}: ${quoteText(value)}`);
  return `FORMAT parquet, COMPRESSION zstd, ${DICTIONARY}, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, FIELD_IDS {${ids.join(', ')}}, KV_METADATA {${pairs.join(', ')}}`;
}

interface SliceInput {
  readonly pipeline: Pipeline;
  readonly outDir: string;
  /** The fetch that all rows come from; null where each row names its own. */
  readonly fetchId: string | null;
  /** ISO 8601 UTC, when that answer came. Needed where the history of the rows is kept. */
  readonly fetchedAt?: string;
  /** See NormaliseInput. */
  readonly current?: (day: Day) => string | null;
}

/**
 * One file for each of the given contents, by day. Two at a time, by one thread each: several threads on one file, whose order is
 * to be kept, hold what is out of turn (30 days of 330,000 rows: 650 to 750 MB at most instead of 350 to 480, and no quicker).
 * `isSorted`: the rows of `typed` stand in the files' order already.
 */
export async function writeSlices(
  engine: Engine,
  input: SliceInput,
  typed: string,
  contents: readonly SliceContent[],
  isSorted: boolean,
): Promise<Map<Day, string>> {
  const files = new Map<Day, string>();
  const waiting = [...contents];
  const work = async (own: Engine) => {
    for (let content = waiting.shift(); content; content = waiting.shift())
      files.set(content.day, await writeSlice(own, input, typed, content, isSorted));
  };
  // All threads where one file is most of the work (a reductions file the day after: 0.35 s instead of 0.7).
  const rows = contents.map((content) => content.rows);
  const isMostlyOne = Math.max(0, ...rows) * 2 > rows.reduce((sum, n) => sum + n, 0);
  if (contents.length < 2 || isMostlyOne) await work(engine);
  else
    await engine.withThreads(1, async () => {
      const second = await engine.beside();
      try {
        const ended = await Promise.allSettled([work(engine), work(second)]);
        for (const end of ended) if (end.status === 'rejected') throw end.reason;
      } finally {
        second.close();
      }
    });
  return files;
}

async function writeSlice(
  engine: Engine,
  input: SliceInput,
  typed: string,
  content: SliceContent,
  isSorted: boolean,
): Promise<string> {
  const { pipeline } = input;
  const file = path.join(input.outDir, `${pipeline.name}.${content.day}.parquet`);
  const current = input.current?.(content.day) ?? null;
  const columns = storedColumns(pipeline).map(({ column }) => columnSql(input, column, current !== null));
  const isInOrder = isSorted && current === null;
  const order = isInOrder
    ? ''
    : `ORDER BY ${[...pipeline.sort, '_item'].map((name) => `seen.${quoteName(name)}`).join(', ')}`;
  const written = await engine.run(
    `COPY (SELECT ${columns.join(', ')} FROM ${typed} AS seen ${current === null ? '' : besideCurrent(pipeline, current)}
       WHERE seen.${quoteName(pipeline.day)} = DATE ${quoteText(content.day)} AND seen._reject IS NULL AND NOT seen._duplicate ${order})
     TO ${quoteText(file)} (${parquetOptions(pipeline, content)}, PRESERVE_ORDER true)`,
  );
  assert(written === content.rows, `${file}: ${content.rows} rows were counted, ${written} written`);
  return file;
}

function columnSql({ pipeline, fetchId, fetchedAt }: SliceInput, column: string, hasCurrent: boolean): string {
  const name = quoteName(column);
  if (column === VALID_FROM && isStamped(pipeline)) {
    const now = `TIMESTAMPTZ ${quoteText(fetchedAt ?? '')}`;
    // A row that begins at this instant or after it is only read anew: by another version of the program, or under a clock set back.
    return `${hasCurrent ? `CASE WHEN ${IS_SAME} OR kept.${name} >= ${now} THEN kept.${name} ELSE ${now} END` : now} AS ${name}`;
  }
  if (column !== FETCH_COLUMN || fetchId === null) return `seen.${name}`;
  return `${hasCurrent ? `CASE WHEN ${IS_SAME} THEN kept.${name} ELSE ${quoteText(fetchId)} END` : quoteText(fetchId)} AS ${name}`;
}

const IS_SAME = 'kept._hash = seen._hash';

/** A join that gives each row what the slice held of its key until now. */
function besideCurrent(pipeline: Pipeline, current: string): string {
  const key = (pipeline.key ?? []).map(quoteName);
  const same = key.map((name) => `kept.${name} = seen.${name}`).join(' AND ');
  return `LEFT JOIN (SELECT ${key.join(', ')}, ${FETCH_COLUMN}, ${VALID_FROM}, ${rowHashSql(pipeline)} AS _hash
    FROM ${storedRows(pipeline, [current])}) AS kept ON ${same}`;
}

/** The rows of files as a relation with the stored columns; those of another version of the declaration may lack some, or have other types. */
export function storedRows(pipeline: Pipeline, files: readonly string[]): string {
  return typedRows(pipeline, [`SELECT * FROM ${readParquet(files, ['union_by_name = true'])}`]);
}

/** The same of relations that have some of the columns. */
export function typedRows(pipeline: Pipeline, selects: readonly string[]): string {
  const columns = storedColumns(pipeline);
  const nulls = columns.map(({ column, kind }) => `NULL::${DUCKDB_TYPE[kind]} AS ${quoteName(column)}`);
  const parts = [`SELECT ${nulls.join(', ')} WHERE false`, ...selects];
  const typed = columns.map(
    ({ column, kind }) => `TRY_CAST(${quoteName(column)} AS ${DUCKDB_TYPE[kind]}) AS ${quoteName(column)}`,
  );
  return `(SELECT ${typed.join(', ')} FROM (${parts.join(' UNION ALL BY NAME ')}))`;
}
