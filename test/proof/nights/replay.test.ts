/** Again from the raw store: without a call, the same warehouse; and what was damaged on disk is named, and fixed. */
import { createHash } from 'node:crypto';
import { copyFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { addDays, type Day } from '../../../src/core/days.ts';
import type { Pipeline } from '../../../src/core/pipeline.ts';
import { runReplay } from '../../../src/run/again.ts';
import { runBackfill } from '../../../src/run/night.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { monthFolder } from '../../support/lake-folders.ts';
import { loseLake } from '../../support/lost-lake.ts';
import { openWorld, type World } from '../../support/nights.ts';

let world: World;
let first: Day;
beforeAll(async () => {
  world = await openWorld();
  first = world.lookback().from;
  await world.night();
});
afterAll(() => world.close());
beforeEach(() => {
  world.clock.set(world.clock.now() + 60_000);
  world.sandbox.stats.reset();
});

const at = (...names: string[]) => path.join(world.home, ...names);
const replay = (name: string, range = world.lookback()) => world.within((context) => runReplay(context, name, range));
const differences = async () => (await world.within(verify)).differences;

/**
 * What the facts amount to, table by table: every row without the time at which it was loaded. A row names the fetch that
 * brought it first, which a replay of a later answer with the same row does not know: `fetch_id` and since when it is so can be left out.
 */
async function facts(leftOut = ['loaded_at']): Promise<unknown[]> {
  return world.within(async ({ targets, pipelines }) => {
    const select = ({ table, keepsHistory }: Pipeline) => {
      const asides = keepsHistory && leftOut.includes('fetch_id') ? [...leftOut, 'valid_from'] : leftOut;
      return `SELECT * EXCLUDE (${asides.join(', ')}) FROM warehouse.${table} ORDER BY ALL`;
    };
    return Promise.all(
      pipelines.map(async (pipeline) => {
        const { table } = pipeline;
        const { rows } = await targets[0]!.query(select(pipeline), 100_000);
        return { table, rows: rows.length, sha256: createHash('sha256').update(JSON.stringify(rows)).digest('hex') };
      }),
    );
  });
}

async function replayAll(): Promise<void> {
  for (const name of ['promotions', 'orders', 'commissions']) expect((await replay(name)).exitCode).toBe(0);
  expect(world.sandbox.stats).toMatchObject({ calls: {}, tokenRequests: 0 });
}

describe('a replay', () => {
  it('changes nothing where nothing changed', async () => {
    const before = { facts: await facts(), written: (await stat(at('warehouse.duckdb'))).mtimeMs };
    const { run } = await replay('orders');
    expect(run).toMatchObject({
      result: 'done',
      summary: { calls: 0, slices_changed: 0, slices_unchanged: 6, windows: 2 },
    });
    await replayAll();
    expect({ facts: await facts(), written: (await stat(at('warehouse.duckdb'))).mtimeMs }).toEqual(before);
  });

  it('makes lake and warehouse again that were lost wholly, the same to the last row', async () => {
    const before = await facts();
    await loseLake(world.home);
    await rm(at('warehouse.duckdb'));
    await replayAll();
    expect(await facts()).toEqual(before);
    expect(await differences()).toEqual([]);
  });

  it('makes only the lake again where only that was lost', async () => {
    const written = (await stat(at('warehouse.duckdb'))).mtimeMs;
    await loseLake(world.home);
    await replayAll();
    expect((await stat(at('warehouse.duckdb'))).mtimeMs).toBe(written);
    expect(await differences()).toEqual([]);
  });

  it('of some days leaves the others alone', async () => {
    await loseLake(world.home, 'orders');
    const range = { from: addDays(first, 1), to: addDays(first, 2) };
    expect((await replay('orders', range)).run.summary).toMatchObject({ windows: 1, slices_changed: 2 });
    const there = await world.within(async ({ lake }) => [...(await lake.slices('orders')).keys()]);
    expect(there).toEqual([range.from, range.to]);
    await replayAll();
  });

  it('of days that were never fetched says what to do', async () => {
    const never = { from: '2020-01-01' as Day, to: '2020-01-02' as Day };
    const { exitCode, errors } = await replay('orders', never);
    expect(exitCode).toBe(2);
    expect(errors).toEqual([
      expect.objectContaining({ code: 'nothing_stored', hint: expect.stringContaining('backfill orders') }),
    ]);
  });
});

describe('a damaged answer in the raw store', () => {
  let file: string;
  beforeAll(async () => {
    file = await world.within(async ({ raw }) => {
      for await (const fetch of raw.fetches('orders')) if (fetch.window_from === first) return fetch.raw_path!;
      return '';
    });
  });

  it('is named by verify, with the fix', async () => {
    await writeFile(at(file), 'damaged');
    const found = await differences();
    expect(found.map(({ hop, pipeline, day }) => [hop, pipeline, day])).toEqual([['raw', 'orders', first]]);
    expect(found[0]?.problem).toContain(path.basename(file));
    expect(found[0]?.fix).toBe(`partner-etl backfill orders --from ${first} --to ${addDays(first, 3)} --refetch`);
  });

  it('is named by a replay, which loads the rest', async () => {
    await loseLake(world.home, 'orders');
    const { exitCode, errors, run } = await replay('orders');
    expect(exitCode).toBe(1);
    expect(errors.map(({ code, concern }) => [code, concern.file, concern.window])).toEqual([
      ['damaged_answer', at(file), `${first}..${addDays(first, 3)}`],
    ]);
    expect(run.summary).toMatchObject({ windows: 1, slices_changed: 2 });
  });

  it('is fixed as verify says', async () => {
    const range = { from: first, to: addDays(first, 3) };
    expect((await world.within((context) => runBackfill(context, ['orders'], range, true))).exitCode).toBe(0);
    expect(await differences()).toEqual([]);
    world.clock.set(world.clock.now() + 60_000);
    expect((await replay('orders')).exitCode).toBe(0);
    expect(await world.differences(world.lookback())).toEqual([]);
  });

  it('that is gone is the same', async () => {
    await rm(at(file));
    expect((await differences()).map(({ hop, fix }) => [hop, fix.includes('--refetch')])).toEqual([['raw', true]]);
    const range = { from: first, to: addDays(first, 3) };
    await world.within((context) => runBackfill(context, ['orders'], range, true));
    expect(await differences()).toEqual([]);
  });
});

describe('a damaged file of the lake', () => {
  const filesOf = async (pipeline: string) => {
    const folder = monthFolder(world.home, pipeline, first);
    const names = (await readdir(folder)).filter((name) => name.endsWith('.parquet')).sort();
    return names.map((name) => path.join(folder, name));
  };

  it.each<[string, (file: string, another: string) => Promise<void>]>([
    ['cut off', async (file) => writeFile(file, 'PAR1')],
    ['deleted', async (file) => rm(file)],
    ['with the rows of another day', async (file, another) => copyFile(another, file)],
  ])('%s: verify names it, a replay writes it again', async (_, damage) => {
    const [file, another] = await filesOf('orders');
    await damage(file!, another!);
    const found = await differences();
    expect(found.map(({ hop, pipeline, day }) => [hop, pipeline, day])).toEqual([['lake', 'orders', first]]);
    expect(found[0]?.fix).toBe(`partner-etl replay orders --from ${first} --to ${first}`);

    const { exitCode, run } = await replay('orders', { from: first, to: first });
    expect(exitCode).toBe(0);
    expect(run.summary).toMatchObject({ slices_changed: 1, calls: 0 });
    expect(await differences()).toEqual([]);
    expect(await filesOf('orders')).toHaveLength(6);
  });

  it('several at once, in a longer replay', async () => {
    const [one, two, three] = await filesOf('orders');
    for (const file of [one!, two!, three!]) await rm(file);
    expect((await replay('orders')).run.summary).toMatchObject({ slices_changed: 3, slices_unchanged: 3 });
    expect(await differences()).toEqual([]);
    await rm(at('warehouse.duckdb'));
    expect((await replay('orders')).exitCode).toBe(0);
    expect(await world.differences(world.lookback())).toEqual([]);
  });
});

it('an item that moved is where it was seen last, also when the lake was lost', async () => {
  const [item] = world.sandbox.truth('orders', first, first);
  const { orderId, orderItemId } = item as Record<string, string>;
  world.passDays(4);
  const to = world.lookback().to;
  world.sandbox.change({ kind: 'move-item', orderId: orderId!, orderItemId: orderItemId!, toDay: to });
  expect((await world.night()).exitCode).toBe(0);
  const before = await facts(['loaded_at', 'fetch_id']);
  await loseLake(world.home);
  await rm(at('warehouse.duckdb'));
  for (const name of ['promotions', 'orders', 'commissions']) await replay(name, { from: first, to });
  expect(await facts(['loaded_at', 'fetch_id'])).toEqual(before);
  const days = await world.within(
    async ({ targets }) =>
      (
        await targets[0]!.query(
          `SELECT order_date FROM warehouse.fact_order_item WHERE order_item_id = '${orderItemId}'`,
          9,
        )
      ).rows,
  );
  expect(days).toEqual([[to]]);
  expect(await differences()).toEqual([]);
});

it('a damaged file under a hold is made again of the answer that was not held, and the hold stands', async () => {
  world.passDays(1);
  const day = world.lookback().to;
  await world.night({ names: ['promotions'] });
  world.sandbox.change({ kind: 'empty-day', report: 'promotions', day });
  world.clock.set(world.clock.now() + 3_600_000);
  await world.night({ names: ['promotions'] });
  const held = () =>
    world.within(async ({ lake }) => {
      const entry = (await lake.slices('promotions')).get(day)!;
      return { rows: entry.content.rows, held: entry.held?.content.rows, file: lake.rowsFile(entry)! };
    });
  const before = await held();
  expect(before).toMatchObject({ rows: expect.any(Number), held: 0 });
  await writeFile(before.file, 'PAR1');
  await replay('promotions', { from: day, to: day });
  expect(await held()).toEqual(before);
  expect((await differences()).filter(({ hop }) => hop === 'lake')).toEqual([]);
});

it.each(['orders', 'promotions'])('what the lake has lost of %s is made again by a replay', async (name) => {
  const before = await facts(['loaded_at', 'fetch_id']);
  await loseLake(world.home, name);
  const whole = name === 'promotions' ? name : 'orders';
  await replay(whole, { from: '2026-03-01' as Day, to: '2026-03-31' as Day });
  expect(await facts(['loaded_at', 'fetch_id'])).toEqual(before);
  expect((await differences()).filter(({ hop }) => hop === 'lake')).toEqual([]);
});
