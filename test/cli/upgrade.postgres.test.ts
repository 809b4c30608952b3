/** The Postgres warehouse that the first version filled, beside its home directory, taken up by today's program. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openFirstWorld, restoreFirstWarehouse } from '../support/first-home.ts';
import type { World } from '../support/nights.ts';
import { type Database, freshDatabase } from '../support/postgres-database.ts';
import { typedIn } from './typed.ts';

let database: Database;
let world: World;
beforeAll(async () => {
  database = await freshDatabase();
  await restoreFirstWarehouse(database.url);
  world = await openFirstWorld(database.url);
});
afterAll(async () => {
  await world.close();
  await database.drop();
});

const typed = (...words: string[]) => typedIn(world, words);
const rows = async (sql: string): Promise<unknown[]> =>
  JSON.parse((await typed('sql', sql, '--target', 'postgres', '--json')).out) as unknown[];

describe('the first version’s Postgres warehouse', () => {
  it('is proved and queried as it is', async () => {
    const { code, out } = await typed('verify');
    expect(out).toMatch(/^warning: postgres: .*older partner-etl \(0004_lookups.sql is still to be applied\)/m);
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('no difference') });
    expect(await rows('SELECT count(*) AS items FROM warehouse.fact_order_item')).toEqual([{ items: '240' }]);
  });

  it('takes what its first version held, once released, and is migrated by that', async () => {
    expect((await typed('release', 'orders', '2026-03-18')).code).toBe(0);
    expect(await rows(`SELECT count(*) AS n FROM warehouse.fact_order_item WHERE order_date = '2026-03-18'`)).toEqual([
      { n: '5' },
    ]);
    expect(await rows('SELECT pipeline FROM etl.hold')).toEqual([]);
    expect(await rows('SELECT number FROM etl.migration ORDER BY number')).toContainEqual({ number: '11' });
  });

  it('takes the next night, and keeps its history', async () => {
    expect((await typed('run')).code).toBe(0);
    expect(await world.differences(world.lookback(), 'postgres')).toEqual([]);
    expect(await rows(`SELECT count(*) AS n FROM etl.fetch WHERE started_at < '2026-03-22'`)).toEqual([{ n: '6' }]);
    expect(await rows(`SELECT result FROM etl.run ORDER BY run_id LIMIT 2`)).toEqual([
      { result: 'set_aside' },
      { result: 'set_aside' },
    ]);
    expect(await typed('verify')).toMatchObject({ code: 0, out: expect.not.stringContaining('warning') });
  });
});
