/** Slices of the lake whose files are damaged when the service tells their days otherwise: nights and commands fix them or name them. */
import { truncate } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addDays, type Day } from '../../../src/core/days.ts';
import { runReplay } from '../../../src/run/again.ts';
import { runBackfill } from '../../../src/run/night.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { openWorld, type World } from '../../support/nights.ts';

let world: World;
let first: Day;
beforeAll(async () => {
  world = await openWorld({ ordersPerDay: 20, lookbackDays: 4, windowDays: 2 });
  first = world.lookback().from;
  await world.night();
});
afterAll(() => world.close());

const night = () => {
  world.clock.set(world.clock.now() + 60_000);
  return world.night();
};
const differences = async () =>
  (await world.within(verify)).differences.map(({ hop, pipeline, day, fix }) => ({ hop, pipeline, day, fix }));
const named = (day: Day, fix: string) => [{ hop: 'lake', pipeline: 'orders', day, fix: `partner-etl ${fix}` }];
const days = (from: Day, to = from) => `orders --from ${from} --to ${to}`;

/** Cuts the rows of a day off; returns the file. */
async function damage(day: Day): Promise<string> {
  const file = await world.within(async ({ lake }) => lake.rowsFile((await lake.slices('orders')).get(day)!)!);
  await truncate(file, 900);
  return file;
}

async function isAsTold(): Promise<void> {
  expect(await differences()).toEqual([]);
  const found = await world.differences({ from: first, to: addDays(first, 3) });
  expect(found.filter((line) => line.startsWith('orders'))).toEqual([]);
}

it('a day that changed is replaced by the next night', async () => {
  await damage(first);
  expect(await differences()).toEqual(named(first, `replay ${days(first)}`));
  world.sandbox.change({ kind: 'restate-item', ...world.itemOn(first), values: { commission: '7.77' } });
  expect((await night()).errors).toEqual([]);
  await isAsTold();
});

it('a day that a newer answer told otherwise is made again by the replay that is told', async () => {
  world.sandbox.change({ kind: 'restate-item', ...world.itemOn(first), values: { commission: '8.88' } });
  await damage(first);
  // The answer comes as far as the raw store.
  world.clock.set(world.clock.now() + 60_000);
  const killed = world.night({
    names: ['orders'],
    step: (step) => {
      if (step === 'answer-received') throw new Error('killed');
    },
  });
  await killed.catch(() => undefined);
  const { errors } = await world.within((context) => runReplay(context, 'orders', { from: first, to: first }));
  expect(errors).toEqual([]);
  await isAsTold();
});

it('a day that another one has to be compared with is named with its fix, and what needs no comparison goes on', async () => {
  const last = addDays(first, 3);
  const file = await damage(last);
  world.sandbox.change({ kind: 'move-item', ...world.itemOn(last), toDay: first });
  const { errors, run } = await night();
  expect(errors).toMatchObject([
    { code: 'damaged_slice', concern: { file, day: last }, hint: `make it again: partner-etl replay ${days(last)}` },
  ]);
  expect(errors[0]?.message).not.toContain('\n');
  expect(run.summary).toMatchObject({ codes: ['damaged_slice'] });
  expect((await night()).errors).toEqual([]);
  await isAsTold();
});

it('a day that lost an item is asked for again, since its answers are older than the loss', async () => {
  const last = addDays(first, 3);
  world.sandbox.change({ kind: 'move-item', ...world.itemOn(last), toDay: addDays(last, 1) });
  world.passDays(1);
  const backfill = (from: Day, refetch: boolean) =>
    world.within((context) => runBackfill(context, ['orders'], { from, to: from }, refetch));
  await backfill(addDays(last, 1), false);
  await damage(last);
  expect(await differences()).toEqual(named(last, `backfill ${days(last)} --refetch`));
  expect((await backfill(last, true)).errors).toEqual([]);
  expect(await differences()).toEqual([]);
});

it.each(['promotions', 'orders', 'commissions'])(
  'a damaged day of %s that says the same again comes with its new fetch into the warehouse too',
  async (name) => {
    const file = await world.within(async ({ lake }) => lake.rowsFile((await lake.slices(name)).get(first)!)!);
    await truncate(file, 900);
    world.clock.set(world.clock.now() + 60_000);
    await world.within((context) => runBackfill(context, [name], { from: first, to: first }, true));
    expect((await world.within((context) => verify(context, true))).differences).toEqual([]);
  },
);
