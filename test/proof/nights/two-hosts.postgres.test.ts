/** The state in Postgres: several hosts are one installation, one of them is at work, and one that comes late does no harm. */
import { readdir, rename } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Step } from '../../../src/run/context.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { typedIn } from '../../cli/typed.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';

let database: Database;
let world: World;
beforeEach(async () => {
  database = await freshDatabase();
  world = await openWorld({
    ordersPerDay: 10,
    lookbackDays: 3,
    windowDays: 2,
    postgresUrl: database.url,
    settings: { targets: { duckdb: { enabled: false } } },
    env: { PARTNER_ETL_STATE_URL: database.url },
  });
});
afterEach(async () => {
  await world.close();
  await database.drop();
});

async function ask(sql: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows.map((row) => row.join(' '));
  } finally {
    await client.end();
  }
}

/** The server ends the sessions that hold locks of runs, as it does with those of a host that it does not hear of any more. */
const cutOff = () =>
  ask(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = 7215002
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`);

const sound = async () => {
  expect((await world.within(verify)).differences).toEqual([]);
  expect(await world.differences(world.lookback(), 'postgres')).toEqual([]);
};

/** What the warehouse holds; whichever host brought it. */
const content = () =>
  ask('SELECT pipeline, slice_day, digest, rows, sums FROM etl.receipt WHERE superseded_at IS NULL ORDER BY 1, 2');

const later = () => world.clock.set(world.clock.now() + 60_000);

describe('the state in Postgres', () => {
  it('nights are as with a file, and doctor says where it lies and whether the clocks agree', async () => {
    expect((await world.night()).errors).toEqual([]);
    world.passDays(1);
    expect((await world.night()).errors).toEqual([]);
    await sound();
    expect((await typedIn(world, ['status', '--json'])).code).toBe(0);
    // The clock of a test is not that of the server.
    expect((await typedIn(world, ['doctor'])).out).toMatch(/the state in Postgres \(.*\) are \d+ seconds apart/);
  });

  it('a state that is lost is refused by name, and comes back from the lake', async () => {
    await world.night();
    const before = await content();
    await ask('DROP SCHEMA partner_etl_state CASCADE');
    const refused = await typedIn(world, ['status']);
    expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(/the state in Postgres .* is lost/) });
    expect(refused.err).toContain('rebuild --state');
    expect((await typedIn(world, ['rebuild', '--state'])).code).toBe(0);
    later();
    expect((await world.night()).errors).toEqual([]);
    expect(await content()).toEqual(before);
    await sound();
  });

  it('a home without the lake that the state knows is refused by name, and left as it is', async () => {
    await world.night();
    await rename(path.join(world.home, 'lake'), path.join(world.home, 'unmounted'));
    const refused = await typedIn(world, ['run']);
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringMatching(/knows of a lake that is not in [\s\S]*shared volume/),
    });
    expect(await readdir(world.home)).not.toContain('lake');
    await rename(path.join(world.home, 'unmounted'), path.join(world.home, 'lake'));
    later();
    expect((await world.night()).errors).toEqual([]);
  });

  it('a state of a newer program is refused by name', async () => {
    await world.night();
    await ask('UPDATE partner_etl_state.state_version SET version = 99');
    expect(await typedIn(world, ['run'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/version 99[\s\S]*update this partner-etl/),
    });
  });

  it('while one host is at work another one hears who it is', async () => {
    const found: string[] = [];
    const step = async (name: Step) => {
      if (name !== 'publishing' || found.length > 0) return;
      const refused = (error: { code: string; message: string }) => found.push(`${error.code}: ${error.message}`);
      await world.night().catch(refused);
    };
    expect((await world.night({ step })).errors).toEqual([]);
    expect(found).toEqual([expect.stringMatching(/^run: another run is at work: "run.*" \(process \d+ on /)]);
  });

  it.each(['run-recorded', 'answer-received', 'normalised', 'lake-committed', 'publishing', 'published'] as const)(
    'a host that is cut off at step %s and goes on when another one has done the night does no harm',
    async (at) => {
      await world.night();
      world.passDays(1);
      let isPast = false;
      const step = async (name: Step) => {
        if (name !== at || isPast) return;
        isPast = true;
        await cutOff();
        expect((await world.night()).errors).toEqual([]);
      };
      const late = await world.night({ step }).then(
        ({ errors }) => errors.map(({ code }) => code),
        (error: { code: string }) => [error.code],
      );
      expect(isPast).toBe(true);
      expect(late).toContain('overtaken');
      await sound();
      const after = await content();
      later();
      expect((await world.night()).errors).toEqual([]);
      expect(await content()).toEqual(after);
    },
  );

  it('a late host that is about to publish older content is refused by the warehouse itself', async () => {
    await world.night();
    world.passDays(1);
    let isPast = false;
    const step = async (name: Step) => {
      if (name !== 'publishing' || isPast) return;
      isPast = true;
      await cutOff();
      const { orderId, orderItemId } = world.itemOn(world.lookback().to);
      world.sandbox.change({ kind: 'restate-item', orderId, orderItemId, values: { productTitle: 'newer' } });
      world.clock.set(world.clock.now() + 3_600_000);
      expect((await world.night()).errors).toEqual([]);
    };
    const late = await world.night({ step }).then(
      ({ published, errors }) => [...errors, ...published.flatMap((one) => one.errors)].map(({ code }) => code),
      (error: { code: string }) => [error.code],
    );
    expect(late).toContain('overtaken');
    expect(await ask(`SELECT count(*) FROM warehouse.fact_order_item WHERE product_title = 'newer'`)).toEqual(['1']);
    await sound();
  });
});
