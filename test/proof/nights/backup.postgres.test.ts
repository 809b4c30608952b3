/**
 * What of a warehouse comes back from where: a copy of the database, and `rebuild` from the home directory. `createdb --template` copies
 * a database as it stands, which is what pg_dump and pg_restore do by way of a file; those are not among what `npm ci` brings.
 */
import { unlink } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { typedIn } from '../../cli/typed.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';

let database: Database;
let empty: Database;
let world: World;
beforeAll(async () => {
  database = await freshDatabase();
  empty = await freshDatabase();
  world = await openWorld({
    ordersPerDay: 50,
    lookbackDays: 4,
    windowDays: 2,
    postgresUrl: database.url,
    settings: { retention: { rawDays: 1 } },
  });
  world.sandbox.addFault({ endpoint: 'orders', kind: 'missing-field', field: 'orderItemId' });
  world.sandbox.addFault({ endpoint: 'orders', kind: 'unknown-field', field: 'voucher' });
  expect((await world.night()).exitCode).toBe(3);
  await copyDatabase(database, OLDER);
  world.passDays(2);
  const { from } = world.lookback();
  world.sandbox.change({ kind: 'shrink-day', report: 'orders', day: from, items: 3 });
  expect((await world.night()).exitCode).toBe(3);
  // At its end it deletes answers, which the next publication records.
  world.passDays(1);
  expect((await world.night()).errors).toEqual([]);
});
// What comes later has a later id.
beforeEach(() => world.clock.set(world.clock.now() + 60_000));
afterAll(async () => {
  await world.close();
  await database.drop();
  await empty.drop();
  await administer(`DROP DATABASE IF EXISTS ${OLDER}`);
});

const OLDER = 'backup_of_the_first_night';

async function administer(sql: string, url = inject('pgUrl')): Promise<readonly (readonly string[])[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows as string[][];
  } finally {
    await client.end();
  }
}

const copyDatabase = ({ url }: Database, name: string) =>
  administer(`CREATE DATABASE ${name} TEMPLATE ${new URL(url).pathname.slice(1)}`);

const urlOf = (name: string) => {
  const url = new URL(inject('pgUrl'));
  url.pathname = `/${name}`;
  return url.href;
};

/**
 * Every row that the schemas hold, by table, without when and by which run it was loaded, and without a run's summary, which is published
 * before the run has ended. Of receipts the current ones.
 */
async function held(target: 'duckdb' | 'postgres', url: string): Promise<Map<string, string>> {
  const ask = async (sql: string) => {
    const words = ['sql', sql, '--target', target, '--format', 'csv', '--limit', '100000'];
    const { code, out, err } = await typedIn(world, words, { env: { PARTNER_ETL_POSTGRES_URL: url } });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    return out;
  };
  const schemas = target === 'duckdb' ? `('main', 'etl')` : `('warehouse', 'etl')`;
  const names = await ask(`SELECT table_schema || '.' || table_name FROM information_schema.tables
    WHERE table_schema IN ${schemas} AND table_type = 'BASE TABLE' AND table_name NOT IN ('migration', 'catalogue', 'setting') ORDER BY 1`);
  const found = new Map<string, string>();
  for (const name of names.trim().split(/\r?\n/).slice(1)) {
    const columns = await ask(`SELECT column_name FROM information_schema.columns
      WHERE table_schema || '.' || table_name = '${name}' AND column_name <> 'loaded_at' AND table_name || '.' || column_name NOT IN ('receipt.run_id', 'run.summary') ORDER BY 1`);
    const listed = columns
      .trim()
      .split(/\r?\n/)
      .slice(1)
      .map((c) => `"${c}"`);
    const current = name === 'etl.receipt' ? 'WHERE superseded_at IS NULL' : '';
    found.set(
      name,
      await ask(`SELECT ${listed.join(', ')} FROM ${name} ${current} ORDER BY ${listed.map((_, i) => i + 1)}`),
    );
  }
  return found;
}

describe('rebuild brings back from the home directory', () => {
  it.each(['duckdb', 'postgres'] as const)(
    'everything that %s held but receipts of what was replaced since',
    async (target) => {
      const before = await held(target, database.url);
      expect(before.size).toBeGreaterThan(15);
      for (const name of ['etl.run', 'etl.fetch', 'etl.reject', 'etl.hold', 'etl.receipt'])
        expect([name, before.get(name)?.trim().split('\n').length]).toEqual([name, expect.toSatisfy((n) => n > 1)]);
      if (target === 'duckdb') await unlink(path.join(world.home, 'warehouse.duckdb'));
      const { code } = await typedIn(world, ['rebuild', '--target', target], {
        env: { PARTNER_ETL_POSTGRES_URL: empty.url },
      });
      expect(code).toBe(0);
      const after = await held(target, empty.url);
      // The run that rebuilds is a run as well.
      const runs = (all: typeof after) => new Set(all.get('etl.run')?.split('\n'));
      expect([...runs(before)].filter((run) => !runs(after).has(run))).toEqual([]);
      for (const [name, rows] of before) if (name !== 'etl.run') expect([name, after.get(name)]).toEqual([name, rows]);
    },
  );
});

describe('a database that was restored from an older backup', () => {
  it('is brought up by the next run, from the lake', async () => {
    const env = { PARTNER_ETL_POSTGRES_URL: urlOf(OLDER) };
    const typed = (...words: string[]) => typedIn(world, words, { env });
    expect((await typed('status')).out).toMatch(/postgres: \d+ slices behind the lake/);
    expect(await typed('run', '--quiet')).toMatchObject({ err: '' });
    expect(await typed('verify')).toMatchObject({ code: 0 });
  });
});
