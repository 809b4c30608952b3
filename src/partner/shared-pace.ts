/**
 * What the processes of an installation know in common about an endpoint: when it was called, for budgets that span a minute
 * or more, and until when the service wants it left alone. One small file an endpoint, changed only under its lock.
 */
import path from 'node:path';
import { z } from 'zod';
import type { Clock } from '../core/clock.ts';
import type { HomePaths } from '../core/home.ts';
import type { Log } from '../core/log.ts';
import { readIfThere, writeJson } from '../disk/atomic.ts';
import { exclusively } from './exclusive.ts';
import type { EndpointBudget } from './settings.ts';

/** Budgets over shorter times are kept by each process alone: a file would cost more than the calls. */
export const SPANNING_FROM_SECONDS = 60;
/** A call counts from its turn; the service may see it as much later, after connecting. */
const ARRIVAL_MARGIN_MS = 10_000;
/** The work under the lock takes milliseconds. */
const LOCK_WAIT_MS = 60_000;

const paceShape = z.object({
  version: z.literal(1),
  callsMs: z.array(z.number()),
  heldUntilMs: z.number(),
});
type Pace = z.infer<typeof paceShape>;

export class SharedPace {
  private readonly endpoint: string;
  private readonly file: string;
  private readonly lockFile: string;
  private readonly clock: Clock;
  /** When calls were made, as of the last look. */
  private seenMs: readonly number[] | null = null;

  constructor(endpoint: string, home: HomePaths, clock: Clock) {
    this.endpoint = endpoint;
    this.file = path.join(home.state, `pacing-${endpoint}.json`);
    this.lockFile = path.join(home.locks, `pacing-${endpoint}`);
    this.clock = clock;
  }

  /** Calls that the budget has room for, as far as this process has seen; null before it looked. */
  left(budget: EndpointBudget): number | null {
    if (this.seenMs === null) return null;
    const nowMs = this.clock.now();
    return Math.max(0, budget.calls - this.seenMs.filter((ms) => nowMs - ms < windowMsOf(budget)).length);
  }

  /** Counts a call if the budget has room for it now, and returns 0; else milliseconds until it may have. */
  async take(budget: EndpointBudget, log: Log): Promise<number> {
    return this.alone(async () => {
      const nowMs = this.clock.now();
      const windowMs = windowMsOf(budget);
      const found = await this.read();
      if (found === null) log.warn(`${this.file} is damaged: the budget of ${this.endpoint} counts as used up`);
      const pace = found ?? usedUp(budget, nowMs);
      // A time in the future comes from a clock that was set back since; it counts as just now.
      const calls = pace.callsMs.map((ms) => Math.min(ms, nowMs)).filter((ms) => nowMs - ms < windowMs);
      if (calls.length < budget.calls) {
        this.seenMs = [...calls, nowMs];
        await this.write({ ...pace, callsMs: [...calls, nowMs] });
        return 0;
      }
      this.seenMs = calls;
      if (found === null || found.callsMs.some((ms) => ms > nowMs)) await this.write({ ...pace, callsMs: calls });
      return calls.sort((a, b) => a - b)[calls.length - budget.calls]! + windowMs - nowMs;
    });
  }

  /** Until when the endpoint is held back, as far as any process has said so; 0 when nobody has. */
  async heldUntilMs(): Promise<number> {
    return (await this.read())?.heldUntilMs ?? 0;
  }

  /** Tells the other processes of a hold. */
  async hold(untilMs: number): Promise<void> {
    await this.alone(async () => {
      const pace = await this.read();
      if (pace !== null && pace.heldUntilMs < untilMs) await this.write({ ...pace, heldUntilMs: untilMs });
    });
  }

  private alone<T>(work: () => Promise<T>): Promise<T> {
    return exclusively(this.lockFile, `pacing of ${this.endpoint}`, this.clock, LOCK_WAIT_MS, work);
  }

  private async write(pace: Pace): Promise<void> {
    await writeJson(this.file, pace);
  }

  /** null where the file is damaged: how many calls were made is then unknown. */
  private async read(): Promise<Pace | null> {
    const text = await readIfThere(this.file);
    if (text === null) return { version: 1, callsMs: [], heldUntilMs: 0 };
    const parsed = paceShape.safeParse(jsonOrNull(text));
    return parsed.success ? parsed.data : null;
  }
}

function windowMsOf({ perSeconds }: EndpointBudget): number {
  return perSeconds * 1000 + ARRIVAL_MARGIN_MS;
}

function usedUp(budget: EndpointBudget, nowMs: number): Pace {
  return { version: 1, callsMs: Array<number>(budget.calls).fill(nowMs), heldUntilMs: 0 };
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
