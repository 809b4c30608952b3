/**
 * Waiting for the end of a process that the service carries out in its own time.
 *
 *   answered PENDING ─(pause of 0.5 s, doubling up to 15 s; ended early when a push message names the process)─▶ asked again
 *   answered SUCCESS, FAILURE, TIMEOUT ─▶ the end, which never changes
 *   time is over, interrupted, a call failed ─▶ an error that says how to take the waiting up again
 */
import type { Clock } from '../../core/clock.ts';
import { asEtlError, EtlError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { isEnded, type ProcessStatus } from '../../extract/subscription-shapes.ts';
import { passOn, within } from '../../partner/pacing/wait.ts';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
/** How often the inbox is looked into; one that takes long to look through is looked into for a tenth of the time. */
const WATCH_MS = 1000;
const LOOK_SHARE = 10;
/** A last question that was asked in time may be answered so much later. */
const GRACE_MS = 10_000;

/** What is known of a process when nobody waits for it any more. */
export interface Followed {
  /** As the service answered last; null when it never did. */
  readonly process: ProcessStatus | null;
  /**
   * Why it is no success: `failed/process_failed`, `failed/process_timeout`, `failed/still_pending`, `failed/no_process`,
   * `failed/interrupted`, or what a call failed with. null for a success, and where nobody waited.
   */
  readonly error: EtlError | null;
}

export interface Waiting {
  readonly clock: Clock;
  readonly log: Log;
  /** Aborted by the operator. */
  readonly signal: AbortSignal;
  /** Asks for the process; null where the service does not know it. */
  readonly ask: (id: string, signal: AbortSignal) => Promise<ProcessStatus | null>;
  /** Whether a push message has named the process since it was started. */
  readonly hasCome: (id: string) => Promise<boolean>;
}

/** Follows a process that the service has just started. It may take a moment until the service knows it by its id. */
export function followStarted(waiting: Waiting, process: ProcessStatus, timeoutMs: number): Promise<Followed> {
  return new Follower(waiting, process.id, process).follow(timeoutMs);
}

/** Follows a process that was started before; asks at once. */
export function followAgain(waiting: Waiting, id: string, timeoutMs: number): Promise<Followed> {
  return new Follower(waiting, id, null).follow(timeoutMs);
}

/** What the status says of a process for whom nobody waits. */
export function asAnswered(process: ProcessStatus): Followed {
  return { process, error: isEnded(process.status) ? endError(process) : null };
}

class Follower {
  private readonly waiting: Waiting;
  private readonly id: string;
  private readonly isNew: boolean;
  private process: ProcessStatus | null;
  /** Whether the inbox is worth looking into. */
  private isWatching = true;

  constructor(waiting: Waiting, id: string, process: ProcessStatus | null) {
    this.waiting = waiting;
    this.id = id;
    this.isNew = process !== null;
    this.process = process;
  }

  async follow(timeoutMs: number): Promise<Followed> {
    const { clock, signal } = this.waiting;
    const stop = new AbortController();
    const unlink = passOn(signal, stop);
    const late = () => this.stillPending(timeoutMs);
    try {
      const process = await within(clock, timeoutMs + GRACE_MS, late, stop, this.untilEnded(timeoutMs, stop.signal));
      return asAnswered(process);
    } catch (thrown) {
      return { process: this.process, error: this.errorOf(thrown) };
    } finally {
      unlink();
    }
  }

  private async untilEnded(timeoutMs: number, signal: AbortSignal): Promise<ProcessStatus> {
    const { clock } = this.waiting;
    const untilMs = clock.now() + timeoutMs;
    if (this.process === null) this.process = await this.asked(signal);
    for (
      let pauseMs = FIRST_PAUSE_MS;
      !isEnded(this.process.status);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
    ) {
      const leftMs = untilMs - clock.now();
      if (leftMs <= 0) throw this.stillPending(timeoutMs);
      await this.pause(Math.min(pauseMs, leftMs), signal);
      this.process = await this.asked(signal);
    }
    return this.process;
  }

  private async asked(signal: AbortSignal): Promise<ProcessStatus> {
    const answered = (await this.waiting.ask(this.id, signal)) ?? (this.isNew ? this.process : null);
    if (answered) return answered;
    throw new EtlError('failed', 'no_process', `the service knows no process ${this.id}`, {
      hint: 'it forgets a process after 48 hours; partner-etl subscriptions list shows what there is now',
    });
  }

  /** Ends when the time is over, or when a message names the process. */
  private async pause(ms: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.waiting;
    const untilMs = clock.now() + ms;
    let watchMs = WATCH_MS;
    for (let leftMs = ms; leftMs > 0; leftMs = untilMs - clock.now()) {
      await clock.sleep(Math.min(leftMs, watchMs), signal);
      const lookedMs = clock.now();
      if (await this.hasCome()) return;
      watchMs = Math.max(WATCH_MS, LOOK_SHARE * (clock.now() - lookedMs));
    }
  }

  /** Heard once: a message that came before the service itself knows of the end must not make us ask on and on. */
  private async hasCome(): Promise<boolean> {
    if (!this.isWatching) return false;
    try {
      const hasCome = await this.waiting.hasCome(this.id);
      if (hasCome) this.isWatching = false;
      return hasCome;
    } catch (thrown) {
      this.isWatching = false;
      this.waiting.log.warn(`the inbox cannot be looked into: ${asEtlError(thrown).message}`);
      return false;
    }
  }

  private stillPending(timeoutMs: number): EtlError {
    const seconds = Math.round(timeoutMs / 1000);
    const answered = this.process === null ? 'unknown to the service' : `still ${this.process.status}`;
    return new EtlError('failed', 'still_pending', `process ${this.id} is ${answered} after ${seconds} s`, {
      hint: takeUp(this.id),
    });
  }

  private errorOf(thrown: unknown): EtlError {
    if (this.waiting.signal.aborted)
      return new EtlError('failed', 'interrupted', `interrupted; process ${this.id} goes on at the service`, {
        hint: takeUp(this.id),
      });
    const error = asEtlError(thrown);
    if (error.code === 'still_pending' || error.code === 'no_process') return error;
    const { kind, code, message, concern, cause, hint } = error;
    const fix = [hint, takeUp(this.id)].filter((part) => part !== undefined).join('; then ');
    return new EtlError(kind, code, message, { concern, cause, hint: fix });
  }
}

/** How the waiting for a process is taken up again. */
function takeUp(id: string): string {
  return `go on waiting with: ${commandLine('wait', id)}`;
}

/** A command to be pasted into a shell: what the service made up means nothing to it. */
export function commandLine(...words: readonly string[]): string {
  const typed = words.map((word) => (/^[\w.,:/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`));
  return `partner-etl subscriptions ${typed.join(' ')}`;
}

/** null for a success. */
function endError({ id, status, errorMessage }: ProcessStatus): EtlError | null {
  const said = errorMessage ?? 'the service does not say why';
  switch (status.toUpperCase()) {
    case 'FAILURE':
      return new EtlError('failed', 'process_failed', `process ${id} failed: ${said}`);
    case 'TIMEOUT':
      return new EtlError('failed', 'process_timeout', `process ${id} took the service too long (TIMEOUT): ${said}`, {
        hint: `whether it took effect is not known: ${commandLine('list')}`,
      });
    default:
      return null;
  }
}
