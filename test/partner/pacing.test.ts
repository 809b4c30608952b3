import fc from 'fast-check';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LONGEST_HOLD_MS } from '../../src/partner/pacing/budget.ts';
import { Pacing } from '../../src/partner/pacing/pacing.ts';
import type { EndpointBudget } from '../../src/partner/settings.ts';
import { changeBudget } from '../../src/store/tables/budget.ts';
import { errorOf, Scene } from './scene.ts';

const START_MS = Date.UTC(2026, 2, 14, 3, 0, 0);
/** What is added to the window of a call whose answer has not come: requests differ in how long they are on their way. */
const SHORT_MARGIN_MS = 250;
const LONG_MARGIN_MS = 10_000;
const wide: EndpointBudget = { calls: 1000, perSeconds: 1, concurrency: 1000 };

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
});
afterEach(() => scene.close());

/** Pacing as a new process has it. */
function pacing(): Pacing {
  const { state, clock, log } = scene;
  return new Pacing({ state, clock, log });
}

/** Makes `count` calls that take no time; when each was sent, in milliseconds after the start. */
async function sendTimes(count: number, budget: EndpointBudget, by = pacing()): Promise<number[]> {
  const times: number[] = [];
  const call = async () => {
    const turn = await by.turn('things', budget);
    times.push(scene.clock.now() - START_MS);
    turn.sent();
    turn.done();
  };
  await Promise.all(Array.from({ length: count }, call));
  return times;
}

/** The most calls that lie in any window of so many milliseconds. */
function mostInWindow(times: readonly number[], windowMs: number): number {
  return Math.max(...times.map((from) => times.filter((ms) => ms >= from && ms < from + windowMs).length));
}

describe('a budget', () => {
  test('lets the first calls go at once and the others when their window has passed', async () => {
    const windowMs = 1000 + SHORT_MARGIN_MS;
    const times = await sendTimes(7, { calls: 3, perSeconds: 1, concurrency: 9 });
    expect(times).toEqual([0, 0, 0, windowMs, windowMs, windowMs, 2 * windowMs]);
  });

  test('is not passed in any window, whenever the calls come and however long they take', async () => {
    const steps = fc.array(
      fc.record({ gapMs: fc.integer({ min: 0, max: 900 }), lasts: fc.integer({ min: 0, max: 3000 }) }),
      {
        minLength: 1,
        maxLength: 25,
      },
    );
    const budgets = fc.record({
      calls: fc.integer({ min: 1, max: 5 }),
      perSeconds: fc.integer({ min: 1, max: 3 }),
      concurrency: fc.integer({ min: 1, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(steps, budgets, async (calls, budget) => {
        const by = pacing();
        const sent: number[] = [];
        const order: number[] = [];
        let running = 0;
        let mostRunning = 0;
        const work: Promise<void>[] = [];
        for (const [i, { gapMs, lasts }] of calls.entries()) {
          await scene.clock.sleep(gapMs);
          const make = async () => {
            const turn = await by.turn('things', budget);
            order.push(i);
            running += 1;
            mostRunning = Math.max(mostRunning, running);
            await scene.clock.sleep(lasts / 10);
            turn.sent();
            sent.push(scene.clock.now());
            await scene.clock.sleep(lasts);
            running -= 1;
            turn.done();
          };
          work.push(make());
        }
        await Promise.all(work);
        expect(mostInWindow(sent, budget.perSeconds * 1000)).toBeLessThanOrEqual(budget.calls);
        expect(mostRunning).toBeLessThanOrEqual(budget.concurrency);
        expect(order).toEqual([...order].sort((a, b) => a - b));
      }),
      { numRuns: 25, seed: 4711 },
    );
  });

  test('counts a call from when it is sent, not from when its turn came', async () => {
    const by = pacing();
    const budget = { calls: 1, perSeconds: 1, concurrency: 5 };
    const first = await by.turn('things', budget);
    const second = by.turn('things', budget);
    await scene.clock.advance(5000);
    first.sent();
    await second;
    expect(scene.clock.now() - START_MS).toBe(6000 + SHORT_MARGIN_MS);
  });

  test('of one endpoint is none of the other’s business', async () => {
    const by = pacing();
    const budget = { calls: 1, perSeconds: 60_000, concurrency: 1 };
    await by.turn('one', budget);
    await by.turn('other', budget);
    expect(scene.clock.now()).toBe(START_MS);
  });

  test('goes on after the clock was set back', async () => {
    const by = pacing();
    const budget = { calls: 1, perSeconds: 1, concurrency: 1 };
    await sendTimes(1, budget, by);
    scene.clock.set(START_MS - 10_000_000);
    expect(await sendTimes(1, budget, by)).toEqual([1000 + SHORT_MARGIN_MS - 10_000_000]);
  });

  test('waits without looking again and again', async () => {
    await sendTimes(10, { calls: 1, perSeconds: 30, concurrency: 1 });
    expect(scene.clock.slept).toEqual(Array<number>(9).fill(30_000 + 2 * SHORT_MARGIN_MS));
  });
});

describe('what is told of a budget', () => {
  test('is how many calls waited for their turn, and for how long all of them together, by endpoint', async () => {
    const by = pacing();
    expect(by.waits()).toEqual({});
    const windowMs = 1000 + SHORT_MARGIN_MS;
    await sendTimes(7, { calls: 3, perSeconds: 1, concurrency: 9 }, by);
    await by.turn('others', wide);
    expect(by.waits()).toEqual({ things: { calls: 4, ms: 3 * windowMs + 2 * windowMs } });
  });

  test('is for how many calls there is room now: none while the endpoint is held back', async () => {
    const by = pacing();
    const budget = { calls: 3, perSeconds: 1, concurrency: 9 };
    expect(by.left('things', budget)).toBeNull();
    await sendTimes(2, budget, by);
    expect(by.left('things', budget)).toBe(1);
    await scene.clock.advance(1000 + SHORT_MARGIN_MS);
    expect(by.left('things', budget)).toBe(3);
    await by.hold('things', scene.clock.now() + 500);
    expect(by.left('things', budget)).toBe(0);
  });

  test('is known when it was looked at, with the calls of others', async () => {
    const budget = { calls: 8, perSeconds: 3600, concurrency: 1 };
    const by = pacing();
    await sendTimes(2, budget);
    expect(by.left('things', budget)).toBeNull();
    await sendTimes(1, budget, by);
    expect(by.left('things', budget)).toBe(5);
    scene.clock.set(START_MS + 3_600_000 + LONG_MARGIN_MS);
    expect(by.left('things', budget)).toBe(8);
  });
});

describe('concurrency', () => {
  test('is filled, and a turn that is done makes room for the next', async () => {
    const by = pacing();
    const budget = { ...wide, concurrency: 2 };
    const [a, b] = [await by.turn('things', budget), await by.turn('things', budget)];
    let given = 0;
    const more = [1, 2].map(() => by.turn('things', budget).then(() => given++));
    await scene.clock.advance(100_000);
    expect(given).toBe(0);
    a.done();
    a.done(); // once is enough
    await more[0];
    await scene.clock.advance(0);
    expect(given).toBe(1);
    b.done();
    await more[1];
    expect(given).toBe(2);
  });
});

describe('order', () => {
  test('is that of asking, but who has been there before goes first', async () => {
    const by = pacing();
    const budget = { ...wide, concurrency: 1 };
    const first = await by.turn('things', budget);
    const order: string[] = [];
    const ask = (name: string, ticket?: number) =>
      by.turn('things', budget, { ticket }).then((turn) => {
        order.push(name);
        turn.done();
      });
    const work = [ask('second'), ask('third'), ask('first again', first.ticket)];
    first.done();
    await Promise.all(work);
    expect(order).toEqual(['first again', 'second', 'third']);
  });

  test('one who leaves holds nobody up', async () => {
    const by = pacing();
    const budget = { ...wide, concurrency: 1 };
    const first = await by.turn('things', budget);
    const stop = new AbortController();
    const leaver = errorOf(by.turn('things', budget, { signal: stop.signal }));
    const last = by.turn('things', budget);
    stop.abort(new Error('enough'));
    expect((await leaver).message).toBe('enough');
    first.done();
    await last;
    expect((await errorOf(by.turn('things', budget, { signal: stop.signal }))).message).toBe('enough');
  });

  test('one who leaves while asleep leaves nothing behind', async () => {
    scene.clock.passUpTo(0);
    const by = pacing();
    await sendTimes(1, { calls: 1, perSeconds: 5, concurrency: 1 }, by);
    const stop = new AbortController();
    const leaver = errorOf(by.turn('things', { calls: 1, perSeconds: 5, concurrency: 1 }, { signal: stop.signal }));
    await scene.clock.asleep((ms) => ms > 5000);
    stop.abort(new Error('enough'));
    await leaver;
    await scene.clock.advance(0);
    expect(scene.clock.sleeping).toEqual([]);
  });
});

describe('a hold', () => {
  test('lets nobody go before its end', async () => {
    const by = pacing();
    await by.hold('things', START_MS + 5000);
    await by.hold('things', START_MS + 3000);
    expect(await sendTimes(2, wide, by)).toEqual([5000, 5000]);
  });

  test('that comes while somebody sleeps is kept by him too', async () => {
    scene.clock.passUpTo(0);
    const by = pacing();
    await by.hold('things', START_MS + 1000);
    const times = sendTimes(1, wide, by);
    await scene.clock.asleep((ms) => ms === 1000);
    await by.hold('things', START_MS + 9000);
    await scene.clock.advance(1000);
    await scene.clock.asleep((ms) => ms === 8000);
    await scene.clock.advance(8000);
    expect(await times).toEqual([9000]);
  });

  test('is never longer than an hour', async () => {
    const by = pacing();
    await by.hold('things', START_MS + 1e12);
    expect(by.heldUntilMs('things')).toBe(START_MS + LONGEST_HOLD_MS);
    expect(await sendTimes(1, wide, by)).toEqual([LONGEST_HOLD_MS]);
  });

  test('is known to processes that begin later, and to those at work a second later', async () => {
    const [one, other] = [pacing(), pacing()];
    await sendTimes(1, wide, other);
    await scene.clock.advance(1000);
    await one.hold('things', START_MS + 20_000);
    expect(await sendTimes(1, wide, other)).toEqual([20_000]);
    await one.hold('things', START_MS + 40_000);
    expect(await sendTimes(1, wide)).toEqual([40_000]);
  });
});

describe('a budget that spans a minute or more', () => {
  const hourly: EndpointBudget = { calls: 10, perSeconds: 3600, concurrency: 10 };

  test('is kept by two processes together', async () => {
    const times = (await Promise.all([sendTimes(8, hourly), sendTimes(9, hourly)])).flat().sort((a, b) => a - b);
    expect(mostInWindow(times, 3_600_000)).toBe(10);
    expect(times.filter((ms) => ms === 0)).toHaveLength(10);
    expect(times.filter((ms) => ms >= 3_600_000 + LONG_MARGIN_MS)).toHaveLength(7);
  });

  test('outlives the process', async () => {
    await sendTimes(10, hourly);
    expect(await sendTimes(1, hourly)).toEqual([3_600_000 + LONG_MARGIN_MS]);
  });

  test('waits an hour, and not until the old time comes again, after the clock was set back', async () => {
    const aheadMs = START_MS + 1e11;
    const other = { id: 'other', seenMs: aheadMs, demand: 0, leavesMs: Array<number>(10).fill(aheadMs) };
    await changeBudget(scene.state, { endpoint: 'things', isSynced: false }, () => ({
      heldUntilMs: 0,
      askers: [other],
    }));
    expect(await sendTimes(1, hourly)).toEqual([3_600_000 + LONG_MARGIN_MS]);
  });

  test('does not let one go where it cannot be counted, and says so', async () => {
    await sql`DROP TABLE budget`.execute(scene.state.db);
    await expect(sendTimes(1, hourly)).rejects.toThrow('budget');
  });
});
