/** Whatever somebody writes into a warehouse, `verify --deep` finds it where `verify` need not, and the fix that it prints undoes it. */
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Engine } from '../../../src/engine/duckdb.ts';
import type { Difference, Verification } from '../../../src/run/verify/verify.ts';
import type { SqlDialect, TargetName } from '../../../src/warehouse/target-name.ts';
import { typedIn } from '../../cli/typed.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';

let database: Database;
let world: World;
let sound: Readonly<Record<SqlDialect, string>>;
beforeAll(async () => {
  database = await freshDatabase();
  world = await openWorld({ postgresUrl: database.url, ordersPerDay: 12, lookbackDays: 4, windowDays: 2 });
  await world.night();
  sound = { duckdb: await rowsOf('duckdb'), postgres: await rowsOf('postgres') };
});
afterAll(async () => {
  await world.close();
  await database.drop();
});

const ITEM = 'warehouse.fact_order_item';
const COLUMNS = `order_date, order_id, order_item_id, commission, name, status_final, order_utc_time, valid_from, fetch_id`;
/** Two items of one day whose commissions differ. */
const TWO = `(SELECT one.order_item_id AS one, other.order_item_id AS other, one.commission AS its, other.commission AS others
  FROM ${ITEM} AS one JOIN ${ITEM} AS other ON one.order_date = other.order_date AND one.commission < other.commission
  WHERE one.order_date = (SELECT min(order_date) FROM ${ITEM}) ORDER BY 1, 2 LIMIT 1) AS two`;
const FIRST = `order_item_id = (SELECT min(order_item_id) FROM ${ITEM})`;

const DAMAGES: readonly (readonly [string, string, number, string])[] = [
  [
    'two orders that have swapped their commissions',
    `UPDATE ${ITEM} SET commission = CASE WHEN order_item_id = one THEN others ELSE its END FROM ${TWO} WHERE order_item_id IN (one, other)`,
    2,
    ' in commission',
  ],
  ['a text', `UPDATE ${ITEM} SET name = 'somebody else' WHERE ${FIRST}`, 1, ' in name'],
  ['a flag', `UPDATE ${ITEM} SET status_final = NOT status_final WHERE ${FIRST}`, 1, ' in status_final'],
  [
    'a time',
    `UPDATE ${ITEM} SET order_utc_time = order_utc_time + INTERVAL '1 hour' WHERE ${FIRST}`,
    1,
    ' in order_utc_time',
  ],
  ['a key', `UPDATE ${ITEM} SET order_id = 'nobody' WHERE ${FIRST}`, 1, ' is missing'],
];
const CASES = (['duckdb', 'postgres'] as const).flatMap((target) => DAMAGES.map((one) => [target, ...one] as const));

async function rowsOf(name: TargetName): Promise<string> {
  return world.within(async ({ targets }) => {
    const target = targets.find((one) => one.name === name)!;
    return JSON.stringify((await target.query(`SELECT ${COLUMNS} FROM ${ITEM} ORDER BY ${COLUMNS}`, 100_000)).rows);
  });
}

async function execute(target: TargetName, sql: string): Promise<void> {
  if (target === 'postgres') {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(sql);
    return client.end();
  }
  const file = path.join(world.home, 'warehouse.duckdb');
  const engine = await Engine.open({ file, tempDir: path.join(world.home, 'work', 'damage') });
  await engine.run(sql);
  engine.close();
}

async function verified(...options: string[]): Promise<{ code: number; differences: readonly Difference[] }> {
  const { code, out } = await typedIn(world, ['verify', ...options, '--json']);
  return { code, differences: (JSON.parse(out) as Verification).differences };
}

it('a night loads into both warehouses what the lake has', async () => {
  expect(await verified('--deep')).toEqual({ code: 0, differences: [] });
  const { out } = await typedIn(world, ['verify', '--deep']);
  expect(out).toMatch(/duckdb: .* compared with the lake, row by row, /);
});

it.each(CASES)('%s: %s', async (target, _, damage, rows, example) => {
  await execute(target, damage);
  expect(await rowsOf(target)).not.toBe(sound[target]);
  expect(await verified()).toEqual({ code: 0, differences: [] });

  const { code, differences } = await verified('--deep');
  expect([code, differences.length]).toEqual([1, 1]);
  const { hop, pipeline, day, problem, fix } = differences[0]!;
  expect([hop, pipeline, day]).toEqual([target, 'orders', world.lookback().from]);
  expect(problem).toMatch(new RegExp(`^${rows} rows? differs? from the lake, as order_id .*${example}$`));
  const { out } = await typedIn(world, ['verify', '--deep']);
  expect(out).toContain(problem);

  expect((await typedIn(world, fix.split(' ').slice(1))).code).toBe(0);
  expect(await verified('--deep')).toEqual({ code: 0, differences: [] });
  expect(await rowsOf(target)).toBe(sound[target]);
});
