/**
 * What the service's headers say about waiting, as milliseconds from now. Instants that it names are of its own clock, which may be
 * far from ours: they are compared to the `Date` of the answer that names them, and only what is left until then is believed.
 */

const HTTP_DATE = /^[A-Za-z]{3,9},? /;
/** Larger numbers are seconds since 1970, not seconds from now; a window of 30 years needs no budget. */
const EPOCH_FROM_SECONDS = 1_000_000_000;
/** How long an exhausted rate limit may hold an endpoint back whose budget spans less. */
const LONGEST_RESET_MS = 60_000;

/** When an answer came. */
export interface AnswerTime {
  /** By our clock. */
  readonly nowMs: number;
  /** By the service's clock; null where the answer does not say. Whole seconds: up to a second early, so pauses reckoned from it may be that much too long. */
  readonly serviceNowMs: number | null;
}

/** `date` is the answer's header. */
export function answerTime(date: string | null, nowMs: number): AnswerTime {
  return { nowMs, serviceNowMs: dateMs(date) };
}

/**
 * The pause that `Retry-After` asks for, in seconds or as a date; null where it is absent, past or no such thing. A date is
 * compared to the service's clock; where that is not known, ours may be another, and it is believed for `unprovedMs` at the most.
 */
export function retryAfterMs(value: string | null, at: AnswerTime, unprovedMs: number): number | null {
  const text = value?.trim() ?? '';
  if (/^\d{1,12}(?:\.\d+)?$/.test(text)) return positive(Math.ceil(Number(text) * 1000));
  const untilMs = dateMs(text);
  if (untilMs === null) return null;
  return positive(at.serviceNowMs === null ? Math.min(untilMs - at.nowMs, unprovedMs) : untilMs - at.serviceNowMs);
}

/**
 * How long until the service's own counter starts anew, where it says that no call is left; else null. An instant is compared to
 * the service's clock, and believed for `periodMs` at the most: no counter of a budget runs longer than the budget's period.
 */
export function exhaustedMs(
  remaining: string | null,
  reset: string | null,
  { nowMs, serviceNowMs }: AnswerTime,
  periodMs: number,
): number | null {
  if (remaining?.trim() !== '0') return null;
  const text = reset?.trim() ?? '';
  if (!/^\d{1,15}(?:\.\d+)?$/.test(text)) return null;
  const number = Number(text);
  // A number of seconds needs no clock; a minute allows for a window of theirs that is longer than ours.
  if (number < EPOCH_FROM_SECONDS) return positive(Math.min(number * 1000, Math.max(LONGEST_RESET_MS, periodMs)));
  // Milliseconds since 1970, as some gateways write it.
  const untilMs = number >= EPOCH_FROM_SECONDS * 1000 ? number : number * 1000;
  return positive(Math.min(untilMs - (serviceNowMs ?? nowMs), periodMs));
}

function dateMs(value: string | null): number | null {
  const text = value?.trim() ?? '';
  const ms = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

function positive(ms: number): number | null {
  return Number.isFinite(ms) && ms > 0 ? ms : null;
}
