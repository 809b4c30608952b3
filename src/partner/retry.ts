/** Whether a call is tried again, and after which pause. Pure, so that the rules can be read and tested as a table. */
import type { EtlError } from '../core/errors.ts';
import type { RetrySettings } from './settings.ts';
import { NOT_SENT } from './wire.ts';

/** Answers that pass: too many calls, and trouble inside the service or between it and us. */
const PASSING = new Set([429, 500, 502, 503, 504]);

export function isPassing(status: number): boolean {
  return PASSING.has(status);
}

/**
 * Whether another try can do no harm. What may be repeated freely always can; the rest only when the service has surely not
 * acted: it never saw the request, or it turned it away with 429.
 */
export function isSafeToRepeat(isRepeatable: boolean, error: EtlError, status: number | null): boolean {
  return isRepeatable || NOT_SENT.has(error.code) || status === 429;
}

/** The pause after the `triesMade`th try: evenly between 0 and a ceiling that doubles ("full jitter"). `random` gives [0, 1). */
export function backoffMs(retry: RetrySettings, triesMade: number, random: () => number): number {
  const ceilingMs = Math.min(retry.longestMs, retry.baseMs * 2 ** Math.min(triesMade - 1, 30));
  return Math.round(random() * ceilingMs);
}
