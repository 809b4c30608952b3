/** Rebuilding from the lake, and a target that is switched on later: no call, and the warehouse of an undisturbed run. */
import { truncate, unlink } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runRebuild } from '../../../src/run/again.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';

let database: Database;
let world: World;
beforeAll(async () => {
  database = await freshDatabase();
  world = await openWorld({ postgresUrl: database.url });
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

it('a damaged DuckDB file is set aside and made again', async () => {
  const file = path.join(world.home, 'warehouse.duckdb');
  await truncate(file, 5000);
  expect((await world.within(verify)).differences.map((d) => [d.hop, d.fix])).toContainEqual([
    'duckdb',
    'partner-etl rebuild --target duckdb',
  ]);
  expect((await rebuild()).errors).toEqual([]);
  await expectBothWhole();
});

it('a DuckDB file that was deleted is made again without a call', async () => {
  await unlink(path.join(world.home, 'warehouse.duckdb'));
  const calls = { ...world.sandbox.stats.calls };
  expect((await rebuild('duckdb')).exitCode).toBe(0);
  expect(world.sandbox.stats.calls).toEqual(calls);
  await expectBothWhole();
});

it('nights go on in both', async () => {
  world.passDays(1);
  const { from, to } = world.lookback();
  world.sandbox.change({ kind: 'move-item', ...world.itemOn(from), toDay: to });
  expect((await world.night()).errors).toEqual([]);
  await expectBothWhole();
});
