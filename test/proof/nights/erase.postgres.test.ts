/** Erasing values from Postgres: no row, no statistic and no receipt tells of them, and a server that is away is told. */
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runErase } from '../../../src/extras/erase/erase.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { type ErasureScene, openErasureScene } from '../../support/erasure.ts';
import type { World } from '../../support/nights.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';

let database: Database;
let scene: ErasureScene;
let world: World;
let client: pg.Client;

beforeAll(async () => {
  database = await freshDatabase();
  scene = await openErasureScene(database.url);
  ({ world } = scene);
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('ANALYZE');
});
afterAll(async () => {
  await client.end();
  await world.close();
  await database.drop();
});

const erase = () => world.within((context) => runErase(context, { subIds: [scene.subId], orders: [scene.order] }));

/** Tables that hold one of the texts in any row, and columns whose statistics do. */
async function traces(): Promise<string[]> {
  const texts = [scene.subId, scene.order, ...scene.items];
  const { rows: tables } = await client.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname IN ('warehouse', 'etl')`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const { rows } = await client.query(
      `SELECT 1 FROM ${name} AS r WHERE EXISTS (SELECT 1 FROM unnest($1::text[]) AS t WHERE strpos(r::text, t) > 0) LIMIT 1`,
      [texts],
    );
    if (rows.length > 0) found.push(name);
  }
  const { rows: statistics } = await client.query<{ name: string }>(
    `SELECT DISTINCT format('statistics of %s.%s', tablename, attname) AS name FROM pg_stats, unnest($1::text[]) AS t
     WHERE schemaname IN ('warehouse', 'etl')
       AND (strpos(most_common_vals::text, t) > 0 OR strpos(histogram_bounds::text, t) > 0)`,
    [texts],
  );
  return [...found, ...statistics.map(({ name }) => name)].sort();
}

async function receipts(): Promise<unknown[]> {
  const { rows } = await client.query(
    'SELECT pipeline, slice_day, rows, sums, loaded_at, superseded_at FROM etl.receipt ORDER BY 1, 2, 5, 6',
  );
  return rows;
}

it('a server that cannot be reached is told, the rest is done, and the same command fixes it', async () => {
  expect(await traces()).toContain('statistics of fact_order_item.sub_id');
  const env = world.env as Record<string, string>;
  env.PARTNER_ETL_POSTGRES_URL = 'postgresql://nobody@127.0.0.1:1/none';
  const { outcome, record } = await erase();
  env.PARTNER_ETL_POSTGRES_URL = database.url;
  expect(outcome.exitCode).toBe(1);
  expect(outcome.errors.at(-1)).toMatchObject({
    code: 'not_erased',
    hint: expect.stringContaining('run the same command again'),
  });
  expect(record).toMatchObject({ is_complete: false, found: { targets: { postgres: null } } });
  expect(record?.found?.targets.duckdb).toBeGreaterThan(0);
});

it('no row and no statistic holds them afterwards', async () => {
  world.clock.set(world.clock.now() + 60_000);
  const { outcome, record } = await erase();
  expect(outcome).toMatchObject({ exitCode: 0, errors: [] });
  expect(record?.found?.targets.postgres).toBeGreaterThan(0);
  expect(await traces()).toEqual([]);
  expect((await world.within(verify)).differences).toEqual([]);
});

it('the next erasure loads nothing again: rows and receipts are changed where they stand', async () => {
  world.clock.set(world.clock.now() + 60_000);
  const before = await receipts();
  const item = [...world.sandbox.truth('orders', scene.day, scene.day)].find(({ orderId }) => orderId !== scene.order);
  const { outcome, record } = await world.within((context) =>
    runErase(context, { subIds: [], orders: [String(item?.orderId)] }),
  );
  expect(outcome).toMatchObject({ exitCode: 0, errors: [] });
  expect(record?.found?.targets.postgres).toBeGreaterThan(0);
  expect(await receipts()).toEqual(before);
  expect((await world.within(verify)).differences).toEqual([]);
  expect((await world.night({ names: ['orders'] })).run.summary).toMatchObject({ slices_changed: 0 });
});
