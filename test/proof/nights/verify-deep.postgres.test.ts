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
  world.sandbox.addFault({ endpoint: 'orders', kind: 'raw-value', field: 'commission', json: '"n/a é"', item: 2 });
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

/** What somebody does to the rejects of the first day; what is found, and where. */
const REJECTED = `etl.reject WHERE pipeline = 'orders' AND slice_day = (SELECT min(slice_day) FROM etl.reject)`;
const [IN_ETL, FROM_ETL] = [`UPDATE ${REJECTED.replace(' WHERE', ' SET % WHERE')}`, `DELETE FROM ${REJECTED}`];
const set = (what: string) => IN_ETL.replace('%', what);
const OTHERS = 'its rejects in etl.reject are not those of the lake';
const REJECT_DAMAGES: readonly (readonly [string, string, string])[] = [
  ['a raw text', set(`raw = replace(raw, 'é', 'e')`), OTHERS],
  ['a reason', set(`reason = 'bad_day'`), OTHERS],
  ['a text moved from one column to the next', set(`detail = '', raw = detail || raw`), OTHERS],
  ['an item', set('item = item + 1'), OTHERS],
  ['a fetch', set(`fetch_id = 'somebody'`), OTHERS],
  ['one that is gone', FROM_ETL, '0 rejects in etl.reject, the lake has 1'],
  [
    'one that is there twice',
    `INSERT INTO etl.reject SELECT * FROM ${REJECTED}`,
    '2 rejects in etl.reject, the lake has 1',
  ],
];
const REJECT_CASES = (['duckdb', 'postgres'] as const).flatMap((target) =>
  REJECT_DAMAGES.map((one) => [target, ...one] as const),
);

const CASES = (['duckdb', 'postgres'] as const).flatMap((target) => DAMAGES.map((one) => [target, ...one] as const));

async function rowsOf(name: TargetName): Promise<string> {
  return world.within(async ({ targets }) => {
    const target = targets.find((one) => one.name === name)!;
    const { rows } = await target.query(`SELECT ${COLUMNS} FROM ${ITEM} ORDER BY ${COLUMNS}`, 100_000);
    return JSON.stringify([rows, (await target.query('SELECT * FROM etl.reject ORDER BY slice_day, item', 100)).rows]);
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

it.each(REJECT_CASES)('%s: of the rejects, %s', async (target, _, damage, expected) => {
  await execute(target, damage);
  expect(await rowsOf(target)).not.toBe(sound[target]);

  const { code, differences } = await verified('--deep');
  expect([code, differences.length]).toEqual([1, 1]);
  const { hop, pipeline, day, problem, fix } = differences[0]!;
  expect([hop, pipeline, day, problem]).toEqual([target, 'orders', world.lookback().from, expected]);

  expect((await typedIn(world, fix.split(' ').slice(1))).code).toBe(0);
  expect(await verified('--deep')).toEqual({ code: 0, differences: [] });
  expect(await rowsOf(target)).toBe(sound[target]);
});

it.each(['duckdb', 'postgres'] as const)('%s: a reject of a day that the lake does not know', async (target) => {
  const columns = 'account, pipeline, slice_day, fetch_id, item, reason, detail, raw';
  await execute(
    target,
    `INSERT INTO etl.reject (${columns}) VALUES ('default', 'orders', '2001-01-01', 'f', 0, 'bad_day', '', '{}')`,
  );
  const { differences } = await verified('--deep');
  expect(differences).toMatchObject([
    { day: '2001-01-01', problem: 'etl.reject has rejects that the lake does not know' },
  ]);
  expect((await typedIn(world, differences[0]!.fix.split(' ').slice(1))).code).toBe(0);
  expect(await verified('--deep')).toEqual({ code: 0, differences: [] });
});

it.each([
  ['duckdb', 'a view that is gone', 'DROP VIEW mart.daily_performance', 'view mart.daily_performance is missing'],
  ['postgres', 'a view that is gone', 'DROP VIEW mart.daily_performance', 'view mart.daily_performance is missing'],
  ['duckdb', 'a function that is gone', 'DROP MACRO etl.quotient', 'macro etl.quotient is missing'],
  [
    'postgres',
    'a function of another text',
    `CREATE OR REPLACE FUNCTION etl.utc_day(instant timestamptz) RETURNS date LANGUAGE sql IMMUTABLE RETURN DATE '2001-01-01'`,
    'function etl.utc_day is not the one that partner-etl made',
  ],
  [
    'postgres',
    'an index of another text',
    'DROP INDEX warehouse.fact_push_message_resource; CREATE INDEX fact_push_message_resource ON warehouse.fact_push_message (account)',
    'index warehouse.fact_push_message_resource is not the one that partner-etl made',
  ],
] as const)('%s: %s is seen without --deep, and made again by the next run', async (target, _, damage, expected) => {
  await execute(target, damage);
  const { code, differences } = await verified();
  expect([code, differences]).toEqual([
    1,
    [{ hop: target, pipeline: 'all', day: null, problem: expected, fix: 'partner-etl run' }],
  ]);
  await typedIn(world, ['run']);
  expect(await verified('--deep')).toEqual({ code: 0, differences: [] });
});
