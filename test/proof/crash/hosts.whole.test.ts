/** Two hosts on one state in Postgres: one dies or is stopped in the middle of a night, and the other one does the night. */
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { verify } from '../../../src/run/verify/verify.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';
import { endOf, nightKilledAt, startNight } from './killed-night.ts';

/** Another host may begin as soon as the server has noticed. */
const SOON_MS = 1_000;
const LOOK_MS = 20;

let database: Database;
let world: World;
beforeEach(async () => {
  database = await freshDatabase();
  world = await openWorld({
    ordersPerDay: 20,
    lookbackDays: 4,
    windowDays: 2,
    postgresUrl: database.url,
    settings: { targets: { duckdb: { enabled: false } } },
    env: { PARTNER_ETL_STATE_URL: database.url },
  });
  await world.night();
  world.passDays(1);
});
afterEach(async () => {
  await world.close();
  await database.drop();
});

async function nightSoon() {
  for (let waitedMs = 0; ; waitedMs += LOOK_MS)
    try {
      return await world.night();
    } catch (error) {
      if ((error as { kind?: string }).kind !== 'locked' || waitedMs >= SOON_MS) throw error;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
}

async function expectWhole(): Promise<void> {
  expect((await world.within(verify)).differences).toEqual([]);
  expect(await world.differences(world.lookback(), 'postgres')).toEqual([]);
}

it.each(['answer-received', 'normalised', 'lake-committed', 'publishing'])(
  'killed at %s: the other one takes over, and asks for nothing twice that is safe',
  async (step) => {
    expect(await nightKilledAt(world, { step })).toBe('SIGKILL');
    world.clock.set(world.clock.now() + 60_000); // the killed night's clock ran on
    expect((await nightSoon()).errors).toEqual([]);
    await expectWhole();
  },
);

it.each(['normalised', 'publishing'])(
  'stopped at %s past its lock, it goes on when the other one is done, and does no harm',
  async (step) => {
    const child = startNight(world, { step, signal: 'SIGSTOP' });
    const ended = endOf(child);
    while (!isStopped(child.pid!)) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`);
    await client.end();
    world.clock.set(world.clock.now() + 60_000);
    const night = await nightSoon();
    expect(night.errors).toEqual([]);
    child.kill('SIGCONT');
    expect(await ended).toBeNull();
    expect(child.exitCode).not.toBe(0);
    await expectWhole();
  },
);

/** By the letter that Linux gives for the state of a process. */
function isStopped(pid: number): boolean {
  return / T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/\(.*\)/, ''));
}
