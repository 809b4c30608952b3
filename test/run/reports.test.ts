/** What plan, status, explain and rejects say, over the life of one installation. */
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addDays, type Day, daysOf } from '../../src/core/days.ts';
import { retryRejects } from '../../src/run/again.ts';
import type { RunContext } from '../../src/run/context.ts';
import { estimatePlans } from '../../src/run/estimate.ts';
import { chosenPipelines } from '../../src/run/night.ts';
import { nightPlans } from '../../src/run/plans.ts';
import type { RunOutcome } from '../../src/run/session.ts';
import { explain, listRejects } from '../../src/run/status/explain.ts';
import { type Status, statusOf } from '../../src/run/status/status.ts';
import { windowsToBackfill } from '../../src/run/window/planned-windows.ts';
import { openWorld, type World } from '../support/nights.ts';

let world: World;
let range: { readonly from: Day; readonly to: Day };
beforeAll(async () => {
  const budget = { calls: 2, perSeconds: 60, concurrency: 1 };
  const reports = { promotions: { budget }, orders: { budget }, commissions: { budget } };
  world = await openWorld({ settings: { service: { reports } } });
  range = world.lookback();
});
afterAll(() => world.close());

const nightPlan = () =>
  world.within(async (context) => estimatePlans(context, await nightPlans(context, chosenPipelines(context, []))));
const backfillPlan = (name: string, from: Day, to: Day, refetch: boolean) =>
  world.within(async (context: RunContext) => {
    const pipelines = context.pipelines.filter((p) => p.name === name);
    const plans = pipelines.map((p) => windowsToBackfill(context, p, { from, to }, refetch));
    return estimatePlans(context, await Promise.all(plans));
  });
const status = () => world.within(statusOf);
const pipelineIn = (of: Status, name: string) => of.pipelines.find(({ pipeline }) => pipeline === name);
const later = () => world.clock.set(world.clock.now() + 60_000);

describe('before the first night', () => {
  it('the plan names every window and why; bytes are not known yet', async () => {
    const plan = await nightPlan();
    expect(plan).toMatchObject({ today: '2026-03-20', calls: 6, slices: 18, bytes: null, minutes: 3 });
    expect(plan.pipelines[1]).toEqual({
      pipeline: 'orders',
      calls: 2,
      windows: [
        { from: range.from, to: addDays(range.from, 3), days: 4, reasons: { missing: 4 } },
        { from: addDays(range.from, 4), to: range.to, days: 2, reasons: { missing: 2 } },
      ],
    });
    expect(plan.fromLake).toEqual([{ target: 'duckdb', slices: 0 }]);
  });

  it('the status knows what is missing, and nothing else', async () => {
    const now = await status();
    expect(pipelineIn(now, 'orders')).toMatchObject({
      ...range,
      newest: null,
      days_behind: null,
      rows: 0,
      counts: { missing: 6 },
    });
    expect(now).toMatchObject({
      targets: [{ target: 'duckdb', slices_behind: 0, error: null }],
      holds: [],
      drift: [],
      runs: [],
    });
  });

  it('a slice that was never loaded has nothing to explain', async () => {
    const told = await world.within((context) => explain(context, 'orders', range.to));
    expect(told).toMatchObject({ content: null, held: null, fetches: [], rejects: [], targets: [{ receipts: null }] });
  });

  it('and there is nothing to retry', async () => {
    const retry = world.within((context) => retryRejects(context, 'orders'));
    await expect(retry).rejects.toMatchObject({ kind: 'usage', code: 'no_rejects' });
  });

  it('nothing was called, and nothing written', async () => {
    expect(world.sandbox.stats).toMatchObject({ calls: {}, tokenRequests: 0 });
    const lakeAndRuns = (await readdir(world.home)).filter((name) =>
      ['lake', 'raw', 'warehouse.duckdb'].includes(name),
    );
    expect(lakeAndRuns).toEqual([]);
  });
});

describe('after a first night with a row that could not be loaded and a new field', () => {
  let first: RunOutcome;
  let rejected: Day;
  beforeAll(async () => {
    rejected = range.from;
    world.sandbox.addFault({ endpoint: 'orders', kind: 'raw-value', field: 'commission', json: '"n/a"', item: 2 });
    world.sandbox.addFault({ endpoint: 'promotions', kind: 'unknown-field', field: 'voucher', times: 2 });
    first = await world.night();
    later();
  });

  it('the plan is the lookback again, with bytes and minutes to expect', async () => {
    const plan = await nightPlan();
    expect(plan).toMatchObject({ calls: 6, slices: 18, minutes: 3 });
    expect(plan.pipelines.flatMap(({ windows = [] }) => windows.map(({ reasons }) => reasons))).toEqual(
      plan.pipelines.flatMap(() => [{ lookback: 4 }, { lookback: 2 }]),
    );
    expect(plan.bytes).toBeGreaterThan(100_000);
  });

  it('the plan of a backfill names what is missing, and with refetch also what is there', async () => {
    const from = addDays(range.from, -2);
    expect(await backfillPlan('orders', from, range.from, false)).toMatchObject({
      calls: 1,
      slices: 2,
      minutes: 0.5,
      pipelines: [{ pipeline: 'orders', windows: [{ from, to: addDays(from, 1), reasons: { missing: 2 } }] }],
    });
    expect((await backfillPlan('orders', from, range.from, true)).pipelines[0]?.windows?.[0]?.reasons).toEqual({
      missing: 2,
      requested: 1,
    });
  });

  it('the status counts rows, rejects and drift, and shows the run', async () => {
    const now = await status();
    expect(pipelineIn(now, 'orders')).toMatchObject({
      newest: range.to,
      days_behind: 0,
      rejects: 1,
      counts: { missing: 0 },
    });
    expect(pipelineIn(now, 'promotions')?.counts).toMatchObject({ settled: 6, open: 0 });
    expect(now.pipelines.reduce((sum, { rows }) => sum + rows, 0)).toBe(first.run.summary?.rows);
    expect(now.drift).toEqual([
      expect.objectContaining({ pipeline: 'promotions', kind: 'unknown_field', field: 'voucher', count: 2 }),
    ]);
    expect(now.runs).toEqual([
      expect.objectContaining({ run_id: first.run.run_id, result: 'set_aside', exit_code: 3 }),
    ]);
    expect(now.targets).toEqual([{ target: 'duckdb', slices_behind: 0, error: null }]);
  });

  it('the rejects are listed with their reason and raw text, by pipeline or all', async () => {
    const list = (name: string | undefined, limit = 10) => world.within((context) => listRejects(context, name, limit));
    const [reject] = await list('orders');
    expect(reject).toMatchObject({ pipeline: 'orders', reason: 'bad_number', item: 2 });
    expect(reject?.raw).toContain('"commission":"n/a"');
    rejected = reject!.slice_day;
    expect(await list(undefined)).toEqual([reject]);
    expect(await list('promotions')).toEqual([]);
    await expect(list('order')).rejects.toMatchObject({ code: 'no_pipeline' });
  });

  it('a slice is explained by its fetches, its versions in the warehouse and its rejects', async () => {
    const told = await world.within((context) => explain(context, 'orders', rejected));
    expect(told.fetches).toEqual([expect.objectContaining({ status: 200, outcome: 'ok', run_id: first.run.run_id })]);
    expect(told.content).toMatchObject({ day: rejected, rejects: 1, fetch_id: told.fetches[0]?.fetch_id });
    expect(told.rejects.map(({ reason }) => reason)).toEqual(['bad_number']);
    const { columns, rows } = told.targets[0]!.receipts!;
    expect(rows.map((row) => row[columns.indexOf('digest')])).toEqual([told.content?.digest]);
  });

  it('a retry normalises the slices with rejects again, without a call', async () => {
    world.sandbox.stats.reset();
    const { exitCode, run } = await world.within((context) => retryRejects(context, 'orders'));
    expect(exitCode).toBe(3);
    expect(run).toMatchObject({
      command: 'rejects orders --retry',
      summary: { calls: 0, windows: 1, slices_changed: 0 },
    });
    expect(world.sandbox.stats.calls).toEqual({});
  });

  it('a retry by a newer version that understands the row loads it', async () => {
    const newer = await world.within((context) => {
      const pipelines = context.pipelines.map((p) => {
        const columns = p.columns.map((c) => (c.column === 'commission' ? { ...c, kind: 'text' as const } : c));
        return p.name === 'orders' ? { ...p, version: 2, columns } : p;
      });
      return retryRejects({ ...context, pipelines, targets: [] }, 'orders');
    });
    expect(newer.errors).toEqual([]);
    expect(newer.run.summary).toMatchObject({ rejects: 0, slices_changed: 1 });
    expect((await nightPlan()).pipelines[1]?.windows?.[0]?.reasons).toEqual({ outdated: 1, lookback: 3 });
  });
});

describe('when a day is held, one failed and the warehouse is lost', () => {
  let held: Day;
  beforeAll(async () => {
    later();
    await world.night();
    held = addDays(range.from, 1);
    world.sandbox.change({ kind: 'empty-day', report: 'orders', day: held });
    world.passDays(1);
    await world.night();
    later();
    world.sandbox.addFault({ endpoint: 'commissions', kind: 'status', status: 400, after: 1 });
    await world.night({ names: ['commissions'] });
    later();
    await rm(path.join(world.home, 'warehouse.duckdb'));
  });

  it('the status tells each day what it is', async () => {
    const now = await status();
    const orders = pipelineIn(now, 'orders');
    expect(orders?.days.map(({ day }) => day)).toEqual(daysOf({ from: range.from, to: addDays(range.to, 1) }));
    expect(orders?.days.filter(({ state }) => state === 'held')).toEqual([{ day: held, state: 'held' }]);
    const failed = pipelineIn(now, 'commissions')?.days.filter(({ state }) => state === 'failed');
    expect(failed?.map(({ day }) => day)).toEqual([range.to, addDays(range.to, 1)]);
    expect(now.holds).toEqual([
      expect.objectContaining({ pipeline: 'orders', slice_day: held, reason: 'emptied', rows: 0 }),
    ]);
    expect(now.runs.map(({ result }) => result).slice(0, 2)).toEqual(['failed', 'set_aside']);
    expect(now.runs).toHaveLength(5);
  });

  it('the failed request is told with the slice, and so is the hold', async () => {
    const failed = await world.within((context) => explain(context, 'commissions', range.to));
    expect(failed.fetches.at(-1)).toMatchObject({ status: 400, outcome: 'failed', error_code: 'http_400' });
    const told = await world.within((context) => explain(context, 'orders', held));
    expect(told.held).toMatchObject({ reason: 'emptied', rows_before: told.content?.rows });
    expect(told.targets).toEqual([{ target: 'duckdb', receipts: null, error: null }]);
  });

  it('a warehouse that lacks slices is behind the lake by them, and the plan says so', async () => {
    // Three reports, and the day on which items ended.
    const slices = pipelineIn(await status(), 'orders')!.days.length * 3 + 1;
    expect((await status()).targets).toEqual([{ target: 'duckdb', slices_behind: slices, error: null }]);
    expect((await nightPlan()).fromLake).toEqual([{ target: 'duckdb', slices }]);
  });

  it('after a sound night nothing failed any more', async () => {
    await world.night();
    const now = await status();
    expect(now.pipelines.filter(({ counts }) => counts.failed > 0)).toEqual([]);
    expect(now.targets[0]?.slices_behind).toBe(0);
  });
});
