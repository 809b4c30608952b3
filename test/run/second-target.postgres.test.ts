/** The lake serves first: a warehouse that is switched on later, or was away for a while, catches up from the lake. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { statusOf } from '../../src/run/status/status.ts';
import { verify } from '../../src/run/verify/verify.ts';
import { openWorld, type World } from '../support/nights.ts';
import { type Database, freshDatabase } from '../support/postgres-database.ts';

let database: Database;
let world: World;
beforeAll(async () => {
  database = await freshDatabase();
  world = await openWorld({ ordersPerDay: 20 });
});
afterAll(async () => {
  await world.close();
  await database.drop();
});
beforeEach(() => {
  world.clock.set(world.clock.now() + 60_000);
  world.sandbox.stats.reset();
});

/** As the operator does who sets PARTNER_ETL_POSTGRES_URL, or takes it away. */
function switchPostgres(url: string | null): void {
  const env = world.env as Record<string, string>;
  if (url === null) delete env.PARTNER_ETL_POSTGRES_URL;
  else env.PARTNER_ETL_POSTGRES_URL = url;
}

const loadedInto = (outcome: Awaited<ReturnType<World['night']>>) =>
  Object.fromEntries(outcome.published.map(({ target, result }) => [target, result?.slices ?? 0]));

it('the first night knows only DuckDB', async () => {
  expect(loadedInto(await world.night())).toEqual({ duckdb: 18 });
});

it('the next one loads everything into Postgres, whatever it fetches itself', async () => {
  switchPostgres(database.url);
  expect((await world.within(statusOf)).targets.map(({ slices_behind }) => slices_behind)).toEqual([0, 18]);
  const night = await world.night({ names: ['commissions'] });
  expect(night.errors).toEqual([]);
  expect(night.run.summary).toMatchObject({ slices_changed: 0 });
  expect(loadedInto(night)).toEqual({ duckdb: 0, postgres: 18 });
  expect(world.sandbox.stats.calls).toEqual({ commissions: 2 });
  expect(await world.differences(world.lookback(), 'postgres')).toEqual([]);
  expect((await world.within(verify)).differences).toEqual([]);
});

it('one that cannot be reached fails the night and not the other warehouse', async () => {
  switchPostgres('postgres://nobody@127.0.0.1:1/nowhere');
  world.passDays(1);
  const night = await world.night();
  expect(night.exitCode).toBe(1);
  expect(night.errors.map(({ concern }) => concern.target)).toEqual(['postgres']);
  expect(await world.differences(world.lookback())).toEqual([]);
  expect((await world.within(statusOf)).targets[1]).toMatchObject({ slices_behind: null, error: expect.any(String) });
});

it('and catches up when it is back, the runs and fetches of that night included', async () => {
  switchPostgres(database.url);
  expect((await world.night()).errors).toEqual([]);
  expect(await world.differences(world.lookback(), 'postgres')).toEqual([]);
  expect((await world.within(verify)).differences).toEqual([]);
  const counts = await world.within(async ({ targets }) =>
    Promise.all(
      targets.map(async (target) => {
        const { rows } = await target.query('SELECT count(*) FROM etl.run UNION ALL SELECT count(*) FROM etl.fetch', 9);
        return rows.map(([n]) => Number(n));
      }),
    ),
  );
  // DuckDB learns of runs that changed nothing there with the next slice that is published into it.
  expect(counts[1]).toEqual([4, 20]);
});
