/** The state and its locks, wherever they lie: in files under the home directory, or in Postgres. */

import path from 'node:path';
import { sql } from 'kysely';
import type { Clock } from '../core/clock.ts';
import { EtlError } from '../core/errors.ts';
import type { HomePaths } from '../core/home.ts';
import { isThere } from '../disk/atomic.ts';
import type { Locks } from './locks.ts';
import { postgresLocks } from './postgres/locks.ts';
import { openPostgresState } from './postgres/state.ts';
import { demandNew } from './sqlite/backups.ts';
import { fileLocks } from './sqlite/locks.ts';
import { openSqliteState } from './sqlite/state.ts';
import type { State } from './state.ts';

export interface StateAt {
  /** postgres://…; null: a file in the home directory. Holds a password. */
  readonly url: string | null;
  readonly home: HomePaths;
}

/**
 * Errors: `failed/lost_state`, lest an empty state takes the place of one that is lost; `failed/other_home`, where a state in Postgres knows of
 * another lake than there is; those of the engine.
 */
export async function openState(at: StateAt): Promise<State> {
  const { url, home } = at;
  const mayMake = () => demandNew(home, placeOf(at));
  if (url === null) return openSqliteState(home.database, mayMake);
  const state = await openPostgresState(url, mayMake);
  try {
    await demandOwnHome(state, at);
    return state;
  } catch (error) {
    await state.close();
    throw error;
  }
}

/** Files of the lake that are looked for: that one of them is lost is said elsewhere. */
const FILES_SOUGHT = 20;

/** A shared volume that is not mounted, or a second installation on one state, would make a run begin a lake anew beside the one that is known. */
async function demandOwnHome(state: State, at: StateAt): Promise<void> {
  const known = await state.db
    .selectFrom('slice')
    .select('file')
    .where('file', 'is not', null)
    .orderBy('day', 'desc')
    .limit(FILES_SOUGHT)
    .execute();
  if (known.length === 0) return;
  for (const { file } of known) if (await isThere(path.join(at.home.root, String(file)))) return;
  throw new EtlError('failed', 'other_home', `${placeOf(at)} knows of a lake that is not in ${at.home.root}`, {
    hint: 'mount the shared volume there, or let PARTNER_ETL_HOME name it; another installation needs a database of its own; if the lake is lost: partner-etl rebuild --state',
  });
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

/** By so much the clocks of hosts may differ: budgets and the token go by them. */
const MOST_APART_MS = 5_000;

/** How far this host's clock is from the server's; 0 for a file. */
async function apartMs(state: State, clock: Clock): Promise<number> {
  if (state.engine === 'sqlite') return 0;
  const askedMs = clock.now();
  const { rows } = await sql<{
    now_ms: string;
  }>`SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now_ms`.execute(state.db);
  return Math.abs(Number(rows[0]?.now_ms) - (askedMs + clock.now()) / 2);
}

/** Errors: `failed/clocks_differ`. */
export async function demandOneTime(state: State, at: StateAt, clock: Clock): Promise<void> {
  const apart = await apartMs(state, clock);
  if (apart <= MOST_APART_MS) return;
  const seconds = Math.round(apart / 1000);
  throw new EtlError(
    'failed',
    'clocks_differ',
    `the clocks of this host and of ${placeOf(at)} are ${seconds} seconds apart`,
    {
      hint: 'let both follow the same time service: budgets and the token go by these clocks',
    },
  );
}
