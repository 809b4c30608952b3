/**
 * Pacing: no call without a turn. An endpoint's turns are given in order of asking, as far as three things allow:
 *   concurrency   so many calls at once
 *   hold          nobody before the instant that the service named (Retry-After, an exhausted rate limit)
 *   budget        so many calls in ANY window of `perSeconds`, not only on average (call-window.ts); over all processes, where the
 *                 window is a minute or longer (shared-pace.ts) or the budget says that it is shared (share.ts)
 *
 * A lane (one endpoint) has one driver, which is asleep or gives turns: it sleeps until the instant at which the first in the
 * queue may go, and is woken when something changes. Invariants: a waiter is in the queue, or has its turn, or was rejected;
 * `running` is the number of turns that are not done; a call without a known time of sending fills its place in the budget.
 */
import type { Clock } from '../core/clock.ts';
import { isoTime } from '../core/clock.ts';
import { assert } from '../core/errors.ts';
import type { HomePaths } from '../core/home.ts';
import type { Log } from '../core/log.ts';
import type { CallWait, WaitReason } from '../core/progress.ts';
import type { BudgetWait } from '../core/records.ts';
import { CallWindow } from './call-window.ts';
import type { EndpointBudget } from './settings.ts';
import { BudgetShare } from './share.ts';
import { SharedPace, SPANNING_FROM_SECONDS } from './shared-pace.ts';

/** However long the service wants us to wait, somebody who waits looks again after this. */
export const LONGEST_HOLD_MS = 3_600_000;
/** How old our knowledge of other processes' holds may be. */
const SHARED_HOLD_AGE_MS = 1_000;
/** Shorter holds are over before another process has read of them. */
const SHORTEST_SHARED_HOLD_MS = 2_000;
/** Shorter waits are over before anybody wonders. */
const SHORTEST_TOLD_MS = 5_000;
/** Who had his turn earlier than this waited for our own bookkeeping, and not for a budget. */
const SHORTEST_WAIT_MS = 5;

/** A call's place in the pacing: to be ended by `done`, whatever became of the call. */
export interface Turn {
  /** Keeps the place of a call that asks again: lower ones go first. */
  readonly ticket: number;
  /** The request is being written into its connection. */
  sent(): void;
  /** The head of its answer has come. */
  answered(): void;
  done(): void;
}

export interface TurnOptions {
  readonly signal?: AbortSignal | undefined;
  /** Of the call's earlier turn. */
  readonly ticket?: number | undefined;
  /** What is told on the way to the turn is told here; by default to the log of all. */
  readonly log?: Log;
}

export interface PacingOptions {
  readonly home: HomePaths;
  readonly clock: Clock;
  readonly log: Log;
  /** Told when calls begin to wait for long; absent: nobody asks. */
  readonly onWait?: (wait: CallWait) => void;
}

export class Pacing {
  private readonly options: PacingOptions;
  private readonly lanes = new Map<string, Lane>();

  constructor(options: PacingOptions) {
    this.options = options;
  }

  /** Resolves when the call may be made. Rejects with the signal's reason, or when the shared budget cannot be read. */
  turn(endpoint: string, budget: EndpointBudget, options: TurnOptions = {}): Promise<Turn> {
    return this.lane(endpoint).turn(budget, options);
  }

  /** Holds every further call of the endpoint back until an instant (epoch milliseconds by our clock), at most LONGEST_HOLD_MS from now. */
  async hold(
    endpoint: string,
    untilMs: number,
    why: WaitReason = 'retry-after',
    log = this.options.log,
  ): Promise<void> {
    await this.lane(endpoint).hold(untilMs, why, log);
  }

  /** What calls have waited so far, by endpoint. */
  waits(): Record<string, BudgetWait> {
    const waited = [...this.lanes].filter(([, { waits }]) => waits.calls > 0);
    return Object.fromEntries(waited.map(([endpoint, { waits }]) => [endpoint, { ...waits }]));
  }

  /** Calls that the endpoint's budget has room for now; null where other processes have a part in it and it was not looked at yet. */
  left(endpoint: string, budget: EndpointBudget): number | null {
    return this.lane(endpoint).left(budget);
  }

  /** Until when the endpoint is held back, as far as this process knows; in the past where it is not. */
  heldUntilMs(endpoint: string): number {
    return this.lane(endpoint).heldUntilMs;
  }

  private lane(endpoint: string): Lane {
    assert(/^[a-z0-9-]+$/.test(endpoint), `an endpoint's name becomes a file name: ${endpoint}`);
    const lane = this.lanes.get(endpoint) ?? new Lane(endpoint, this.options);
    this.lanes.set(endpoint, lane);
    return lane;
  }
}

interface Waiter {
  readonly ticket: number;
  readonly sinceMs: number;
  readonly log: Log;
  readonly budget: EndpointBudget;
  readonly give: (turn: Turn) => void;
  readonly refuse: (error: unknown) => void;
}

class Lane {
  heldUntilMs = 0;
  private heldWhy: WaitReason = 'another';
  /** What the driver waits for, and until when that was told last. */
  private waitsWhy: WaitReason = 'budget';
  private toldUntilMs = Number.NEGATIVE_INFINITY;
  private readonly onWait: (wait: CallWait) => void;
  readonly waits = { calls: 0, ms: 0 };
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly endpoint: string;
  private readonly shared: SharedPace;
  private readonly share: BudgetShare;
  private sharedHoldReadMs = Number.NEGATIVE_INFINITY;
  private readonly queue: Waiter[] = [];
  /** By seconds of the budget; an endpoint has one budget, so this is one window. */
  private readonly windows = new Map<number, CallWindow>();
  private running = 0;
  private tickets = 0;
  private isDriven = false;
  /** Counts what may let somebody go earlier than was thought. */
  private changes = 0;
  private wake: () => void = () => undefined;
  /** What the driver sleeps for: nothing but a turn that is done; nothing but a call that is sent; or a point in time. */
  private awaits: 'done' | 'sent' | 'time' = 'time';
  private sleepsUntilMs = Number.NEGATIVE_INFINITY;

  constructor(endpoint: string, { home, clock, log, onWait = () => undefined }: PacingOptions) {
    this.onWait = onWait;
    this.endpoint = endpoint;
    this.clock = clock;
    this.log = log;
    this.shared = new SharedPace(endpoint, home, clock);
    this.share = new BudgetShare(endpoint, home, clock);
  }

  turn(budget: EndpointBudget, { signal, ticket, log = this.log }: TurnOptions): Promise<Turn> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const leave = () => {
        this.queue.splice(this.queue.indexOf(waiter), 1);
        this.changed();
        reject(signal?.reason);
      };
      const stay = () => signal?.removeEventListener('abort', leave);
      const waiter: Waiter = {
        ticket: ticket ?? this.tickets++,
        sinceMs: this.clock.now(),
        log,
        budget,
        give: (turn) => {
          stay();
          resolve(turn);
        },
        refuse: (error) => {
          stay();
          reject(error);
        },
      };
      signal?.addEventListener('abort', leave, { once: true });
      // A new ticket is the highest; only who has been here before must look for his place.
      const behind = ticket === undefined ? -1 : this.queue.findIndex((other) => other.ticket > ticket);
      this.queue.splice(behind < 0 ? this.queue.length : behind, 0, waiter);
      if (behind === 0) this.changed();
      void this.drive();
    });
  }

  /** 0 while the endpoint is held back. Turns that wait for a call to end are not looked at: it is the budget that is asked about. */
  left(budget: EndpointBudget): number | null {
    const nowMs = this.clock.now();
    if (this.heldUntilMs > nowMs) return 0;
    if (budget.perSeconds >= SPANNING_FROM_SECONDS) return this.shared.left(budget);
    const calls = budget.isShared ? this.share.calls() : budget.calls;
    return Math.max(0, calls - this.window(budget.perSeconds).count(nowMs));
  }

  async hold(untilMs: number, why: WaitReason, log: Log): Promise<void> {
    const nowMs = this.clock.now();
    const cappedMs = Math.min(untilMs, nowMs + LONGEST_HOLD_MS);
    if (cappedMs <= Math.max(nowMs, this.heldUntilMs)) return;
    this.heldUntilMs = cappedMs;
    this.heldWhy = why;
    if (cappedMs - nowMs < SHORTEST_SHARED_HOLD_MS) return;
    try {
      await this.shared.hold(cappedMs);
    } catch (error) {
      // This process keeps the hold; the others may learn of it the way we did.
      log.warn(`the hold of ${this.endpoint} until ${isoTime(cappedMs)} could not be shared`, { error });
    }
  }

  private async drive(): Promise<void> {
    if (this.isDriven) return;
    this.isDriven = true;
    while (this.queue.length > 0) {
      const seen = this.changes;
      try {
        const waitMs = await this.waitMs(this.queue[0]!);
        if (waitMs > 0) {
          this.tellWait(waitMs);
          await this.pause(waitMs, seen);
        } else this.giveTurn();
      } catch (error) {
        this.queue.shift()?.refuse(error);
      }
    }
    this.isDriven = false;
  }

  /** Milliseconds until the first in the queue may go, 0 for now; Infinity where only a change can tell. */
  private async waitMs({ budget, log }: Waiter): Promise<number> {
    this.awaits = 'time';
    if (this.running >= budget.concurrency) {
      this.awaits = 'done';
      return Number.POSITIVE_INFINITY;
    }
    await this.readSharedHold();
    const heldMs = this.heldUntilMs - this.clock.now();
    this.waitsWhy = heldMs > 0 ? this.heldWhy : 'budget';
    if (heldMs > 0) return heldMs;
    if (budget.perSeconds >= SPANNING_FROM_SECONDS) return this.shared.take(budget, log);
    const waitMs = budget.isShared ? await this.sharedWaitMs(budget) : this.windowWaitMs(budget, budget.calls);
    if (waitMs === Number.POSITIVE_INFINITY) this.awaits = 'sent';
    return waitMs;
  }

  private windowWaitMs({ perSeconds }: EndpointBudget, calls: number): number {
    return this.window(perSeconds).waitMs(calls, this.clock.now());
  }

  private async sharedWaitMs(budget: EndpointBudget): Promise<number> {
    const { share } = this;
    const counted = () => this.window(budget.perSeconds).count(this.clock.now());
    if (share.dueMs(counted()) === 0) await share.look(budget, counted(), this.queue.length);
    const waitMs = this.windowWaitMs(budget, share.calls());
    // Who waits looks again in between: his part may have grown.
    return Math.min(waitMs, Math.max(1, share.dueMs(counted())));
  }

  private window(perSeconds: number): CallWindow {
    const window = this.windows.get(perSeconds) ?? new CallWindow(perSeconds, this.clock.now());
    this.windows.set(perSeconds, window);
    return window;
  }

  private giveTurn(): void {
    const waiter = this.queue.shift();
    if (!waiter) return; // it left while its place in a shared budget was being counted
    const { perSeconds } = waiter.budget;
    const window = perSeconds < SPANNING_FROM_SECONDS ? this.window(perSeconds) : null;
    const call = window?.add();
    this.running += 1;
    this.countWait(this.clock.now() - waiter.sinceMs);
    let isDone = false;
    const sent = () => {
      if (call) window?.sent(call, this.clock.now());
      if (this.awaits === 'sent') this.changed();
    };
    const answered = () => {
      if (!call || !window) return;
      window.answered(call, this.clock.now());
      // It may leave earlier than the driver had reckoned with.
      if (call.leavesMs < this.sleepsUntilMs) this.changed();
    };
    const done = () => {
      if (isDone) return;
      isDone = true;
      this.running -= 1;
      sent();
      if (this.awaits === 'done') this.changed();
    };
    waiter.give({ ticket: waiter.ticket, sent, answered, done });
  }

  private countWait(ms: number): void {
    if (ms < SHORTEST_WAIT_MS) return;
    this.waits.calls += 1;
    this.waits.ms += ms;
  }

  /** Sleeps until the time has come or something has changed since `seen`. */
  private async pause(waitMs: number, seen: number): Promise<void> {
    if (this.changes !== seen) return;
    if (waitMs === Number.POSITIVE_INFINITY) {
      await new Promise<void>((wake) => {
        this.wake = wake;
      });
    } else {
      const woken = new AbortController();
      this.wake = () => woken.abort();
      this.sleepsUntilMs = this.clock.now() + waitMs;
      await this.clock.sleep(Math.min(waitMs, LONGEST_HOLD_MS), woken.signal).catch(() => undefined);
      this.sleepsUntilMs = Number.NEGATIVE_INFINITY;
    }
    this.wake = () => undefined;
  }

  private changed(): void {
    this.changes += 1;
    this.wake();
  }

  /** Told once, and again where it becomes longer. */
  private tellWait(ms: number): void {
    const untilMs = this.clock.now() + ms;
    if (this.awaits !== 'time' || ms < SHORTEST_TOLD_MS || untilMs < this.toldUntilMs + SHORTEST_TOLD_MS) return;
    this.toldUntilMs = untilMs;
    this.onWait({ endpoint: this.endpoint, ms, why: this.waitsWhy });
  }

  private async readSharedHold(): Promise<void> {
    const nowMs = this.clock.now();
    if (Math.abs(nowMs - this.sharedHoldReadMs) < SHARED_HOLD_AGE_MS) return;
    this.sharedHoldReadMs = nowMs;
    const sharedMs = await this.shared.heldUntilMs();
    const untilMs = Math.min(sharedMs, nowMs + LONGEST_HOLD_MS);
    if (untilMs <= this.heldUntilMs) return;
    this.heldUntilMs = untilMs;
    this.heldWhy = 'another';
  }
}
