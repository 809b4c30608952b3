/** Look-ups and the reductions file in both warehouses: the same rows, also in one that is switched on later or made afresh. */
import { unlink } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runRebuild } from '../../../src/run/again.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { listEans, openLookupWorld, rateDifferences, rowsOf } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';
import { fileDifferences, flawsIn, historyOf, productDifferences, VERSIONED } from '../../support/versions.ts';

let database: Database;
let world: World;
let eans: readonly string[];
beforeAll(async () => {
  database = await freshDatabase();
  world = await openLookupWorld({
    rates: {},
    products: { refreshDays: 1 },
    reductions: {},
    sandbox: { seriesLength: 20 },
  });
  eans = world.sandbox.eans(8);
  await listEans(world, [...eans, `${eans[0]},19.95`, `${eans[1]},8`]);
});
afterAll(async () => {
  await world.close();
  await database.drop();
});

const VIEW = `SELECT ean, maximum_price, cost_reduction, start_date, end_date, first_file, last_file, is_current, observed_on,
  CAST(extract(epoch FROM valid_from) AS DECIMAL(18, 3)), CAST(extract(epoch FROM valid_to) AS DECIMAL(18, 3)), fetch_id
  FROM mart.reduction`;

async function expectTheSame(): Promise<void> {
  expect(await historyOf(world, { target: 'postgres' })).toEqual(await historyOf(world));
  expect((await rowsOf(world, VIEW, 'postgres')).sort()).toEqual((await rowsOf(world, VIEW)).sort());
  expect(await flawsIn(world, 'postgres')).toEqual([]);
  expect((await world.within(verify)).differences).toEqual([]);
}

function nextDay(number: number): void {
  world.clock.set(world.clock.now() + 25 * 3_600_000);
  const [one, other] = [eans[number]!, eans[number + 1]!];
  const values = { maximumPrice: '30.25', costReduction: '1.10', startDate: '2026-03-01', endDate: '2026-12-31' };
  world.sandbox.change({ kind: 'commission-rate', ean: one, percentage: '21.5' });
  world.sandbox.change({
    kind: 'commission-reductions',
    ean: other,
    reductions: number % 2 === 0 ? [values, { ...values, maximumPrice: '20' }] : [],
  });
  world.sandbox.change({ kind: 'ean-known', ean: eans[number + 2]!, known: number % 2 === 1 });
  world.sandbox.change({ kind: 'product', ean: one, title: `Titel ${number} 'één" \\ ☕`, price: '12.5' });
  world.sandbox.change({ kind: 'product-offered', ean: other, country: 'NL', offered: false });
}

const night = async () => expect((await world.night({ names: VERSIONED })).errors).toEqual([]);

it('a warehouse that is switched on later gets the whole history from the lake', async () => {
  await night();
  nextDay(0);
  await night();
  (world.env as Record<string, string>).PARTNER_ETL_POSTGRES_URL = database.url;
  const calls = { ...world.sandbox.stats.calls };
  world.clock.set(world.clock.now() + 60_000);
  await night();
  expect(world.sandbox.stats.calls).toEqual(calls);
  await expectTheSame();
});

it('nights go on in both, with what the service says', async () => {
  for (const number of [1, 2]) {
    nextDay(number);
    await night();
  }
  await expectTheSame();
  expect(await productDifferences(world, eans, 'postgres')).toEqual([]);
  expect(await fileDifferences(world, 'postgres')).toEqual([]);
  expect(await rateDifferences(world, eans, 'postgres')).toEqual([]);
});

it('both made afresh from the lake are as they were', async () => {
  const before = await historyOf(world);
  await unlink(path.join(world.home, 'warehouse.duckdb'));
  const calls = { ...world.sandbox.stats.calls };
  expect((await world.within((context) => runRebuild(context, undefined))).errors).toEqual([]);
  expect(world.sandbox.stats.calls).toEqual(calls);
  expect(await historyOf(world)).toEqual(before);
  await expectTheSame();
});
