/**
 * One answer on its way in: as it arrives it goes to the raw store as received, and, decoded, through sha256 and the splitter
 * into a file of lines. Nothing is kept in memory beyond some chunks; each stage waits for the one behind it.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { truncate } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { EtlError } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import type { Pipeline } from '../core/pipeline.ts';
import { FileSink } from '../disk/sink.ts';
import { type Expect, RefusedAnswer, type SplitField, type SplitResult } from '../json/interface.ts';
import { Splitter } from '../json/splitter.ts';
import type { RawStore } from '../store/raw/raw.ts';

/** An answer's lines, and what the splitter said of it. */
export interface SplitAnswer {
  readonly linesFile: string;
  readonly splitRejectsFile: string;
  readonly split: SplitResult;
}

export interface Received extends SplitAnswer {
  readonly sha256: string;
  readonly rawPath: string;
  readonly bytesDecoded: number;
}

/** What the splitter expects of a pipeline's items. */
export function splitFields(pipeline: Pipeline): SplitField[] {
  return pipeline.columns.map((c) => ({ field: c.field, expect: expected(c.kind) }));
}

function expected(kind: string): Expect {
  if (kind === 'boolean') return 'boolean';
  return ['money', 'percentage', 'ratio', 'count'].includes(kind) ? 'number' : 'text';
}

/** What receive needs of the service's answer. */
export interface Incoming {
  readonly fetchId: string;
  readonly contentEncoding: string | null;
  readonly body: AsyncIterable<Uint8Array>;
  /** Looks through decoded bytes before anything of them is stored; throws where they hold what must not be. */
  readonly inspect?: (decoded: Uint8Array) => void;
}

/**
 * Takes a body in of at most so many bytes, decoded. Errors: `retry/…` when it came damaged or is a page of somebody else's, `failed/…` when it is no report;
 * what is no report is set aside in the raw store, and the hint names the file.
 */
export async function receive(
  { fetchId, contentEncoding, body, inspect }: Incoming,
  pipeline: Pipeline,
  raw: RawStore,
  folder: string,
  mostBytes: number = LIMITS.answerBytes,
): Promise<Received> {
  const isGzip = isGzipEncoding(contentEncoding);
  const masker = await raw.masker(pipeline.name);
  const stored = await raw.receive(pipeline.name, path.join(folder, 'body'));
  const hash = createHash('sha256');
  let bytesDecoded = 0;
  async function* kept() {
    for await (const chunk of body) {
      await stored.write(chunk);
      yield chunk;
    }
  }
  async function* hashed() {
    const decoded = inspected(isGzip ? gunzip(kept()) : kept(), inspect);
    for await (const chunk of masker ? masker.through(decoded) : decoded) {
      hash.update(chunk);
      bytesDecoded += chunk.length;
      yield chunk;
    }
  }
  try {
    const answer = await splitAnswer(hashed(), pipeline, folder, mostBytes);
    if (masker && masker.found > 0)
      await stored.rewrite((body) => masker.inPlace(body, `${body}.masked`, isGzip ? 'gzip' : 'json'));
    const sha256 = hash.digest('hex');
    return { ...answer, sha256, bytesDecoded, rawPath: await stored.keep(sha256, isGzip) };
  } catch (error) {
    if (!(error instanceof EtlError) || !(error.cause instanceof RefusedAnswer) || NOT_KEPT.has(error.cause.code)) {
      await stored.discard().catch(() => undefined); // the first error is the one to tell
      throw error;
    }
    // Nothing is kept of what does not unpack to its end: nobody could tell what stands in it.
    if (masker)
      await stored.rewrite((body) =>
        masker.inPlace(body, `${body}.masked`, isGzip ? 'gzip' : 'json').catch(() => truncate(body)),
      );
    // What was received may hold more than was unpacked when it was refused.
    if (isGzip && inspect) await stored.rewrite((body) => emptied(body, inspect));
    const file = await stored.refuse(fetchId, isGzip);
    // An error page of a proxy passes; a report of another shape does not.
    throw new EtlError(error.code === 'not_json' ? 'retry' : error.kind, error.code, error.message, {
      cause: error.cause,
      concern: { ...error.concern, file },
      hint: `what was received lies in ${file}`,
    });
  }
}

/** Passes on what was looked through. */
export async function* inspected(
  decoded: AsyncIterable<Uint8Array>,
  inspect: Incoming['inspect'],
): AsyncGenerator<Uint8Array> {
  for await (const chunk of decoded) {
    inspect?.(chunk);
    yield chunk;
  }
}

/** Empties a body of gzip, whole or cut off, in which there is what must not be stored. */
async function emptied(file: string, inspect: (decoded: Uint8Array) => void): Promise<void> {
  try {
    for await (const _ of inspected(gunzip(createReadStream(file)), inspect));
  } catch (error) {
    if (!(error instanceof EtlError) || error.code !== 'damaged_gzip') await truncate(file);
  }
}

/** What is cut off or never ends is nothing to look at, and takes up the disk. */
const NOT_KEPT: ReadonlySet<string> = new Set(['cut', 'answer_too_large']);

/** What to do about an answer that the splitter refuses. */
const HINTS = {
  not_json: 'a proxy or an error page may have answered: look at the answer in the raw store',
  not_an_object: 'the service may have a new version: look at the answer in the raw store',
  no_items: 'the service may have a new version: look at the answer in the raw store',
  second_items: 'the answer contradicts itself: look at it in the raw store and report it to the service',
  malformed: 'the answer was damaged on its way or made wrongly: fetch it again, then report it to the service',
  cut: 'the connection ended early: fetch it again',
  after_end: 'two answers may have been joined: fetch it again, then report it to the service',
  answer_too_large:
    'nothing of it was kept: ask for fewer days in one request (windowDays), or let answers be larger (service.answerMiB)',
} as const satisfies Record<RefusedAnswer['code'], string>;

/**
 * Splits decoded bytes into the files of `folder`; also the way in of a replay. Errors: the codes of RefusedAnswer, of which only
 * `cut` is worth another try.
 */
export async function splitAnswer(
  decoded: AsyncIterable<Uint8Array>,
  pipeline: Pipeline,
  folder: string,
  mostBytes: number = LIMITS.answerBytes,
): Promise<SplitAnswer> {
  const linesFile = path.join(folder, 'lines.ndjson');
  const splitRejectsFile = path.join(folder, 'split-rejects.ndjson');
  const lines = await FileSink.open(linesFile);
  const rejects = await FileSink.open(splitRejectsFile);
  let waiting: Uint8Array[] = [];
  let refused = '';
  const splitter = new Splitter({
    fields: splitFields(pipeline),
    limits: { ...LIMITS, answerBytes: mostBytes },
    onLines: (buffer) => waiting.push(buffer.slice()),
    onReject: (reject) => {
      refused += `${JSON.stringify(reject)}\n`;
    },
  });
  const flush = async () => {
    for (const part of waiting) await lines.write(part);
    if (refused !== '') await rejects.write(Buffer.from(refused));
    waiting = [];
    refused = '';
  };
  try {
    for await (const chunk of decoded) {
      splitter.write(chunk);
      await flush();
    }
    const split = splitter.end();
    await flush();
    return { linesFile, splitRejectsFile, split };
  } catch (cause) {
    if (!(cause instanceof RefusedAnswer)) throw cause;
    const { code, message } = cause;
    throw new EtlError(code === 'cut' ? 'retry' : 'failed', code, message, { cause, hint: HINTS[code] });
  } finally {
    await Promise.all([lines.close(), rejects.close()]);
  }
}

/** Whether a body came as gzip. Errors: `failed/content_encoding` for what was not asked for. */
export function isGzipEncoding(encoding: string | null): boolean {
  const name = encoding?.trim().toLowerCase() ?? 'identity';
  if (name === 'identity' || name === '') return false;
  if (name === 'gzip' || name === 'x-gzip') return true;
  throw new EtlError(
    'failed',
    'content_encoding',
    `the answer is encoded as ${JSON.stringify(name)}, which was not asked for`,
  );
}

/** Undoes gzip; damaged or cut data is worth another try. */
export async function* gunzip(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = Readable.from(body, { objectMode: false });
  const decoder = createGunzip({ chunkSize: 256 * 1024 });
  source.on('error', (error) => decoder.destroy(error));
  try {
    yield* source.pipe(decoder) as AsyncIterable<Uint8Array>;
  } catch (cause) {
    if (cause instanceof EtlError) throw cause;
    throw new EtlError('retry', 'damaged_gzip', 'the answer is damaged: its gzip data does not unpack', { cause });
  } finally {
    source.destroy();
  }
}
