/**
 * Rejects: which slice they belong to, and their raw text, cut out of the answer by offset and length.
 *
 * A reject belongs to its own day where that lies in the window, else to the window's first day: it has to hang on a slice
 * that this answer replaces, or it could never be replaced itself.
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
import { type Engine, quoteName, quoteText } from '../engine/duckdb.ts';
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
  readonly fetchId: string;
}

/** Makes table `rejected` of what the splitter and the typing refused, with raw text where there is any reject at all. */
export async function collectRejects(
  engine: Engine,
  input: RejectInput,
  typed: string,
  rejected: string,
): Promise<void> {
  const first = `DATE ${quoteText(input.range.from)}`;
  const day = quoteName(input.pipeline.day);
  const inWindow = `${day} BETWEEN ${first} AND DATE ${quoteText(input.range.to)}`;
  await engine.run(
    `CREATE TABLE ${rejected} AS SELECT _item, _offset, _length, split_part(_reject, ${UNIT}, 1) AS reason,
       split_part(_reject, ${UNIT}, 2) AS detail, CASE WHEN ${inWindow} THEN ${day} ELSE ${first} END AS slice_day, NULL::VARCHAR AS raw
     FROM ${typed} WHERE _reject IS NOT NULL`,
  );
  if (input.splitRejects > 0)
    await engine.run(
      `INSERT INTO ${rejected} SELECT item, "offset", "length", reason, detail, ${first}, NULL
       FROM read_json(${quoteText(input.splitRejectsFile)}, format = 'newline_delimited', records = true,
         columns = {item: 'BIGINT', "offset": 'BIGINT', "length": 'BIGINT', reason: 'VARCHAR', detail: 'VARCHAR'})`,
    );
  const count = Number((await engine.row(`SELECT count(*) AS n FROM ${rejected}`)).n);
  if (count > 0) await addRawTexts(engine, input, rejected, count);
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
  for (const content of contents) {
    const file = path.join(input.outDir, `${input.pipeline.name}.${content.day}.rejects.parquet`);
    const fetchId = input.fetchId === null ? '' : `${quoteText(input.fetchId)} AS `;
    const written = await engine.run(
      `COPY (SELECT ${quoteText(input.pipeline.name)} AS pipeline, slice_day, ${fetchId}fetch_id, _item AS item, reason, detail, raw
         FROM ${rejected} WHERE slice_day = DATE ${quoteText(content.day)} ORDER BY fetch_id, _item) TO ${quoteText(file)} (FORMAT parquet, COMPRESSION zstd)`,
    );
    assert(written === content.rejects, `${file}: ${content.rejects} rejects were counted, ${written} written`);
    files.set(content.day, file);
  }
  return files;
}

async function addRawTexts(engine: Engine, input: RejectInput, rejected: string, count: number): Promise<void> {
  const file = path.join(input.outDir, 'raw.ndjson');
  await cutRawTexts(engine, input, rejected, count, file);
  await engine.run(
    `UPDATE ${rejected} SET raw = cut.raw FROM read_json(${quoteText(file)}, format = 'newline_delimited', records = true,
       maximum_object_size = ${6 * LIMITS.rejectRawBytes + 1024}, columns = {item: 'BIGINT', raw: 'VARCHAR'}) AS cut WHERE _item = cut.item`,
  );
}

/** Reads the answer once and writes the raw text of each reject, in the order of the answer, as {"item":n,"raw":"…"}. */
async function cutRawTexts(
  engine: Engine,
  input: RejectInput,
  rejected: string,
  count: number,
  file: string,
): Promise<void> {
  const out = createWriteStream(file);
  const spans = spansOf(engine, rejected);
  let written = 0;
  let span = (await spans.next()).value;
  let held: Uint8Array[] = [];
  let position = 0;
  for await (const chunk of input.rawAnswer()) {
    const end = position + chunk.length;
    while (span) {
      const stop = span.offset + Math.min(span.length, LIMITS.rejectRawBytes);
      if (span.offset < end)
        held.push(chunk.subarray(Math.max(0, span.offset - position), Math.min(chunk.length, stop - position)));
      if (stop > end || span.offset >= end) break;
      const line = `${JSON.stringify({ item: span.item, raw: printable(Buffer.concat(held)) })}\n`;
      if (!out.write(line)) await once(out, 'drain');
      written += 1;
      held = [];
      span = (await spans.next()).value;
    }
    // A chunk may be reused by whoever sent it, so what is carried over the border is copied.
    held = held.map((part) => part.slice());
    position = end;
  }
  out.end();
  await once(out, 'finish');
  assert(written === count, `${count} rejects, but the raw text of ${written} was found in the answer`);
}

interface Span {
  readonly item: number;
  readonly offset: number;
  readonly length: number;
}

/** Place and length of every reject in the order of the answer, some thousand at a time. */
async function* spansOf(engine: Engine, rejected: string): AsyncGenerator<Span, undefined> {
  const pageRows = 10_000;
  let after = -1n;
  for (;;) {
    const rows = await engine.rows(
      `SELECT _item, _offset, _length FROM ${rejected} WHERE _offset > ${after} ORDER BY _offset LIMIT ${pageRows}`,
    );
    for (const row of rows) yield { item: Number(row._item), offset: Number(row._offset), length: Number(row._length) };
    if (rows.length < pageRows) return undefined;
    after = rows.at(-1)!._offset as bigint;
  }
}

/** Raw bytes as text that both warehouses can hold: what is no UTF-8, and NUL, become U+FFFD. */
function printable(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes).replaceAll('\u0000', '\ufffd');
}
