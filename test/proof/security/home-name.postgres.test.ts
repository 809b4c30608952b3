/** A home whose path DuckDB would read as a pattern: what its readers are given means that folder and no other one. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { typedIn } from '../../cli/typed.ts';
import { listEans, openLookupWorld } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';

let database: Database;
let world: World;
beforeAll(async () => {
  database = await freshDatabase();
  world = await openLookupWorld({
    homeName: "it's [a] *-",
    postgresUrl: database.url,
    ...{ rates: {}, products: {}, reductions: {}, ordersPerDay: 8, lookbackDays: 4, windowDays: 2 },
  });
  await listEans(world, world.sandbox.eans(3));
});
afterAll(async () => {
  await world.close();
  await database.drop();
});

it('a night, another one after a change, a replay and a rebuild go as anywhere else', async () => {
  world.sandbox.addFault({ endpoint: 'orders', kind: 'raw-value', field: 'commission', json: '"n/a"', item: 2 });
  expect((await world.night()).errors).toEqual([]);
  world.sandbox.change({
    kind: 'restate-item',
    ...world.itemOn(world.lookback().from),
    values: { commission: '7.77' },
  });
  world.clock.set(world.clock.now() + 3_600_000);
  expect((await world.night()).errors).toEqual([]);
  const { from, to } = world.lookback();
  for (const words of [['replay', 'orders', '--from', from, '--to', to], ['rebuild'], ['rebuild', '--history']]) {
    const { err } = await typedIn(world, words);
    expect(err).not.toMatch(/error/i);
  }
  const { code, out } = await typedIn(world, ['verify', '--deep', '--json']);
  expect([code, JSON.parse(out).differences]).toEqual([0, []]);
  expect(JSON.parse(out).rows).toBeGreaterThan(20);
});
