/** What a night asks about the EANs of a list. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commissionRates } from '../../pipelines/commission-rates.ts';
import { products } from '../../pipelines/products.ts';
import { Engine } from '../../src/engine/duckdb.ts';
import { type EanPlan, keysIn, planEans } from '../../src/run/keys/lookup-plan.ts';
import { listEans, openLookupWorld } from '../support/lookups.ts';
import type { World } from '../support/nights.ts';

const A = '8712626055143';
const B = '0604020064587';

let world: World;
let folder: string;
let engine: Engine;
beforeAll(async () => {
  world = await openLookupWorld({ rates: {}, products: {}, ordersPerDay: 1 });
  folder = await mkdtemp(path.join(tmpdir(), 'etl-plan-'));
  engine = await Engine.open({ tempDir: path.join(folder, 'spill') });
});
afterAll(async () => {
  engine.close();
  await rm(folder, { recursive: true, force: true });
  await world.close();
});

async function keysOf({ keysFile }: EanPlan) {
  const keys = [];
  for await (const some of keysIn(keysFile)) keys.push(...some);
  return keys;
}

const LIST = [`${A},2`, B, `${A},2.00`, A, `${A},3`, `${A},2,GOOD`, `${B},,new`, `${A},3.0`, 'x'];

test('each question of the list stands once, at its first place; one EAN may be asked in several ways', async () => {
  await listEans(world, LIST);
  const plan = await world.within((context) => planEans(context, engine, commissionRates, folder));
  expect(await keysOf(plan)).toEqual([
    { ean: A, condition: 'NEW', price: '2' },
    { ean: B, condition: 'NEW', price: null },
    { ean: A, condition: 'NEW', price: null },
    { ean: A, condition: 'NEW', price: '3' },
    { ean: A, condition: 'GOOD', price: '2' },
  ]);
  expect(plan.details.lookups).toMatchObject({ listed: 5, due: { new: 5 }, left_out: 0, rejects: 1 });
});

test('where only the EAN counts, each is asked once for each market', async () => {
  await listEans(world, LIST);
  const plan = await world.within((context) => planEans(context, engine, products, folder));
  const keys = await keysOf(plan);
  const markets = new Set(keys.map(({ country, language }) => `${country} ${language}`));
  expect(keys.map(({ ean }) => ean)).toEqual([A, B].flatMap((ean) => Array(markets.size).fill(ean)));
  expect(plan.calls).toBe(2 * markets.size);
});

test('of nothing nothing is asked', async () => {
  await listEans(world, []);
  const plan = await world.within((context) => planEans(context, engine, commissionRates, folder));
  expect([await keysOf(plan), plan.calls, plan.isDue]).toEqual([[], 0, false]);
});
