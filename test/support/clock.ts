import { subscribe } from 'node:diagnostics_channel';
import type { Clock } from '../../src/core/clock.ts';

interface Sleeper {
  readonly ms: number;
  readonly dueMs: number;
  readonly wake: () => void;
}

interface Watcher {
  readonly isDone: () => boolean;
  readonly tell: () => void;
}

/** Requests of this process that were written and have not come to a server of this process. */
let underWay = 0;
subscribe('undici:client:sendHeaders', () => {
  underWay += 1;
});
subscribe('http.server.request.start', () => {
  underWay = Math.max(0, underWay - 1);
});
/** A request that has not come after so many turns of the loop never will. */
const LOST_TURNS = 1000;

/**
 * A clock that stands still until it is driven. `advance` moves it by hand; after `passUpTo(ms)` sleeps of at most that length
 * pass by themselves, one after the other, as soon as nothing else can be done at once. So pauses pass, while guards (timeouts,
 * which are longer) fire only when a test advances the clock: real answers over the loopback take no time on it, and no request
 * comes later than it was sent.
 */
export class FakeClock implements Clock {
  /** Every sleep that was asked for, in milliseconds and in order. */
  readonly slept: number[] = [];
  private nowMs: number;
  private passesUpToMs = -1;
  private sleepers: Sleeper[] = [];
  private watchers: Watcher[] = [];

  constructor(nowMs = Date.UTC(2026, 2, 14, 3, 0, 0)) {
    this.nowMs = nowMs;
  }

  now(): number {
    return this.nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = () => {
        this.sleepers = this.sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener('abort', stop);
        resolve();
      };
      const sleeper: Sleeper = { ms, dueMs: this.nowMs + Math.max(0, ms), wake };
      this.slept.push(ms);
      this.sleepers.push(sleeper);
      signal?.addEventListener('abort', stop, { once: true });
      for (const watcher of this.watchers.filter(({ isDone }) => isDone())) watcher.tell();
      this.watchers = this.watchers.filter(({ isDone }) => !isDone());
      if (ms <= this.passesUpToMs) setImmediate(() => this.passOne(LOST_TURNS));
    });
  }

  /** From now on sleeps of at most `ms` pass by themselves. */
  passUpTo(ms: number): this {
    this.passesUpToMs = ms;
    return this;
  }

  /** Sleeps under way, in milliseconds as asked for. */
  get sleeping(): number[] {
    return this.sleepers.map(({ ms }) => ms);
  }

  /** Resolves when somebody (or `count` of them at once) sleeps for such a time, at once when that is so already. */
  asleep(matches: (ms: number) => boolean, count = 1): Promise<void> {
    const isDone = () => this.sleepers.filter(({ ms }) => matches(ms)).length >= count;
    if (isDone()) return Promise.resolve();
    return new Promise((tell) => {
      this.watchers.push({ isDone, tell });
    });
  }

  /** Moves the clock, waking each sleeper at its time; what they do next without waiting is done when this resolves. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms;
    await turnOfTheLoop();
    for (;;) {
      const next = this.earliest(({ dueMs }) => dueMs <= untilMs);
      if (!next) break;
      this.wakeAt(next.dueMs);
      await turnOfTheLoop();
    }
    this.nowMs = untilMs;
  }

  /** Sets the clock without waking anybody, as an operator does; also back. */
  set(nowMs: number): void {
    this.nowMs = nowMs;
  }

  private passOne(turns: number): void {
    if (turns === 0) underWay = 0;
    if (underWay > 0) return void setImmediate(() => this.passOne(turns - 1));
    const next = this.earliest(({ ms }) => ms <= this.passesUpToMs);
    if (next) this.wakeAt(next.dueMs);
  }

  private wakeAt(dueMs: number): void {
    this.nowMs = Math.max(this.nowMs, dueMs);
    const due = this.sleepers.filter((sleeper) => sleeper.dueMs <= this.nowMs).sort((a, b) => a.dueMs - b.dueMs);
    this.sleepers = this.sleepers.filter((sleeper) => !due.includes(sleeper));
    for (const sleeper of due) sleeper.wake();
  }

  private earliest(of: (sleeper: Sleeper) => boolean): Sleeper | undefined {
    return this.sleepers.filter(of).sort((a, b) => a.dueMs - b.dueMs)[0];
  }
}

async function turnOfTheLoop(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}
