/**
 * Pacing: no call without a turn. An endpoint's turns are given in order of asking, as far as four things allow:
 *   concurrency   so many calls at once
 *   hold          nobody before the instant that the service named (Retry-After, an exhausted rate limit)
 *   budget        so many calls in ANY window of `perSeconds`, not only on average: the times of the last calls are kept
 *   shared budget the same over all processes, where the window is a minute or longer (shared-pace.ts)
 *
 * A lane (one endpoint) has one driver, which is asleep or gives turns: it sleeps until the instant at which the first in the
 * queue may go, and is woken when something changes. Invariants: a waiter is in the queue, or has its turn, or was rejected;
 * `running` is the number of turns that are not done; a call without a known time of sending fills its place in the budget.
 */
import { once } from 'node:events';
import type { Clock } from '../core/clock.ts';
import { isoTime } from '../core/clock.ts';
import { assert } from '../core/errors.ts';
import type { HomePaths } from '../core/home.ts';
import type { Log } from '../core/log.ts';
import type { EndpointBudget } from './settings.ts';
import { SharedPace, SPANNING_FROM_SECONDS } from './shared-pace.ts';

/** However long the service wants us to wait, somebody who waits looks again after this. */
export const LONGEST_HOLD_MS = 3_600_000;
/** Requests are not equally long on their way, so the service may see two a little closer together than we sent them. */
const ARRIVAL_MARGIN_MS = 50;
/** How old our knowledge of other processes' holds may be. */
const SHARED_HOLD_AGE_MS = 1_000;
/** Shorter holds are over before another process has read of them. */
const SHORTEST_SHARED_HOLD_MS = 2_000;

/** A call's place in the pacing: to be ended by `done`, whatever became of the call. */
export interface Turn {
  /** Keeps the place of a call that asks again: lower ones go first. */
  readonly ticket: number;
  /** The request is being written into its connection. */
  sent(): void;
  done(): void;
}

export interface TurnOptions {
  readonly signal?: AbortSignal | undefined;
  /** Of the call's earlier turn. */
  readonly ticket?: number | undefined;
}

export interface PacingOptions {
  readonly home: HomePaths;
  readonly clock: Clock;
  readonly log: Log;
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

  /** Holds every further call of the endpoint back until an instant (epoch milliseconds), at most LONGEST_HOLD_MS from now. */
  async hold(endpoint: string, untilMs: number): Promise<void> {
    await this.lane(endpoint).hold(untilMs);
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
  readonly budget: EndpointBudget;
  readonly give: (turn: Turn) => void;
  readonly refuse: (error: unknown) => void;
}

/** A call that still counts in the budget. `sentMs` is null until it is written. */
interface CountedCall {
  sentMs: number | null;
}

class Lane {
  heldUntilMs = 0;
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly endpoint: string;
  private readonly shared: SharedPace;
  private sharedHoldReadMs = Number.NEGATIVE_INFINITY;
  private readonly queue: Waiter[] = [];
  private calls: CountedCall[] = [];
  private running = 0;
  private tickets = 0;
  private isDriven = false;
  /** Counts what may let somebody go earlier than was thought. */
  private changes = 0;
  private wake: () => void = () => undefined;

  constructor(endpoint: string, { home, clock, log }: PacingOptions) {
    this.endpoint = endpoint;
    this.clock = clock;
    this.log = log;
    this.shared = new SharedPace(endpoint, home, clock, log);
  }

  turn(budget: EndpointBudget, { signal, ticket }: TurnOptions): Promise<Turn> {
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
      const behind = this.queue.findIndex((other) => other.ticket > waiter.ticket);
      this.queue.splice(behind < 0 ? this.queue.length : behind, 0, waiter);
      if (behind === 0) this.changed();
      void this.drive();
    });
  }

  async hold(untilMs: number): Promise<void> {
    const nowMs = this.clock.now();
    const cappedMs = Math.min(untilMs, nowMs + LONGEST_HOLD_MS);
    if (cappedMs <= Math.max(nowMs, this.heldUntilMs)) return;
    this.heldUntilMs = cappedMs;
    if (cappedMs - nowMs < SHORTEST_SHARED_HOLD_MS) return;
    try {
      await this.shared.hold(cappedMs);
    } catch (error) {
      // This process keeps the hold; the others may learn of it the way we did.
      this.log.warn(`the hold of ${this.endpoint} until ${isoTime(cappedMs)} could not be shared`, { error });
    }
  }

  private async drive(): Promise<void> {
    if (this.isDriven) return;
    this.isDriven = true;
    while (this.queue.length > 0) {
      const seen = this.changes;
      const budget = this.queue[0]!.budget;
      try {
        const waitMs = await this.waitMs(budget);
        if (waitMs > 0) await this.pause(waitMs, seen);
        else this.giveTurn();
      } catch (error) {
        this.queue.shift()?.refuse(error);
      }
    }
    this.isDriven = false;
  }

  /** Milliseconds until the first in the queue may go, 0 for now; Infinity where only a change can tell. */
  private async waitMs(budget: EndpointBudget): Promise<number> {
    if (this.running >= budget.concurrency) return Number.POSITIVE_INFINITY;
    await this.readSharedHold();
    const heldMs = this.heldUntilMs - this.clock.now();
    if (heldMs > 0) return heldMs;
    return budget.perSeconds >= SPANNING_FROM_SECONDS ? this.shared.take(budget) : this.ownWaitMs(budget);
  }

  private ownWaitMs(budget: EndpointBudget): number {
    const nowMs = this.clock.now();
    const windowMs = budget.perSeconds * 1000 + ARRIVAL_MARGIN_MS;
    // A time in the future comes from a clock that was set back since; it counts as just now.
    for (const call of this.calls) if (call.sentMs !== null && call.sentMs > nowMs) call.sentMs = nowMs;
    this.calls = this.calls.filter(({ sentMs }) => sentMs === null || nowMs - sentMs < windowMs);
    if (this.calls.length < budget.calls) return 0;
    const sent = this.calls.flatMap(({ sentMs }) => sentMs ?? []).sort((a, b) => a - b);
    const leaving = sent[this.calls.length - budget.calls];
    return leaving === undefined ? Number.POSITIVE_INFINITY : leaving + windowMs - nowMs;
  }

  private giveTurn(): void {
    const waiter = this.queue.shift();
    if (!waiter) return; // it left while its place in a shared budget was being counted
    const call: CountedCall = { sentMs: null };
    if (waiter.budget.perSeconds < SPANNING_FROM_SECONDS) this.calls.push(call);
    this.running += 1;
    let isDone = false;
    const sent = () => {
      call.sentMs = this.clock.now();
      this.changed();
    };
    const done = () => {
      if (isDone) return;
      isDone = true;
      this.running -= 1;
      call.sentMs ??= this.clock.now();
      this.changed();
    };
    waiter.give({ ticket: waiter.ticket, sent, done });
  }

  /** Sleeps until the time has come or something has changed since `seen`. */
  private async pause(waitMs: number, seen: number): Promise<void> {
    if (this.changes !== seen) return;
    const woken = new AbortController();
    this.wake = () => woken.abort();
    if (waitMs === Number.POSITIVE_INFINITY) await once(woken.signal, 'abort');
    else await this.clock.sleep(Math.min(waitMs, LONGEST_HOLD_MS), woken.signal).catch(() => undefined);
    this.wake = () => undefined;
  }

  private changed(): void {
    this.changes += 1;
    this.wake();
  }

  private async readSharedHold(): Promise<void> {
    const nowMs = this.clock.now();
    if (Math.abs(nowMs - this.sharedHoldReadMs) < SHARED_HOLD_AGE_MS) return;
    this.sharedHoldReadMs = nowMs;
    const sharedMs = await this.shared.heldUntilMs();
    this.heldUntilMs = Math.max(this.heldUntilMs, Math.min(sharedMs, nowMs + LONGEST_HOLD_MS));
  }
}
