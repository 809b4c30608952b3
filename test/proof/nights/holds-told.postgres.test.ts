/** `etl.hold` of both targets says what is kept back now, also after a night in which nothing else happened. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { addDays, type Day } from '../../../src/core/days.ts';
import { runRelease } from '../../../src/run/again.ts';
import { statusOf } from '../../../src/run/status/status.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';

let database: Database;
let world: World;
let day: Day;
beforeEach(async () => {
  database = await freshDatabase();
  world = await openWorld({ ordersPerDay: 40, lookbackDays: 3, postgresUrl: database.url });
  day = addDays(world.today(), -2);
  expect((await night()).exitCode).toBe(0);
});
afterEach(async () => {
  await world.close();
  await database.drop();
});

const night = () => world.night({ names: ['orders'] });
const shrink = (items: number) => world.sandbox.change({ kind: 'shrink-day', report: 'orders', day, items });
const file = () => readFile(path.join(world.home, 'warehouse.duckdb'));

/** Pipeline, day, reason and rows of the holds of each target. */
function told(): Promise<unknown[]> {
  const sql = 'SELECT pipeline, slice_day, reason, rows FROM etl.hold ORDER BY slice_day';
  return world.within(({ targets }) => Promise.all(targets.map(async (t) => (await t.query(sql, 99)).rows)));
}
const inBoth = (...rows: string[][]) => [rows, rows];

it('the only thing of its night is told, and told once', async () => {
  shrink(3);
  expect(await night()).toMatchObject({ exitCode: 3, errors: [], run: { summary: { slices_held: 1 } } });
  expect(await told()).toEqual(inBoth(['orders', day, 'shrunk', '3']));
  const before = await file();
  const again = await night();
  expect(again.published.map(({ result }) => result)).toEqual([null, null]);
  expect(before.equals(await file())).toBe(true);
});

it('the content that is kept back is another one', async () => {
  shrink(3);
  await night();
  shrink(2);
  await night();
  expect(await told()).toEqual(inBoth(['orders', day, 'shrunk', '2']));
});

it('it is released', async () => {
  shrink(3);
  await night();
  expect(await world.within((context) => runRelease(context, 'orders', day))).toMatchObject({
    exitCode: 0,
    errors: [],
  });
  expect(await told()).toEqual(inBoth());
});

it('the service tells again what is loaded', async () => {
  world.sandbox.addFault({ endpoint: 'orders', kind: 'text-item', item: 'all', as: 'instead', times: 9 });
  await night();
  world.sandbox.clearFaults();
  const { holds } = await world.within(statusOf);
  expect(holds.map(({ reason }) => reason)).toEqual(['emptied', 'emptied', 'emptied']);
  expect(await told()).toEqual(inBoth(...holds.map((hold) => ['orders', hold.slice_day, 'emptied', '0'])));
  expect((await night()).exitCode).toBe(0);
  expect(await told()).toEqual(inBoth());
});
