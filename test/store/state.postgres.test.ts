import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { postgresLocks } from '../../src/store/postgres/locks.ts';
import { openPostgresState } from '../../src/store/postgres/state.ts';
import { startPooler } from '../support/pooler.ts';
import { type Database, freshDatabase } from '../support/postgres-database.ts';
import { inboxConformance } from './conformance/inbox.ts';
import { slicesConformance } from './conformance/slices.ts';
import { smallStateConformance } from './conformance/small-state.ts';
import { type StatePlace, stateConformance } from './conformance.ts';

/** One for all, as making and dropping it takes longer than most of these tests; goes with the server. */
let database: Promise<Database> | null = null;

async function postgresPlace(): Promise<StatePlace> {
  database ??= freshDatabase();
  const { url } = await database;
  const execute = async (sql: string, values: readonly unknown[] = []) => {
    const client = new pg.Client(url);
    await client.connect();
    await client.query(sql, [...values]);
    await client.end();
  };
  return {
    open: () => openPostgresState(url),
    setVersion: (version) => execute('UPDATE partner_etl_state.state_version SET version = $1', [version]),
    remove: () => execute('DROP SCHEMA IF EXISTS partner_etl_state CASCADE'),
  };
}

stateConformance(postgresPlace);
smallStateConformance(postgresPlace);
inboxConformance(postgresPlace);
slicesConformance(postgresPlace);

describe('a pooler that keeps no sessions', () => {
  const refusal = { kind: 'usage', code: 'state_pooler', hint: expect.stringContaining('PARTNER_ETL_STATE_URL') };

  async function pooled() {
    const own = await freshDatabase();
    const pooler = await startPooler(own.url);
    onTestFinished(async () => {
      await pooler.close();
      await own.drop();
    });
    return { own, pooler };
  }

  test('is refused before anything is made', async () => {
    const { own, pooler } = await pooled();
    await expect(openPostgresState(pooler.url)).rejects.toMatchObject(refusal);
    const client = new pg.Client(own.url);
    await client.connect();
    const { rows } = await client.query(`SELECT 1 FROM pg_namespace WHERE nspname = 'partner_etl_state'`);
    await client.end();
    expect(rows).toEqual([]);
  });

  test('is refused when a lock is wanted, where the names of tables are those of the state', async () => {
    const { own, pooler } = await pooled();
    const client = new pg.Client(own.url);
    await client.connect();
    await client.query(`ALTER DATABASE "${new URL(own.url).pathname.slice(1)}" SET search_path = partner_etl_state`);
    await client.end();
    const state = await openPostgresState(pooler.url);
    onTestFinished(() => state.close());
    await expect(postgresLocks(pooler.url, state, systemClock).tryLock('run', 'run')).rejects.toMatchObject(refusal);
  });
});
