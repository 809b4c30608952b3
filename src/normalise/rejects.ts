/**
 * Rejects: which slice they belong to, and their raw text, cut out of the answer by offset and length.
 *
 * A reject belongs to its own day where that lies in the window, else to the window's first day: it has to hang on a slice
 * that this answer replaces, or it could never be replaced itself.
 *
 * They never stand in a table and are never sorted as a whole: they are asked for page by page, written beside their raw texts in one pass
 * over the answer, and lie in a file from then on. So an answer of nothing but rejects takes no more memory than one of rows (3,000,000 of
 * the smallest: 408 MiB; as a table whose raw texts were added by UPDATE 1,214).
 */

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import path from 'node:path';
import type { Day, DayRange } from '../core/days.ts';
import { assert } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import type { Pipeline } from '../core/pipeline.ts';
import type { SliceContent } from '../core/records.ts';
import { type HashSums, hashSumsOf, hashSumsSql, rejectHashSql } from '../engine/content.ts';
import { type Engine, quoteFile, quoteName, quoteText, readParquet } from '../engine/duckdb.ts';
import { TYPED_GROUP_ROWS } from './parquet.ts';
import { UNIT } from './typing.ts';

/** Opens the decoded answer from its first byte. */
export type RawSource = () => AsyncIterable<Uint8Array>;

interface RejectInput {
  readonly pipeline: Pipeline;
  readonly range: DayRange;
  readonly splitRejectsFile: string;
  readonly splitRejects: number;
  readonly rawAnswer: RawSource;
  readonly outDir: string;
}

/** Makes view `rejected` of what the splitter and the typing refused, each with its raw text, in the order of the answer. */
export async function collectRejects(
  engine: Engine,
  input: RejectInput,
  typed: string,
  rejected: string,
): Promise<void> {
  const refused = await refusedRows(engine, input, typed);
  const pages = await engine.rows(
    `SELECT _item // ${PAGE_ITEMS} AS page, count(*) AS n FROM ${refused} GROUP BY page ORDER BY page`,
  );
  const count = pages.reduce((sum, { n }) => sum + Number(n), 0);
  let select = NO_REJECTS;
  if (count > 0) {
    const inOrder = inPages(
      engine,
      refused,
      pages.map(({ page }) => Number(page)),
    );
    const lines = await writeLines(inOrder, input);
    assert(lines.count === count, `${count} rejects, but the raw text of ${lines.count} was found in the answer`);
    select = `* FROM ${await linesInParquet(engine, lines)}`;
  }
  await engine.run(`CREATE OR REPLACE VIEW ${rejected} AS SELECT ${select}`);
}

/** Number and hashes of the rejects of each day. */
export async function rejectHashes(engine: Engine, rejected: string): Promise<Map<string, HashSums>> {
  const rows = await engine.rows(
    `SELECT slice_day::VARCHAR AS _day, count(*) AS _rows, ${hashSumsSql('h')} FROM (
       SELECT slice_day, ${rejectHashSql()} AS h FROM ${rejected}) GROUP BY slice_day`,
  );
  return new Map(rows.map((row) => [String(row._day), hashSumsOf(row, '_rows')]));
}

/** Where rejects are written to, and the fetch that all of them come from; null where each names its own. */
interface RejectOutput {
  readonly pipeline: Pipeline;
  readonly outDir: string;
  readonly fetchId: string | null;
}

/** One Parquet file for each of the given slices, with the columns of RejectRecord. */
export async function writeRejects(
  engine: Engine,
  input: RejectOutput,
  rejected: string,
  contents: readonly SliceContent[],
): Promise<Map<Day, string>> {
  const files = new Map<Day, string>();
  if (contents.length === 0) return files;
  const { longest } = await engine.row(`SELECT coalesce(max(strlen(raw)), 0) AS longest FROM ${rejected}`);
  // Those of one fetch stand in its order already: sorting three million took 140 MiB.
  const order = input.fetchId === null ? 'ORDER BY fetch_id, _item' : '';
  for (const content of contents) {
    const file = path.join(input.outDir, `${input.pipeline.name}.${content.day}.rejects.parquet`);
    const fetchId = input.fetchId === null ? '' : `${quoteText(input.fetchId)} AS `;
    const written = await inTurn(
      engine,
      `COPY (SELECT ${quoteText(input.pipeline.name)} AS pipeline, slice_day, ${fetchId}fetch_id, _item AS item, reason, detail, raw
         FROM ${rejected} WHERE slice_day = DATE ${quoteText(content.day)} ${order}) TO ${quoteText(file)}
         (FORMAT parquet, COMPRESSION zstd, ${groupsOf(Number(longest))}, PRESERVE_ORDER true)`,
    );
    assert(written === content.rejects, `${file}: ${content.rejects} rejects were counted, ${written} written`);
    files.set(content.day, file);
  }
  return files;
}

const NO_REJECTS =
  'NULL::BIGINT AS _item, NULL::DATE AS slice_day, NULL::VARCHAR AS reason, NULL::VARCHAR AS detail, NULL::VARCHAR AS raw WHERE false';

/** Items of the answer whose rejects are asked for at once: as many as a group of the files has, so that each is read once. */
const PAGE_ITEMS = TYPED_GROUP_ROWS;

/** A relation of all that was refused, without raw texts. */
async function refusedRows(engine: Engine, input: RejectInput, typed: string): Promise<string> {
  const { pipeline, range, outDir, splitRejects, splitRejectsFile } = input;
  const first = `DATE ${quoteText(range.from)}`;
  const day = quoteName(pipeline.day);
  const inWindow = `${day} BETWEEN ${first} AND DATE ${quoteText(range.to)}`;
  const byTyping = `SELECT _item, _offset, _length, CASE WHEN ${inWindow} THEN ${day} ELSE ${first} END AS day,
    split_part(_reject, ${UNIT}, 1) AS reason, split_part(_reject, ${UNIT}, 2) AS detail FROM ${typed} WHERE _reject IS NOT NULL`;
  if (splitRejects === 0) return `(${byTyping})`;
  const file = path.join(outDir, 'split-rejects.parquet');
  await inTurn(
    engine,
    `COPY (SELECT item AS _item, "offset" AS _offset, "length" AS _length, reason, detail
       FROM read_json(${quoteFile(splitRejectsFile)}, format = 'newline_delimited', records = true, compression = 'uncompressed',
         columns = {item: 'BIGINT', "offset": 'BIGINT', "length": 'BIGINT', reason: 'VARCHAR', detail: 'VARCHAR'}))
     TO ${quoteText(file)} (FORMAT parquet, COMPRESSION lz4, ROW_GROUP_SIZE ${PAGE_ITEMS}, PRESERVE_ORDER true)`,
  );
  return `(${byTyping} UNION ALL SELECT _item, _offset, _length, ${first}, reason, detail FROM ${readParquet([file])})`;
}

/** Item, offset, length, day, reason, detail. */
type Refused = readonly [number, number, number, string, string, string];

/** The rows of those pages in the order of the answer. Nothing else may be asked of the engine meanwhile. */
async function* inPages(engine: Engine, refused: string, pages: readonly number[]): AsyncGenerator<Refused, undefined> {
  for (const page of pages) {
    const result = await engine.connection.stream(
      `SELECT _item::DOUBLE, _offset::DOUBLE, _length::DOUBLE, day::VARCHAR, reason, detail FROM ${refused}
       WHERE _item >= ${page * PAGE_ITEMS} AND _item < ${(page + 1) * PAGE_ITEMS} ORDER BY _item`,
    );
    for (let chunk = await result.fetchChunk(); chunk !== null && chunk.rowCount > 0; chunk = await result.fetchChunk())
      yield* chunk.getRows() as unknown as Refused[];
  }
  return undefined;
}

/** Lines {"item":n,"day":"…","reason":"…","detail":"…","raw":"…"} in the order of the answer. */
interface RejectLines {
  readonly file: string;
  readonly count: number;
  readonly longestBytes: number;
}

/** Reads the answer once. */
async function writeLines(refused: AsyncGenerator<Refused, undefined>, input: RejectInput): Promise<RejectLines> {
  const file = path.join(input.outDir, 'rejected.ndjson');
  const out = createWriteStream(file, { highWaterMark: WRITE_BYTES });
  let [count, longestBytes, position] = [0, 0, 0];
  let next = (await refused.next()).value;
  let held: Uint8Array[] = [];
  for await (const chunk of input.rawAnswer()) {
    const end = position + chunk.length;
    while (next) {
      const [item, offset, length, day, reason, detail] = next;
      const stop = offset + Math.min(length, LIMITS.rejectRawBytes);
      if (offset < end)
        held.push(chunk.subarray(Math.max(0, offset - position), Math.min(chunk.length, stop - position)));
      if (stop > end || offset >= end) break;
      const raw = printable(held.length === 1 ? held[0]! : Buffer.concat(held));
      const line = Buffer.from(`${JSON.stringify({ item, day, reason, detail, raw })}\n`);
      if (!out.write(line)) await once(out, 'drain');
      count += 1;
      longestBytes = Math.max(longestBytes, line.length);
      held = [];
      next = (await refused.next()).value;
    }
    // A chunk may be reused by whoever sent it, so what is carried over the border is copied.
    held = held.map((part) => part.slice());
    position = end;
  }
  out.end();
  await once(out, 'finish');
  return { file, count, longestBytes };
}

const WRITE_BYTES = 256 * 1024;

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Raw bytes as text that both warehouses can hold: what is no UTF-8, and NUL, become U+FFFD. */
function printable(bytes: Uint8Array): string {
  return utf8.decode(bytes).replaceAll('\u0000', '\ufffd');
}

/** A relation of the lines, in their order. */
async function linesInParquet(engine: Engine, { file, count, longestBytes }: RejectLines): Promise<string> {
  const parquet = `${file}.parquet`;
  const read = await inTurn(
    engine,
    `COPY (SELECT item AS _item, day AS slice_day, reason, detail, raw FROM read_json(${quoteFile(file)}, format = 'newline_delimited',
       records = true, compression = 'uncompressed', maximum_object_size = ${Math.max(longestBytes + 1024, 64 * 1024)},
       columns = {item: 'BIGINT', day: 'DATE', reason: 'VARCHAR', detail: 'VARCHAR', raw: 'VARCHAR'}))
     TO ${quoteText(parquet)} (FORMAT parquet, COMPRESSION lz4, ${groupsOf(longestBytes)}, PRESERVE_ORDER true)`,
  );
  assert(read === count, `${file}: ${count} rejects were written, ${read} read`);
  return readParquet([parquet]);
}

/** By one thread: several hold what is out of turn, where an order is to be kept, and are no quicker (520 MiB instead of 250). */
function inTurn(engine: Engine, copy: string): Promise<number> {
  return engine.withThreads(1, () => engine.run(copy));
}

/** COPY option: how many rows of up to so many bytes a group has, which its writer holds in memory until it is whole. */
function groupsOf(longestBytes: number): string {
  const rows = Math.floor(GROUP_BYTES / Math.max(longestBytes, 1));
  return `ROW_GROUP_SIZE ${Math.min(MOST_GROUP_ROWS, Math.max(LEAST_GROUP_ROWS, rows))}`;
}

const GROUP_BYTES = 32 * 1024 * 1024;
const MOST_GROUP_ROWS = 61_440;
/** DuckDB writes no smaller ones. */
const LEAST_GROUP_ROWS = 2048;
