import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Day } from '../../src/core/days.ts';
import type { RunContext } from '../../src/run/context.ts';
import { runBackfill } from '../../src/run/night.ts';
import { type NightOptions, openWorld, type World } from '../support/nights.ts';

const RANGE = { from: '2026-02-26' as Day, to: '2026-03-05' as Day };
const WINDOWS = 4;

let world: World;
beforeAll(async () => {
  world = await openWorld({ lookbackDays: 2, windowDays: 2, ordersPerDay: 50 });
});
afterAll(() => world.close());

/** A backfill of the orders some time later; how many calls it made. */
async function backfill(refetch = false, options: NightOptions = {}) {
  world.clock.set(world.clock.now() + 60_000);
  world.sandbox.stats.reset();
  const outcome = await world.within((context) => runBackfill(context, ['orders'], RANGE, refetch), options);
  return { ...outcome, calls: world.sandbox.stats.calls.orders ?? 0 };
}

const inLake = () => world.within(async ({ lake }) => [...(await lake.slices('orders')).keys()]);
const ordersOff = async () => (await world.differences(RANGE)).filter((line) => line.startsWith('orders'));

/** First and last day of every window that was asked for in a run. */
async function windowsOf(context: RunContext, runId: string): Promise<{ from: Day; to: Day }[]> {
  const windows = [];
  for await (const fetch of context.raw.fetches('orders'))
    if (fetch.run_id === runId && fetch.window_from && fetch.window_to)
      windows.push({ from: fetch.window_from, to: fetch.window_to });
  return windows;
}

describe('a backfill', () => {
  it('that is interrupted publishes what it has; the same command asks only for what is missing', async () => {
    const stop = new AbortController();
    let committed = 0;
    const step = (name: string) => {
      if (name !== 'lake-committed') return;
      committed += 1;
      if (committed === 2) stop.abort(new Error('enough'));
    };
    const first = await backfill(false, { signal: stop.signal, step });
    expect(first).toMatchObject({ exitCode: 1, run: { result: 'interrupted' } });
    expect(first.errors.map(({ code }) => code)).toEqual(['interrupted']);
    const there = await inLake();
    expect(there.length).toBeGreaterThanOrEqual(4);
    expect(there.length).toBeLessThan(8);
    expect(first.published[0]?.result?.slices).toBe(there.length);

    const second = await backfill();
    expect(second).toMatchObject({ exitCode: 0, run: { result: 'done' }, errors: [] });
    expect(second.calls).toBe((8 - there.length) / 2);
    const windows = await world.within((context) => windowsOf(context, second.run.run_id));
    expect(windows.filter(({ from }) => from <= there.at(-1)!)).toEqual([]);
    expect(await inLake()).toHaveLength(8);
    expect(await ordersOff()).toEqual([]);
  });

  it('of what is there already calls nothing and changes nothing', async () => {
    const { calls, exitCode, run, published } = await backfill();
    expect({ calls, exitCode, published }).toEqual({
      calls: 0,
      exitCode: 0,
      published: [expect.objectContaining({ result: null })],
    });
    expect(run.summary).toMatchObject({ windows: 0, calls: 0, slices_changed: 0 });
  });

  it('with --refetch asks for everything again, and what is the same stays as it is', async () => {
    const { calls, exitCode, run } = await backfill(true);
    expect({ calls, exitCode }).toEqual({ calls: WINDOWS, exitCode: 0 });
    expect(run.summary).toMatchObject({ windows: WINDOWS, slices_changed: 0, slices_unchanged: 8 });
    expect(run.command).toBe('backfill orders --from 2026-02-26 --to 2026-03-05 --refetch');
  });

  it('with --refetch brings what has changed since', async () => {
    const [item] = world.sandbox.truth('orders', RANGE.from, RANGE.from);
    const { orderId, orderItemId } = item as Record<string, string>;
    world.sandbox.change({
      kind: 'restate-item',
      orderId: orderId!,
      orderItemId: orderItemId!,
      values: { quantity: 77 },
    });
    expect((await ordersOff()).length).toBeGreaterThan(0);
    expect((await backfill(true)).run.summary).toMatchObject({ slices_changed: 1, slices_unchanged: 7 });
    expect(await ordersOff()).toEqual([]);
  });

  it('gives up after three windows that fail in a row, and says so', async () => {
    const before = world.log.length;
    const step = (name: string) => {
      if (name === 'normalised') throw new Error('the disk is full');
    };
    world.sandbox.change({ kind: 'add-field', report: 'orders', field: 'voucher', value: 'x' });
    const { exitCode, errors, calls } = await backfill(true, { step });
    expect(exitCode).toBe(1);
    expect(errors.map(({ concern }) => concern.window)).toEqual([
      '2026-02-26..2026-02-27',
      '2026-02-28..2026-03-01',
      '2026-03-02..2026-03-03',
    ]);
    expect(calls).toBe(WINDOWS);
    expect(world.log.slice(before).filter(({ level }) => level === 'error')).toHaveLength(3);
  });

  it('of a pipeline that there is not is wrong usage, and names those that there are', async () => {
    const wrong = world.within(async (context) => runBackfill(context, ['order'], RANGE, false));
    await expect(wrong).rejects.toMatchObject({
      kind: 'usage',
      code: 'no_pipeline',
      hint: expect.stringContaining('orders'),
    });
  });
});
