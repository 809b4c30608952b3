/** A call as data: what is asked, under which budget, and who takes the answer in. */
import type { Day } from '../core/days.ts';
import { assert, type Concern } from '../core/errors.ts';
import type { EndpointBudget } from './settings.ts';

export interface Answer {
  readonly fetchId: string;
  readonly status: number;
  readonly contentType: string | null;
  readonly contentEncoding: string | null;
  /** Bytes as received on the wire, to be read once. Throws `retry/cut_body` or `retry/stalled_body`. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface Consumed<T> {
  readonly value: T;
  readonly bytesDecoded: number;
  readonly sha256: string | null;
  readonly vaultPath: string | null;
  readonly items: number | null;
}

export interface Call<T> {
  /** Names the pacing lane: small letters, digits, dashes. */
  readonly endpoint: string;
  readonly budget: EndpointBudget;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `baseUrl`, begins with a slash; whatever is filled in must be URL-encoded already. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whether making the call twice is like making it once; by default so for every method but POST. */
  readonly isRepeatable?: boolean;
  readonly about: { readonly pipeline: string; readonly windowFrom: Day | null; readonly windowTo: Day | null };
  /**
   * Called for every 2xx answer; may throw EtlError kind retry (tried again, as a new fetch) or anything else (given up).
   * A body that breaks off makes the iterable throw retry/cut_body.
   */
  consume(answer: Answer): Promise<Consumed<T>>;
  readonly signal?: AbortSignal;
}

/** What the call's errors and log lines are about. */
export function concernOf({ about }: Call<unknown>): Concern {
  const { pipeline, windowFrom, windowTo } = about;
  return windowFrom && windowTo ? { pipeline, window: `${windowFrom}..${windowTo}` } : { pipeline };
}

/** Address of the call below the base address, which may have a path of its own. */
export function callUrl(baseUrl: string, call: Call<unknown>): URL {
  const isBelow = /^\/[^?#\s\\]*$/.test(call.path) && !/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(call.path);
  assert(isBelow, `not a path below the base address: ${call.path}`);
  const url = new URL(baseUrl);
  url.username = '';
  url.password = '';
  url.hash = '';
  url.pathname = url.pathname.replace(/\/+$/, '') + call.path;
  url.search = new URLSearchParams(call.query).toString();
  return url;
}
