/** What the service's headers say about waiting. Instants are milliseconds since the epoch, by our clock. */

const HTTP_DATE = /^[A-Za-z]{3,9},? /;
/** Larger numbers are seconds since 1970, not seconds from now; a window of 30 years needs no budget. */
const EPOCH_FROM_SECONDS = 1_000_000_000;

/**
 * What the service's clock showed when it answered, by the answer's `Date`; our own clock where there is no such header. Instants
 * that the service names are compared to this, and only what is left until then is added to our clock. The header has whole
 * seconds, so this is up to a second early, and a pause reckoned from it that much too long.
 */
export function serviceNowMs(date: string | null, nowMs: number): number {
  const text = date?.trim() ?? '';
  const ms = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? nowMs : ms;
}

/** The pause that `Retry-After` asks for, in seconds or as a date; null where it is absent, past or no such thing. */
export function retryAfterMs(value: string | null, nowMs: number): number | null {
  const text = value?.trim() ?? '';
  if (/^\d{1,12}(?:\.\d+)?$/.test(text)) return positive(Math.ceil(Number(text) * 1000));
  if (!HTTP_DATE.test(text)) return null;
  return positive(Date.parse(text) - nowMs);
}

/** When the service's own counter starts anew, where it says that no call is left; else null. */
export function exhaustedUntilMs(remaining: string | null, reset: string | null, nowMs: number): number | null {
  if (remaining?.trim() !== '0') return null;
  const text = reset?.trim() ?? '';
  if (!/^\d{1,15}(?:\.\d+)?$/.test(text)) return null;
  const number = Number(text);
  if (number >= EPOCH_FROM_SECONDS * 1000) return number; // milliseconds since 1970, as some gateways write it
  return number >= EPOCH_FROM_SECONDS ? number * 1000 : nowMs + number * 1000;
}

function positive(ms: number): number | null {
  return Number.isFinite(ms) && ms > 0 ? ms : null;
}
