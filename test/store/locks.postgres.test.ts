import { postgresLocks } from '../../src/store/postgres/locks.ts';
import { openPostgresState } from '../../src/store/postgres/state.ts';
import { freshDatabase } from '../support/postgres-database.ts';
import { lockConformance } from './conformance/locks.ts';

lockConformance(async () => {
  const database = await freshDatabase();
  const state = await openPostgresState(database.url);
  return {
    open: (clock) => postgresLocks(database.url, state, clock),
    argumentsFor: (name) => ['postgres', database.url, name],
    async remove() {
      await state.close();
      await database.drop();
    },
  };
});
