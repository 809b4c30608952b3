/** A call as data: what is asked, under which budget, and who takes the answer in. */
import type { Day } from '../core/days.ts';
import { assert, type Concern } from '../core/errors.ts';
import type { EndpointBudget } from './settings.ts';

export interface Answer {
  readonly fetchId: string;
  readonly status: number;
  readonly contentType: string | null;
  readonly contentEncoding: string | null;
  /** The first header of that name, given in small letters, or null. Its text is the service's: hostile until checked. */
  readonly header: (name: string) => string | null;
  /** Bytes as received on the wire, to be read once. Throws `retry/cut_body` or `retry/stalled_body`. */
  readonly body: AsyncIterable<Uint8Array>;
  /** To be given every decoded byte before any of it is stored, in order. Errors: `failed/echoed_token`. */
  readonly inspect: (decoded: Uint8Array) => void;
}

export interface Consumed<T> {
  readonly value: T;
  readonly bytesDecoded: number;
  readonly sha256: string | null;
  readonly rawPath: string | null;
  readonly items: number | null;
  /** Kept in the fetch record. */
  readonly notes?: Readonly<Record<string, string>>;
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
  /** One of thousands a night: a success is logged for those only who debug. */
  readonly isOneOfMany?: boolean;
  /**
   * Statuses besides success that answer the question and go to `consume`, such as a 404 for an EAN that is unknown. Only client
   * errors can be answers, and never those that speak of us instead of the question: 401, 403 and 429 (see `isAnswer`).
   */
  readonly alsoAnswers?: readonly number[];
  /**
   * Called for every answer (success as `isAnswer` has it, and what `alsoAnswers` names); may throw EtlError kind retry (tried again, as a new fetch) or anything else (given up).
   * A body that breaks off makes the iterable throw retry/cut_body.
   */
  consume(answer: Answer): Promise<Consumed<T>>;
  readonly signal?: AbortSignal;
}

/** Of the token, of the account, of the budget: whatever was asked, these say nothing about it. */
const ABOUT_US: ReadonlySet<number> = new Set([401, 403, 429]);

/** Who reads gets the whole, at once: 206 is a part, and 202 would be a report that is still being made. */
const WHOLE: ReadonlySet<number> = new Set([200]);
/** Who changes something may be answered that it is made, taken in, or done without a word. */
const DONE: ReadonlySet<number> = new Set([200, 201, 202, 204]);

/** Whether an answer of that status goes to `consume`; all others are errors. */
export function isAnswer(
  { method, alsoAnswers = [] }: Pick<Call<unknown>, 'method' | 'alsoAnswers'>,
  status: number,
): boolean {
  if (status >= 200 && status < 300) return (method === 'GET' ? WHOLE : DONE).has(status);
  return status >= 400 && status < 500 && !ABOUT_US.has(status) && alsoAnswers.includes(status);
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
