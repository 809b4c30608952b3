/**
 * Pacing: no call without a turn. An endpoint's turns are given in order of asking, as far as two things allow: its concurrency (so
 * many calls of this process at once), and its budget, which all processes share (budget.ts).
 *
 * An endpoint's queue has one driver, which is asleep or gives turns: it sleeps until the instant at which the first in the
 * queue may go, and is woken when something changes. Invariants: a waiter is in the queue, or has its turn, or was rejected;
 * `running` is the number of turns that are not done; a call without a known time of sending fills its place in the budget.
 */
import type { Clock } from '../../core/clock.ts';
import { isoTime } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { CallWait, WaitReason } from '../../core/progress.ts';
import type { BudgetWait } from '../../core/records.ts';
import type { State } from '../../store/state.ts';
import type { EndpointBudget } from '../settings.ts';
import { type CountedCall, LONGEST_HOLD_MS, SharedBudget } from './budget.ts';

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
}

export interface PacingOptions {
  readonly state: State;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when calls begin to wait for long; absent: nobody asks. */
  readonly onWait?: (wait: CallWait) => void;
}

export class Pacing {
  private readonly options: PacingOptions;
  private readonly queues = new Map<string, EndpointQueue>();

  constructor(options: PacingOptions) {
    this.options = options;
  }

  /** Resolves when the call may be made. Rejects with the signal's reason, or when the shared budget cannot be changed. */
  turn(endpoint: string, budget: EndpointBudget, options: TurnOptions = {}): Promise<Turn> {
    return this.queue(endpoint).turn(budget, options);
  }

  /** Holds every further call of the endpoint back until an instant (epoch milliseconds by our clock), at most LONGEST_HOLD_MS from now. */
  async hold(
    endpoint: string,
    untilMs: number,
    why: WaitReason = 'retry-after',
    log = this.options.log,
  ): Promise<void> {
    try {
      await this.queue(endpoint).shared.hold(untilMs, why);
    } catch (error) {
      // This process keeps the hold; the others may learn of it the way we did.
      log.warn(`the hold of ${endpoint} until ${isoTime(untilMs)} could not be shared`, { error });
    }
  }

  /** What calls have waited so far, by endpoint. */
  waits(): Record<string, BudgetWait> {
    const waited = [...this.queues].filter(([, { waits }]) => waits.calls > 0);
    return Object.fromEntries(waited.map(([endpoint, { waits }]) => [endpoint, { ...waits }]));
  }

  /** Calls that the endpoint's budget has room for now; null where it was not looked at yet. Their concurrency is not looked at. */
  left(endpoint: string, budget: EndpointBudget): number | null {
    return this.queue(endpoint).shared.left(budget);
  }

  /** Until when the endpoint is held back, as far as this process knows; in the past where it is not. */
  heldUntilMs(endpoint: string): number {
    return this.queue(endpoint).shared.heldUntilMs;
  }

  /** Resolves when what the other processes are to know is written. */
  async close(): Promise<void> {
    await Promise.all([...this.queues.values()].map(({ published }) => published));
  }

  private queue(endpoint: string): EndpointQueue {
    const queue = this.queues.get(endpoint) ?? new EndpointQueue(endpoint, this.options);
    this.queues.set(endpoint, queue);
    return queue;
  }
}

interface Waiter {
  readonly ticket: number;
  readonly sinceMs: number;
  readonly budget: EndpointBudget;
  readonly give: (turn: Turn) => void;
  readonly refuse: (error: unknown) => void;
}

class EndpointQueue {
  readonly shared: SharedBudget;
  readonly waits = { calls: 0, ms: 0 };
  published: Promise<void> = Promise.resolve();
  private readonly options: PacingOptions;
  private readonly clock: Clock;
  private readonly endpoint: string;
  private readonly waiters: Waiter[] = [];
  private running = 0;
  private tickets = 0;
  private isDriven = false;
  /** Until when a wait was shown last. */
  private shownUntilMs = Number.NEGATIVE_INFINITY;
  /** Counts what may let somebody go earlier than was thought. */
  private changes = 0;
  private wake: () => void = () => undefined;
  /** What the driver sleeps for: nothing but a turn that is done; nothing but a call that is sent; or a point in time. */
  private awaits: 'done' | 'sent' | 'time' = 'time';
  private sleepsUntilMs = Number.NEGATIVE_INFINITY;

  constructor(endpoint: string, options: PacingOptions) {
    this.endpoint = endpoint;
    this.options = options;
    this.clock = options.clock;
    this.shared = new SharedBudget(endpoint, options.state, options.clock);
  }

  turn(budget: EndpointBudget, { signal, ticket }: TurnOptions): Promise<Turn> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const leave = () => {
        this.waiters.splice(this.waiters.indexOf(waiter), 1);
        this.changed();
        reject(signal?.reason);
      };
      const stay = () => signal?.removeEventListener('abort', leave);
      const waiter: Waiter = {
        ticket: ticket ?? this.tickets++,
        sinceMs: this.clock.now(),
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
      const behind = ticket === undefined ? -1 : this.waiters.findIndex((other) => other.ticket > ticket);
      this.waiters.splice(behind < 0 ? this.waiters.length : behind, 0, waiter);
      if (behind === 0) this.changed();
      void this.drive();
    });
  }

  private async drive(): Promise<void> {
    if (this.isDriven) return;
    this.isDriven = true;
    while (this.waiters.length > 0) {
      const seen = this.changes;
      try {
        const waitMs = await this.giveTurns(this.waiters[0]!.budget);
        if (waitMs > 0) {
          this.tellWait(waitMs);
          await this.pause(waitMs, seen);
        }
      } catch (error) {
        this.waiters.shift()?.refuse(error);
      }
    }
    this.isDriven = false;
    this.publishIfIdle();
  }

  /** Gives as many turns as may be given now. Milliseconds until the next; Infinity where only a change can tell. */
  private async giveTurns(budget: EndpointBudget): Promise<number> {
    const free = budget.concurrency - this.running;
    this.awaits = free > 0 ? 'time' : 'done';
    if (free <= 0) return Number.POSITIVE_INFINITY;
    let waitMs = this.shared.waitMs(budget);
    if (waitMs <= 0) {
      const waiting = this.waiters.length;
      const taken = await this.shared.take(budget, Math.min(free, waiting), waiting);
      for (const call of taken) this.giveTurn(call);
      if (taken.length > 0) return 0;
      waitMs = this.shared.waitMs(budget);
    }
    if (waitMs === Number.POSITIVE_INFINITY) this.awaits = 'sent';
    return waitMs;
  }

  private giveTurn(call: CountedCall): void {
    const waiter = this.waiters.shift();
    if (!waiter) {
      this.shared.giveBack(call); // it left while the call was being counted
      return;
    }
    this.running += 1;
    this.countWait(this.clock.now() - waiter.sinceMs);
    let isDone = false;
    const sent = () => {
      this.shared.sent(call);
      if (this.awaits === 'sent') this.changed();
    };
    const answered = () => {
      this.shared.answered(call);
      // It may leave earlier than the driver had reckoned with.
      if (call.leavesMs < this.sleepsUntilMs) this.changed();
    };
    const done = () => {
      if (isDone) return;
      isDone = true;
      this.running -= 1;
      sent();
      if (this.awaits === 'done') this.changed();
      this.publishIfIdle();
    };
    waiter.give({ ticket: waiter.ticket, sent, answered, done });
  }

  private publishIfIdle(): void {
    if (this.isDriven || this.running > 0) return;
    // Where it fails, our last calls count for the others some seconds longer.
    this.published = this.shared.publish().catch(() => undefined);
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

  /** Shown once, and again where it becomes longer. */
  private tellWait(ms: number): void {
    const untilMs = this.clock.now() + ms;
    if (this.awaits !== 'time' || ms < SHORTEST_TOLD_MS || untilMs < this.shownUntilMs + SHORTEST_TOLD_MS) return;
    this.shownUntilMs = untilMs;
    const why = this.shared.heldUntilMs > this.clock.now() ? this.shared.heldWhy : 'budget';
    this.options.onWait?.({ endpoint: this.endpoint, ms, why });
  }
}
