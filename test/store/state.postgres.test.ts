import pg from 'pg';
import { openPostgresState } from '../../src/store/postgres.ts';
import { freshDatabase } from '../support/postgres-database.ts';
import { inboxConformance } from './conformance/inbox.ts';
import { slicesConformance } from './conformance/slices.ts';
import { smallStateConformance } from './conformance/small-state.ts';
import { type StatePlace, stateConformance } from './conformance.ts';

async function postgresPlace(): Promise<StatePlace> {
  const database = await freshDatabase();
  return {
    open: () => openPostgresState(database.url),
    async setVersion(version) {
      const client = new pg.Client(database.url);
      await client.connect();
      await client.query('UPDATE partner_etl_state.state_version SET version = $1', [version]);
      await client.end();
    },
    remove: () => database.drop(),
  };
}

stateConformance(postgresPlace);
smallStateConformance(postgresPlace);
inboxConformance(postgresPlace);
slicesConformance(postgresPlace);
