/** The history of order items in both warehouses: the same rows, the same answers to what was known when, the same revisions. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addDays } from '../../../src/core/days.ts';
import { runRebuild } from '../../../src/run/again.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { rowsOf } from '../../support/lookups.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';
import { flawsIn } from '../../support/versions.ts';

let database: Database;
let world: World;
const instants: string[] = [];
beforeAll(async () => {
  database = await freshDatabase();
  world = await openWorld({ ordersPerDay: 30, lookbackDays: 4, windowDays: 2, postgresUrl: database.url });
  const { from } = world.lookback();
  await night();
  world.sandbox.change({ kind: 'restate-item', ...world.itemOn(from), values: { productTitle: "Xylofoon 'één' ☕" } });
  world.sandbox.change({ kind: 'move-item', ...world.itemOn(addDays(from, 1)), toDay: addDays(from, 3) });
  await night();
  world.sandbox.change({ kind: 'vanish-item', ...world.itemOn(from) });
  await night();
});
afterAll(async () => {
  await world.close();
  await database.drop();
});

async function night(): Promise<void> {
  world.clock.set(world.clock.now() + 3_600_000);
  expect((await world.night({ names: ['orders'] })).errors).toEqual([]);
  instants.push(new Date(world.clock.now() + 600_000).toISOString());
}

const inBoth = async (sql: string) =>
  Promise.all((['duckdb', 'postgres'] as const).map(async (name) => (await rowsOf(world, sql, name)).sort()));

const SEEN = `order_date, order_id, order_item_id, product_title, status_group, quantity, price_excl_vat, price_incl_vat, commission,
  ended_by, CAST(extract(epoch FROM valid_from) AS DECIMAL(18, 3)), CAST(extract(epoch FROM valid_to) AS DECIMAL(18, 3)), fetch_id`;
const REVISIONS = `SELECT order_date, revision, age_days, rows, quantity, price_excl_vat, price_incl_vat, commission, is_newest, fetch_id
  FROM mart.order_revision`;

async function expectTheSame(): Promise<void> {
  const [duckdb, postgres] = await inBoth(`SELECT ${SEEN} FROM warehouse.fact_order_item_version`);
  expect(postgres).toEqual(duckdb);
  expect(await flawsIn(world, 'postgres')).toEqual([]);
  for (const at of instants) {
    const [here, there] = await inBoth(`SELECT ${SEEN} FROM warehouse.orders_as_of('${at}')`);
    expect(here?.length).toBeGreaterThan(0);
    expect(there).toEqual(here);
  }
}

it('the versions, and what was known at each instant', expectTheSame);

it('the revisions of a day tell its first and its newest sums', async () => {
  const [duckdb, postgres] = await inBoth(REVISIONS);
  expect(postgres).toEqual(duckdb);
  const { from } = world.lookback();
  expect(duckdb?.filter((row) => row.startsWith(from)).map((row) => row.split(' ').slice(1, 3))).toEqual([
    ['1', '4'],
    ['2', '4'],
    ['3', '4'],
  ]);
  const newest = await inBoth(
    `SELECT order_date, rows, quantity, price_excl_vat, price_incl_vat, commission FROM mart.order_revision WHERE is_newest`,
  );
  const facts = await inBoth(
    `SELECT order_date, count(*), sum(quantity), sum(price_excl_vat), sum(price_incl_vat), sum(commission)
     FROM warehouse.fact_order_item GROUP BY order_date`,
  );
  expect(newest).toEqual(facts);
});

it('both are the same again when they are made afresh from the lake', async () => {
  const before = await inBoth(REVISIONS);
  await world.within((context) => runRebuild(context, undefined));
  await expectTheSame();
  expect(await inBoth(REVISIONS)).toEqual(before);
  expect((await world.within(verify)).differences).toEqual([]);
});
