/** A slice as a Parquet file: zstd, sorted, field ids from the declaration, and in its metadata who made it from what. */
import path from 'node:path';
import type { Day } from '../core/days.ts';
import { assert } from '../core/errors.ts';
import { FETCH_COLUMN, type Pipeline, storedColumns } from '../core/pipeline.ts';
import type { SliceContent } from '../core/records.ts';
import { type Engine, quoteName, quoteText } from '../engine/duckdb.ts';

/** Raised when the layout of the files changes in a way that readers must know of. */
const LAYOUT = '1';

/**
 * Rows in a row group. Its writer holds one until it is whole: with 122,880, which is DuckDB's own, two files of wide rows take
 * some 200 MB more and no less time.
 */
const ROW_GROUP_ROWS = 61_440;

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
  return `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, FIELD_IDS {${ids.join(', ')}}, KV_METADATA {${pairs.join(', ')}}`;
}

interface SliceInput {
  readonly pipeline: Pipeline;
  readonly outDir: string;
  /** The fetch that all rows come from; null where each row names its own. */
  readonly fetchId: string | null;
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
  if (contents.length < 2) await work(engine);
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
  const columns = storedColumns(pipeline).map((c) =>
    c.column === FETCH_COLUMN && input.fetchId !== null
      ? `${quoteText(input.fetchId)} AS ${quoteName(FETCH_COLUMN)}`
      : quoteName(c.column),
  );
  const order = isSorted ? '' : `ORDER BY ${[...pipeline.sort.map(quoteName), '_item'].join(', ')}`;
  const written = await engine.run(
    `COPY (SELECT ${columns.join(', ')} FROM ${typed}
       WHERE ${quoteName(pipeline.day)} = DATE ${quoteText(content.day)} AND _reject IS NULL AND NOT _duplicate ${order})
     TO ${quoteText(file)} (${parquetOptions(pipeline, content)}, PRESERVE_ORDER true)`,
  );
  assert(written === content.rows, `${file}: ${content.rows} rows were counted, ${written} written`);
  return file;
}
