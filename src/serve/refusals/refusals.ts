/** What a message can be answered other than 204, and whether it is kept for inspection. The code is all that the sender sees. */

/**
 * - `never`: it says nothing about messages, or its body was not read
 * - `some`: anybody can send such ones, so only a few a second are kept
 * - `signed`: its signature was right, so it is the service's own, and is kept once
 */
type Keeping = 'never' | 'some' | 'signed';

export interface RefusalRule {
  readonly status: number;
  readonly keeping: Keeping;
}

export const REFUSALS = {
  not_found: { status: 404, keeping: 'never' },
  wrong_method: { status: 405, keeping: 'never' },
  /** What came in is no HTTP. */
  bad_http: { status: 400, keeping: 'never' },
  too_slow: { status: 408, keeping: 'never' },
  /** The body did not come whole. One that was too slow is counted as that, too. */
  cut_off: { status: 400, keeping: 'never' },
  long_header: { status: 431, keeping: 'never' },
  too_large: { status: 413, keeping: 'never' },
  encoded: { status: 415, keeping: 'never' },
  wrong_source: { status: 403, keeping: 'never' },
  no_signature: { status: 400, keeping: 'some' },
  bad_signature: { status: 400, keeping: 'some' },
  other_algorithm: { status: 400, keeping: 'some' },
  empty_body: { status: 400, keeping: 'some' },
  unknown_key: { status: 401, keeping: 'some' },
  wrong_signature: { status: 401, keeping: 'some' },
  not_json: { status: 422, keeping: 'signed' },
  bad_message: { status: 422, keeping: 'signed' },
  too_old: { status: 422, keeping: 'signed' },
} as const satisfies Readonly<Record<string, RefusalRule>>;

export type Refusal = keyof typeof REFUSALS;

/** Answered 503, so that the service sends it again: nothing is wrong with the message, or we cannot know. */
export const DEFERRALS = [
  'too_busy',
  /** The message may be signed with a key that we could not ask for. */
  'keys_unavailable',
  'inbox_full',
  'inbox_failed',
  'closing',
  /** Something of ours broke. */
  'broken',
] as const;

export type Deferral = (typeof DEFERRALS)[number];

export function ruleOf(reason: Refusal): RefusalRule {
  return REFUSALS[reason];
}

export function isRefusal(code: string): code is Refusal {
  return Object.hasOwn(REFUSALS, code);
}
