import pg from 'pg';
import { openPostgresState } from '../../src/store/postgres.ts';
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
