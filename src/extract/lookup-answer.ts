/**
 * One answer of a look-up on its way in: read whole (it is small), proved to be a document of its kind, and gathered with its request.
 * What is none is set aside in the raw store as a refused report is.
 */

import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { EtlError } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import type { ExactDocument } from '../json/exact-json.ts';
import { documentOf } from '../sources/body.ts';
import type { Gatherer, JsonValue } from '../store/raw/gather.ts';
import type { RawStore } from '../store/raw/raw.ts';
import { type Incoming, isGzipEncoding } from './answer.ts';

export interface LookupIncoming extends Incoming {
  readonly status: number;
}

/** Counts the records of a document; throws `failed/…` when it is none of its kind. */
export type DocumentCheck = (document: ExactDocument) => number;

export interface ReceivedLookup {
  readonly status: number;
  /** Decoded. */
  readonly body: Buffer;
}

/** The shape that a call's `consume` returns. */
export interface ConsumedLookup {
  readonly value: ReceivedLookup;
  readonly bytesDecoded: number;
  readonly sha256: string;
  readonly rawPath: string;
  /** Records in the answer; null for one that says why there are none. */
  readonly items: number | null;
}

export interface LookupPlace {
  readonly pipeline: string;
  readonly raw: RawStore;
  readonly gatherer: Gatherer;
}

/**
 * Takes an answer in. Errors: `retry/not_json` (a page of somebody else's, which passes), `retry/damaged_gzip`,
 * `failed/answer_too_large`, `failed/content_encoding`, and those of `check`; the hint names the file in which the body lies.
 */
export async function receiveLookup(
  { fetchId, status, ...answer }: LookupIncoming,
  questions: JsonValue,
  check: DocumentCheck,
  { pipeline, raw, gatherer }: LookupPlace,
): Promise<ConsumedLookup> {
  const { received, decoded, isGzip } = await maskedAnswer(await wholeAnswer(answer), pipeline, raw);
  let items: number | null = null;
  try {
    if (status < 300) items = check(documentOf(decoded));
  } catch (error) {
    if (!(error instanceof EtlError)) throw error;
    const file = await raw.setAside(pipeline, fetchId, received, isGzip);
    throw new EtlError(error.code === 'not_json' ? 'retry' : error.kind, error.code, error.message, {
      cause: error.cause,
      concern: { ...error.concern, file },
      hint: `what was received lies in ${file}`,
    });
  }
  return {
    value: { status, body: decoded },
    bytesDecoded: decoded.length,
    sha256: createHash('sha256').update(decoded).digest('hex'),
    rawPath: gatherer.add({ fetchId, request: questions, body: decoded }),
    items,
  };
}

export interface WholeAnswer {
  /** As it came. */
  readonly received: Buffer;
  readonly decoded: Buffer;
  readonly isGzip: boolean;
}

/** The answer without what was erased. */
export async function maskedAnswer(whole: WholeAnswer, pipeline: string, raw: RawStore): Promise<WholeAnswer> {
  const decoded = Buffer.from((await raw.masker(pipeline))?.mask(whole.decoded) ?? whole.decoded);
  if (decoded.equals(whole.decoded)) return whole;
  return { ...whole, decoded, received: whole.isGzip ? gzipSync(decoded) : decoded };
}

/** An answer read whole and looked through. Errors: `retry/damaged_gzip`, `failed/answer_too_large`, `failed/content_encoding`, those of `inspect`. */
export async function wholeAnswer({ contentEncoding, body, inspect }: Omit<Incoming, 'fetchId'>): Promise<WholeAnswer> {
  const isGzip = isGzipEncoding(contentEncoding);
  const received = await wholeBody(body);
  const decoded = isGzip ? gunzipped(received) : received;
  inspect?.(decoded);
  return { received, isGzip, decoded };
}

/** The same of one that holds a few records. Errors: also `failed/answer_too_large`. */
export async function smallAnswer(answer: Omit<Incoming, 'fetchId'>): Promise<WholeAnswer> {
  const whole = await wholeAnswer(answer);
  if (whole.decoded.length <= LIMITS.stateAnswerBytes) return whole;
  throw new EtlError('failed', 'answer_too_large', `the answer is larger than ${LIMITS.stateAnswerBytes} bytes`);
}

async function wholeBody(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > LIMITS.lookupAnswerBytes) throw tooLarge();
    chunks.push(chunk.slice());
  }
  return Buffer.concat(chunks);
}

function gunzipped(bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: LIMITS.lookupAnswerBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    throw new EtlError('retry', 'damaged_gzip', 'the answer is damaged: its gzip data does not unpack', { cause });
  }
}

function tooLarge(): EtlError {
  return new EtlError('failed', 'answer_too_large', `the answer is larger than ${LIMITS.lookupAnswerBytes} bytes`);
}

/** What a link leads to is kept as it is; of what is too large, or encoded in a way that we cannot read, only that it was so. */
export async function receiveAnything(
  { fetchId, status, ...answer }: LookupIncoming,
  key: Readonly<Record<string, string>>,
  mostBytes: number,
  { pipeline, raw, gatherer }: LookupPlace,
): Promise<ConsumedLookup> {
  const { whole: arrived, unread } = await readable(answer, mostBytes);
  const { decoded } = await maskedAnswer(arrived, pipeline, raw);
  return {
    value: { status, body: decoded },
    bytesDecoded: decoded.length,
    sha256: createHash('sha256').update(decoded).digest('hex'),
    rawPath: gatherer.add({ fetchId, request: { ...key, ...(unread === null ? {} : { unread }) }, body: decoded }),
    items: status < 300 ? 1 : null,
  };
}

const NOTHING: WholeAnswer = { received: Buffer.alloc(0), decoded: Buffer.alloc(0), isGzip: false };

async function readable(answer: Omit<Incoming, 'fetchId'>, mostBytes: number) {
  try {
    const whole = await wholeAnswer(answer);
    if (whole.decoded.length <= mostBytes) return { whole, unread: null };
    return { whole: NOTHING, unread: `answer_too_large:it is larger than ${mostBytes} bytes` };
  } catch (error) {
    if (!(error instanceof EtlError) || error.kind !== 'failed') throw error;
    return { whole: NOTHING, unread: `${error.code}:${error.message}` };
  }
}
