/** A stored answer, and its body as a document. */
import { isUtf8 } from 'node:buffer';
import { EtlError } from '../core/errors.ts';
import type { FetchRecord } from '../core/records.ts';
import { type ExactDocument, parseDocument } from '../json/exact-json.ts';

/** An answer with the keys that were asked for. */
export interface LookupAnswer {
  readonly fetch: FetchRecord;
  readonly asked: unknown;
  /** Decoded. */
  readonly body: Uint8Array;
}

/** A fetch that was answered. */
interface Answered extends FetchRecord {
  readonly status: number;
}

/** Whether the answer is an error of the service instead of records. */
export function isRefusal(fetch: FetchRecord): fetch is Answered {
  return fetch.status !== null && fetch.status >= 300;
}

/** The decoded body as a document; bytes that are no UTF-8 become U+FFFD. Errors: `failed/not_json`. */
export function documentOf(body: Uint8Array): ExactDocument {
  try {
    return parseDocument(bodyText(body));
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new EtlError('failed', 'not_json', `the answer is no JSON: ${cause.message}`, { cause });
  }
}

export function bodyText(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
}

export function isSoundUtf8(body: Uint8Array): boolean {
  return isUtf8(body);
}
