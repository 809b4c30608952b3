/**
 * Starts runs when pipelines are due: everything that is due as one run, one run at a time, until it is asked to end.
 *
 *   waiting ─ due ─▶ running ─ ended ─▶ waiting
 *      ▲                │ └─ beyond its limit ─▶ asked to stop ─ a minute later ─▶ reported as hung ─ later ─▶ ended by force
 *      └─ locked, lost ─┘                        (ends after the slice in hand)
 *
 * Whatever comes of a run is reported and recorded; none of it ends the scheduler. It looks at the clock every minute at least, so a
 * machine that slept or a clock that jumped is noticed.
 */
import { isoTime } from '../../core/clock.ts';
import { asEtlError, EtlError } from '../../core/errors.ts';
import type { RunContext } from '../../run/context.ts';
import { readSchedule, type ScheduleState, writeSchedule } from '../../store/tables/scheduled.ts';
import {
  type Due,
  dueNow,
  knowing,
  MOST_TRIES,
  nextDue,
  type ScheduledEnd,
  type Schedules,
  waitingSince,
  whenEnded,
  whenStarted,
  whenStopped,
} from './due.ts';

export type RunEnd =
  | ({ readonly kind: 'ended' } & ScheduledEnd)
  /** Another run is at work: tried again. */
  | { readonly kind: 'locked' }
  /** It was gone without a word, for instance by a crash: tried again some times. */
  | { readonly kind: 'lost'; readonly how: string };

/** A run that was begun. */
export interface StartedRun {
  /** Never rejects. */
  readonly ended: Promise<RunEnd>;
  /** Asks it to end after the slice in hand; the reason stands in its record. */
  stop(reason: EtlError): void;
  /** Ends it at once, by force. */
  kill(): void;
}

export type StartRun = (pipelines: readonly string[]) => StartedRun;

export interface SchedulerOptions {
  readonly schedules: Schedules;
  readonly context: Pick<RunContext, 'state' | 'clock' | 'log'>;
  readonly start: StartRun;
  /** After so many minutes a run is stopped. */
  readonly runLimitMinutes: number;
}

/** What goes on, for those who ask. */
export interface SchedulerView {
  /** When something will be due next; null when nothing ever will. */
  readonly nextMs: number | null;
  /** The oldest due time for which no run was begun; null when none is waiting, or a run is at work. */
  readonly missedMs: number | null;
  readonly running: { readonly pipelines: readonly string[]; readonly sinceMs: number } | null;
}

const MINUTE_MS = 60_000;
/** A run that was asked to stop is reported as hung after this; the slice in hand may take some minutes. */
const HUNG_AFTER_MS = MINUTE_MS;
/** And then it is ended by force: the next run fixes what a kill leaves, and a run that hangs would block all that follow. */
const KILL_AFTER_MS = 15 * MINUTE_MS;
/** While a run is locked out it is tried again after 1, 2, … and at the most so many minutes. */
const LONGEST_PAUSE_MINUTES = 5;
/** Due times that are older than this are reported as caught up. */
const LATE_MS = 5 * MINUTE_MS;

/** Code of the error with which a run is stopped that outlasts its limit. */
export const RUN_LIMIT = 'run_limit';

export class Scheduler {
  private readonly options: SchedulerOptions;
  private state: ScheduleState = {};
  private running: {
    readonly pipelines: readonly string[];
    readonly sinceMs: number;
    readonly run: StartedRun;
  } | null = null;
  private lockedOut = 0;

  private constructor(options: SchedulerOptions) {
    this.options = options;
  }

  /** Reads what was started and finished before. */
  static async open(options: SchedulerOptions): Promise<Scheduler> {
    const scheduler = new Scheduler(options);
    scheduler.state = (await readSchedule(options.context.state.db)) ?? {};
    await scheduler.learn();
    return scheduler;
  }

  get view(): SchedulerView {
    const { schedules, context } = this.options;
    const nowMs = context.clock.now();
    const { running } = this;
    return {
      nextMs: nextDue(schedules, nowMs),
      missedMs: running ? null : waitingSince(schedules, this.state, nowMs),
      running: running && { pipelines: running.pipelines, sinceMs: running.sinceMs },
    };
  }

  /** Ends the run at work, if there is one, by force. */
  kill(): void {
    this.running?.run.kill();
  }

  /** Starts what is due until the signal is aborted, then asks the run at work to stop and waits for its end. Never rejects. */
  async work(signal: AbortSignal): Promise<void> {
    const { context, schedules } = this.options;
    const { clock, log } = context;
    while (!signal.aborted) {
      try {
        await this.learn();
        const due = dueNow(schedules, this.state, clock.now());
        if (due.length > 0) await this.perform(due, signal);
        if (!signal.aborted) await this.rest(signal);
      } catch (thrown) {
        if (signal.aborted) return;
        // The state could not be written, or something of ours is wrong: the runs to come must not suffer from it.
        const { message, code } = asEtlError(thrown);
        log.error(`the scheduler failed and goes on: ${message}`, { code });
        await clock.sleep(MINUTE_MS, signal).catch(() => undefined);
      }
    }
  }

  /** Pipelines that were never seen are due from now on. */
  private async learn(): Promise<void> {
    const { schedules, context } = this.options;
    const known = knowing(schedules, this.state, context.clock.now());
    if (known === this.state) return;
    await writeSchedule(context.state, known);
    this.state = known;
  }

  private async rest(signal: AbortSignal): Promise<void> {
    const { context, schedules } = this.options;
    const { clock } = context;
    const pauses = Math.min(this.lockedOut, LONGEST_PAUSE_MINUTES);
    if (pauses > 0) {
      for (let i = 0; i < pauses; i++) await clock.sleep(MINUTE_MS, signal);
      return;
    }
    if (dueNow(schedules, this.state, clock.now()).length > 0) return;
    const nextMs = nextDue(schedules, clock.now()) ?? Number.POSITIVE_INFINITY;
    await clock.sleep(Math.max(1, Math.min(MINUTE_MS, nextMs - clock.now())), signal);
  }

  private async perform(due: readonly Due[], signal: AbortSignal): Promise<void> {
    const { context, start } = this.options;
    const { clock } = context;
    const before = this.state;
    const begun = whenStarted(before, due, clock.now());
    // Recorded first: a run that takes the whole machine down with it must not be begun for ever.
    await writeSchedule(context.state, begun);
    this.state = begun;
    this.tellBegin(due);
    const pipelines = due.map(({ pipeline }) => pipeline);
    const run = start(pipelines);
    this.running = { pipelines, sinceMs: clock.now(), run };
    const end = await this.watched(run, pipelines, signal);
    this.running = null;
    this.state = this.after(due, before, end, signal);
    this.lockedOut = end.kind === 'locked' || end.kind === 'lost' ? this.lockedOut + 1 : 0;
    await writeSchedule(context.state, this.state);
    this.tellEnd(due, end);
  }

  private after(due: readonly Due[], before: ScheduleState, end: RunEnd, signal: AbortSignal): ScheduleState {
    const { clock } = this.options.context;
    if (end.kind === 'locked') return before;
    if (end.kind === 'lost') return this.state;
    if (signal.aborted && end.result === 'interrupted') return whenStopped(this.state, due, end.runId, clock.now());
    return whenEnded(this.state, due, end, clock.now());
  }

  /** Waits for the end of the run; sees to it that it comes when its time or ours is over. */
  private async watched(run: StartedRun, pipelines: readonly string[], signal: AbortSignal): Promise<RunEnd> {
    const stop = () => run.stop(new EtlError('failed', 'interrupted', 'serve is ending'));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    const over = new AbortController();
    const limiting = this.limit(run, pipelines, over.signal);
    try {
      return await run.ended;
    } finally {
      signal.removeEventListener('abort', stop);
      over.abort();
      await limiting;
    }
  }

  private async limit(run: StartedRun, pipelines: readonly string[], over: AbortSignal): Promise<void> {
    const { context, runLimitMinutes } = this.options;
    const { clock, log } = context;
    const named = pipelines.join(', ');
    try {
      await clock.sleep(runLimitMinutes * MINUTE_MS, over);
      const text = `the run of ${named} was stopped at its limit of ${runLimitMinutes} minutes`;
      log.error(`${text}; it ends after the slice in hand`, { code: RUN_LIMIT, pipelines });
      const hint = 'the next run goes on where it stopped; serve.runLimitMinutes in the settings is the limit';
      run.stop(new EtlError('failed', RUN_LIMIT, text, { hint }));
      await clock.sleep(HUNG_AFTER_MS, over);
      log.error(`the run of ${named} was asked to stop a minute ago and hangs`, { code: 'run_hangs', pipelines });
      await clock.sleep(KILL_AFTER_MS, over);
      log.error(`the run of ${named} still hangs and is ended by force`, { code: 'run_killed', pipelines });
      run.kill();
    } catch (thrown) {
      if (!over.aborted) throw thrown;
    }
  }

  private tellBegin(due: readonly Due[]): void {
    const { clock, log } = this.options.context;
    if (this.lockedOut > 0) return;
    const pipelines = due.map(({ pipeline }) => pipeline);
    const dueMs = Math.min(...due.map((one) => one.dueMs));
    const late = clock.now() - dueMs > LATE_MS ? ', late' : '';
    log.info(`a scheduled run begins${late}`, { pipelines, due_at: isoTime(dueMs) });
  }

  private tellEnd(due: readonly Due[], end: RunEnd): void {
    const { log } = this.options.context;
    const pipelines = due.map(({ pipeline }) => pipeline);
    if (end.kind === 'locked') {
      if (this.lockedOut === 1)
        log.warn('a scheduled run waits, since another run holds the lock; it is tried again', { pipelines });
      return;
    }
    if (end.kind === 'lost') {
      const tries = Math.max(...pipelines.map((name) => this.state[name]?.last?.tries ?? 0));
      const next = tries >= MOST_TRIES ? `given up after ${tries} tries` : 'it is tried again';
      log.error(`a scheduled run was lost: ${end.how}; ${next}`, { code: 'run_lost', pipelines });
      return;
    }
    const { result, runId } = end;
    const text = `a scheduled run has ended: ${result.replaceAll('_', ' ')}`;
    const level = result === 'failed' || result === 'refused' ? 'error' : LEVELS[result];
    log[level](text, { pipelines, ...(runId ? { run: runId } : {}) });
  }
}

const LEVELS = { done: 'info', set_aside: 'warn', interrupted: 'warn', nothing_due: 'debug' } as const;
