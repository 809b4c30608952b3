/** The errors in which calls end, beside those that an answer is (answer-error.ts) and those of the wire (wire.ts). */
import { asEtlError, type Concern, EtlError } from '../core/errors.ts';
import { redact } from '../core/redact.ts';

/** Something thrown while an answer was taken in. zlib's own errors mean that the answer came damaged. */
export function sortedThrown(thrown: unknown): EtlError {
  const code = thrown instanceof Error ? (thrown as NodeJS.ErrnoException).code : undefined;
  if (thrown instanceof EtlError || !code?.startsWith('Z_')) return asEtlError(thrown);
  return new EtlError('retry', 'damaged_gzip', `the answer came damaged: ${code}`, { cause: thrown });
}

/** For the record of a try that somebody gave up, be it the caller or the time limit. */
export function abortError(reason: unknown): EtlError {
  return reason instanceof EtlError ? reason : new EtlError('failed', 'aborted', 'the call was given up');
}

export function totalTimeout(what: string, concern: Concern, cause?: unknown): EtlError {
  return new EtlError('failed', 'total_timeout', what, {
    concern,
    cause,
    hint: 'raise timeouts.totalMs, or ask for less at once (windowDays)',
  });
}

/** The last error of a call that is not tried again, and why not. */
export function givenUp(error: EtlError, why: string): EtlError {
  const { code, message, concern, cause, hint } = error;
  return new EtlError('failed', code, `${message}; ${why}`, {
    concern,
    cause,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** The same error; one made of foreign text that echoes a secret is made again without it. */
export function withoutSecrets(error: EtlError, secrets: readonly string[]): EtlError {
  const said = [error.message, error.cause instanceof Error ? error.cause.message : ''] as const;
  const [message, causeMessage] = said.map((text) => redact(text, secrets)) as [string, string];
  const isCauseClean = causeMessage === said[1];
  if (isCauseClean && message === said[0]) return error;
  const { kind, code, concern, hint, retryAfterMs } = error;
  return new EtlError(kind, code, message, {
    concern,
    cause: isCauseClean ? error.cause : new Error(causeMessage),
    ...(hint === undefined ? {} : { hint }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
