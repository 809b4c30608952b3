/** The reports are published before look-ups that take minutes, once, whole, and only where they brought something. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Step } from '../../../src/run/context.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { listEans, openLookupWorld, rowsOf } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';

const NAMES = ['promotions', 'orders', 'commissions', 'products'];
/** At a call a second, longer than a reader should wait. */
const MANY = 70;

let world: World;
let eans: readonly string[];
beforeEach(async () => {
  world = await openLookupWorld({
    products: {},
    lookbackDays: 2,
    windowDays: 2,
    ordersPerDay: 30,
    service: { catalog: { product: { budget: { calls: 1, perSeconds: 1, concurrency: 1 } } } },
  });
  eans = world.sandbox.eans(3 * MANY);
});
afterEach(() => world.close());

const count = async (what: string) => Number((await rowsOf(world, `SELECT count(*) FROM ${what}`))[0]);
const products = () => world.sandbox.stats.calls.product ?? 0;

/** A night, and what a reader saw whenever something was published before its end. */
async function watchedNight() {
  const seen: { readonly calls: number; readonly differences: readonly string[]; readonly products: number }[] = [];
  const step = async (name: Step) => {
    if (name !== 'published-early') return;
    const differences = await world.differences(world.lookback());
    seen.push({ calls: products(), differences, products: await count('warehouse.dim_product') });
    expect(await rowsOf(world, 'SELECT count(*), count(result) FROM etl.run')).toEqual(['1 0']);
  };
  return { seen, outcome: await world.night({ names: NAMES, step }) };
}

it('what fails on the way to the end is made good by the next night: the fetches and the run are recorded then', async () => {
  await listEans(world, eans.slice(0, MANY));
  const killed = world.night({
    names: NAMES,
    step: (name) => {
      if (name === 'published-early') throw new Error('killed');
      if (name === 'publishing') throw new Error('killed for good');
    },
  });
  await expect(killed).rejects.toThrow('killed for good');
  expect(await world.differences(world.lookback())).toEqual([]);
  world.clock.set(world.clock.now() + 60_000);
  expect((await world.night({ names: NAMES })).exitCode).toBe(0);
  expect(await rowsOf(world, 'SELECT result FROM etl.run ORDER BY run_id')).toEqual(['-', 'done']);
  expect(await count('warehouse.dim_product')).toBe(MANY);
  expect((await world.within(verify)).differences).toEqual([]);
});

it('nothing is published early where no slice changed, or where few calls are left', async () => {
  await listEans(world, eans.slice(0, 5));
  expect((await watchedNight()).seen).toEqual([]);
  world.clock.set(world.clock.now() + 60_000);
  await listEans(world, eans);
  const before = products();
  expect((await watchedNight()).seen).toEqual([]);
  expect(products() - before).toBeGreaterThanOrEqual(MANY);
});
