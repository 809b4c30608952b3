/** The reports are published before look-ups that take minutes, once, whole, and only where they brought something. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Step } from '../../src/run/context.ts';
import { verify } from '../../src/run/verify/verify.ts';
import { listEans, openLookupWorld, rowsOf } from '../support/lookups.ts';
import type { World } from '../support/nights.ts';

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

it('a reader has the reports whole before the first of many look-ups is asked, and everything at the end', async () => {
  await listEans(world, eans.slice(0, MANY));
  const { seen, outcome } = await watchedNight();
  expect(seen).toEqual([{ calls: 0, differences: [], products: 0 }]);
  expect(outcome).toMatchObject({ exitCode: 0, errors: [] });
  expect(await count('warehouse.dim_product')).toBe(MANY);
  expect(await rowsOf(world, 'SELECT run_id, result FROM etl.run')).toEqual([`${outcome.run.run_id} done`]);
  const calls = await rowsOf(world, `SELECT pipeline, count(*) FROM etl.fetch GROUP BY 1 ORDER BY 1`);
  expect(calls).toEqual(['commissions 1', 'orders 1', `products ${MANY}`, 'promotions 1']);
  const rows = ['fact_promotion_day', 'fact_order_item', 'fact_commission_day', 'dim_product'];
  const loaded = await Promise.all(rows.map((table) => count(`warehouse.${table}`)));
  expect(outcome.published[0]?.result?.rows).toBe(loaded.reduce((sum, n) => sum + n, 0));
  expect((await world.within(verify)).differences).toEqual([]);
});
