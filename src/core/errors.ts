import { AssertionError } from 'node:assert';

/**
 * Errors, sorted by what is to be done next.
 *
 * | kind     | what the caller does                                   | exit code |
 * | usage    | stop: arguments or settings must be fixed first       | 2 |
 * | retry    | try again: the cause passes (network, 429, 5xx)         | 1 when tries are used up |
 * | failed   | give this window or slice up, go on with the rest       | 1 |
 * | refused  | stop calling: credentials refused or address banned     | 4 |
 * | locked   | stop: another run is at work                            | 75 |
 * | bug      | stop: an assertion of ours broke                        | 1 |
 *
 * Only `kind` and `code` are ever compared; messages are for people.
 */
export type ErrorKind = 'usage' | 'retry' | 'failed' | 'refused' | 'locked' | 'bug';

/** What an error concerns: whatever of it is known where the error arises. */
export interface Concern {
  readonly pipeline?: string;
  readonly day?: string;
  readonly window?: string;
  readonly requestId?: string;
  readonly target?: string;
  readonly file?: string;
}

export interface ErrorDetails {
  /** What the operator does about it. */
  readonly hint?: string;
  readonly concern?: Concern;
  readonly cause?: unknown;
  /** For `retry`: the service asked for this pause. */
  readonly retryAfterMs?: number;
}

export class EtlError extends Error {
  readonly kind: ErrorKind;
  readonly code: string;
  readonly hint: string | undefined;
  readonly concern: Concern;
  readonly retryAfterMs: number | undefined;

  constructor(kind: ErrorKind, code: string, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'EtlError';
    this.kind = kind;
    this.code = code;
    this.hint = details.hint;
    this.concern = details.concern ?? {};
    this.retryAfterMs = details.retryAfterMs;
  }

  /** The same error with more known of what it concerns. */
  about(concern: Concern): EtlError {
    const details = {
      concern: { ...concern, ...this.concern },
      cause: this.cause,
      ...(this.hint === undefined ? {} : { hint: this.hint }),
      ...(this.retryAfterMs === undefined ? {} : { retryAfterMs: this.retryAfterMs }),
    };
    return new EtlError(this.kind, this.code, this.message, details);
  }
}

/** Breaks loudly when one of our own assumptions is false. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw bug(message);
}

function bug(message: string, cause?: unknown): EtlError {
  return new EtlError('bug', 'assertion', message, { cause, hint: 'please report this with the log of the run' });
}

/** Anything thrown, as an EtlError: what is not one already is a failure of the step in hand. */
export function asEtlError(thrown: unknown): EtlError {
  if (thrown instanceof EtlError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (thrown instanceof AssertionError) return bug(message, thrown);
  const { code: systemCode = '' } = (thrown ?? {}) as NodeJS.ErrnoException;
  if (NO_ROOM.has(systemCode))
    return new EtlError('failed', 'no_room', message, {
      cause: thrown,
      hint: 'make room on that disk (or raise the quota), then the same command goes on',
    });
  if (NO_RIGHT.has(systemCode))
    return new EtlError('failed', 'not_allowed', message, {
      cause: thrown,
      hint: 'let this user read and write there (a read-only file system lets nobody write), or name another folder in PARTNER_ETL_HOME',
    });
  return new EtlError('failed', 'unexpected', message, {
    cause: thrown,
    hint: 'give the same command again; --verbose shows where it arose, partner-etl doctor looks at this machine',
  });
}

/** Of system calls: the disk is full, a quota is used up, a file may not grow any more. */
const NO_ROOM: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Of system calls: a read-only file system, or what belongs to another user. */
const NO_RIGHT: ReadonlySet<string> = new Set(['EROFS', 'EACCES', 'EPERM']);

export const EXIT = { done: 0, failed: 1, usage: 2, setAside: 3, refused: 4, locked: 75 } as const;

export function exitCodeOf(error: EtlError): number {
  switch (error.kind) {
    case 'usage':
      return EXIT.usage;
    case 'refused':
      return EXIT.refused;
    case 'locked':
      return EXIT.locked;
    default:
      return EXIT.failed;
  }
}
