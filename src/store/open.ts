/** The state and its locks, wherever they lie: in files under the home directory, or in Postgres. */
import type { Clock } from '../core/clock.ts';
import type { HomePaths } from '../core/home.ts';
import { demandNew } from './backups.ts';
import { fileLocks } from './file-locks.ts';
import type { Locks } from './locks.ts';
import { openPostgresState } from './postgres.ts';
import { postgresLocks } from './postgres-locks.ts';
import { openSqliteState } from './sqlite.ts';
import type { State } from './state.ts';

export interface StateAt {
  /** postgres://…; null: a file in the home directory. Holds a password. */
  readonly url: string | null;
  readonly home: HomePaths;
}

/** Errors: `failed/lost_state`, lest an empty state takes the place of one that is lost; those of the engine. */
export function openState({ url, home }: StateAt): Promise<State> {
  const mayMake = () => demandNew(home, placeOf({ url, home }));
  return url === null ? openSqliteState(home.database, mayMake) : openPostgresState(url, mayMake);
}

export function locksOf({ url, home }: StateAt, state: State, clock: Clock): Locks {
  return url === null ? fileLocks(home.locks, clock) : postgresLocks(url, state, clock);
}

/** What messages call it: without the password. */
export function placeOf({ url, home }: StateAt): string {
  if (url === null) return home.database;
  const { host, pathname } = new URL(url);
  return `the state in Postgres (${host}${pathname})`;
}
