/** Two installations on one Postgres: the second is refused by name, and may take it over only by making it afresh. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runRebuild } from '../../../src/run/again.ts';
import { typedIn } from '../../cli/typed.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';

let database: Database;
let first: World;
let second: World;
beforeAll(async () => {
  database = await freshDatabase();
  const small = { ordersPerDay: 10, lookbackDays: 2, windowDays: 2, postgresUrl: database.url };
  [first, second] = await Promise.all([openWorld(small), openWorld({ ...small, seed: 2 })]);
});
afterAll(async () => {
  await Promise.all([first.close(), second.close()]);
  await database.drop();
});

const refused = [expect.objectContaining({ code: 'other_installation', hint: expect.stringContaining('rebuild') })];

it('the second one loads nothing there, and everything into its own DuckDB', async () => {
  expect((await first.night()).errors).toEqual([]);
  expect((await second.night()).errors).toEqual(refused);
  expect(await first.differences(first.lookback(), 'postgres')).toEqual([]);
  expect(await second.differences(second.lookback(), 'duckdb')).toEqual([]);
});

it('it takes over by a rebuild, and then the first one is refused', async () => {
  expect((await second.within((context) => runRebuild(context, 'postgres'))).errors).toEqual([]);
  expect(await second.differences(second.lookback(), 'postgres')).toEqual([]);
  first.passDays(1);
  expect((await first.night()).errors).toEqual(refused);
  expect(await second.differences(second.lookback(), 'postgres')).toEqual([]);
});

it('one whose state was lost is the same one again', async () => {
  for (const name of ['state.db', 'state.db-wal', 'state.db-shm', 'backups'])
    await rm(path.join(second.home, name), { recursive: true, force: true });
  expect((await typedIn(second, ['rebuild', '--state'])).code).toBe(0);
  second.passDays(1);
  expect((await second.night()).errors).toEqual([]);
  expect(await second.differences(second.lookback(), 'postgres')).toEqual([]);
});
