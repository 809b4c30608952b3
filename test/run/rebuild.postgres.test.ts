/** Rebuilding from the lake, and a target that is switched on later: no call, and the warehouse of an undisturbed run. */
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runRebuild } from '../../src/run/again.ts';
import { verify } from '../../src/run/verify/verify.ts';
import { openWorld, type World } from '../support/nights.ts';
import { type Database, freshDatabase } from '../support/postgres-database.ts';

let database: Database;
let world: World;
beforeAll(async () => {
  database = await freshDatabase();
  world = await openWorld({ postgresUrl: database.url, ordersPerDay: 20, lookbackDays: 3, windowDays: 2 });
  expect((await world.night()).errors).toEqual([]);
});
afterAll(async () => {
  await world.close();
  await database.drop();
});

async function expectBothWhole(): Promise<void> {
  expect(await world.differences(world.lookback(), 'duckdb')).toEqual([]);
  expect(await world.differences(world.lookback(), 'postgres')).toEqual([]);
  expect((await world.within(verify)).differences).toEqual([]);
}

const rebuild = (name?: string) => world.within((context) => runRebuild(context, name));

it('a night brings the same into DuckDB and Postgres', expectBothWhole);

it('rows that somebody changed or slipped in are found by verify and gone after a rebuild; the receipts stay', async () => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(
    'UPDATE warehouse.fact_order_item SET commission = commission + 1 WHERE order_item_id = (SELECT max(order_item_id) FROM warehouse.fact_order_item)',
  );
  await client.query(
    "INSERT INTO warehouse.fact_promotion_day (account, promotion_date, fetch_id, loaded_at) VALUES ('default', '2001-01-01', 'x', now())",
  );
  const found = (await world.within(verify)).differences;
  expect(found.map((d) => [d.hop, d.pipeline])).toEqual([
    ['postgres', 'promotions'],
    ['postgres', 'orders'],
  ]);
  const before = await client.query('SELECT count(*) AS n FROM etl.receipt');
  expect((await rebuild('postgres')).exitCode).toBe(0);
  await expectBothWhole();
  const after = await client.query(
    'SELECT count(*) AS n, count(*) FILTER (WHERE superseded_at IS NULL) AS current FROM etl.receipt',
  );
  expect(Number(after.rows[0].n)).toBe(Number(before.rows[0].n) + Number(after.rows[0].current));
  await client.end();
});
