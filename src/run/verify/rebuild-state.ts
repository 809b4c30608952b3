/**
 * The way back to a sound state: the newest backup, and what has come to the lake since, while nobody else is at work in the home
 * directory.
 */
import path from 'node:path';
import { type Clock, isoTime } from '../../core/clock.ts';
import { EtlError } from '../../core/errors.ts';
import type { HomePaths } from '../../core/home.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { Engine } from '../../engine/duckdb.ts';
import { type Recovered, recoverSlices } from '../../lake/recover.ts';
import { type Lock, type Locks, whoHolds } from '../../store/locks.ts';
import type { StateAt } from '../../store/open.ts';
import { postgresLocks } from '../../store/postgres/locks.ts';
import { openPostgresState } from '../../store/postgres/state.ts';
import { type Restored, restoreState } from '../../store/sqlite/backups.ts';
import { fileLocks } from '../../store/sqlite/locks.ts';
import { openSqliteState } from '../../store/sqlite/state.ts';
import type { State } from '../../store/state.ts';
import { RUN_LOCK } from '../at-work.ts';
import { noteRestored } from './recover-fetches.ts';

/** Of the one process that starts runs. */
export const SCHEDULER_LOCK = 'scheduler';
/** Of the one process that takes push messages. */
export const RECEIVER_LOCK = 'receiver';

export interface RebuiltState extends Restored {
  /** How the lake's table differed from the files of the lake, which it now agrees with. */
  readonly lake: Recovered;
}

/**
 * Restores the state where it is damaged or lost, and makes an empty one where there is no backup; then takes in what lies in the lake.
 * Killed at any step, it is simply carried out again. Errors: `locked/…` while a run or `serve` is at work; those of `openSqliteState`.
 */
export async function rebuildState(at: StateAt, pipelines: readonly Pipeline[], clock: Clock): Promise<RebuiltState> {
  const { url, home } = at;
  if (url !== null) return rebuildInPostgres(url, home, pipelines, clock);
  const locks = fileLocks(home.locks, clock);
  return underLocks(locks, async () => {
    const restored = await restoreState(
      home.database,
      home.backups,
      isoTime(clock.now()).replaceAll(/[-:.]|\d{3}Z/g, ''),
    );
    const state = await openSqliteState(home.database);
    try {
      return { ...restored, lake: await takeIn(state, home, pipelines, clock) };
    } finally {
      await state.close();
    }
  });
}

/** A server's database is restored by the server's means; what it then lacks is found in the lake, as is everything where it is empty. */
async function rebuildInPostgres(
  url: string,
  home: HomePaths,
  pipelines: readonly Pipeline[],
  clock: Clock,
): Promise<RebuiltState> {
  const state = await openPostgresState(url);
  try {
    const lake = await underLocks(postgresLocks(url, state, clock), () => takeIn(state, home, pipelines, clock));
    return { was: { is: 'sound' }, set_aside: null, backup: null, unsound: [], lake };
  } finally {
    await state.close();
  }
}

async function underLocks<T>(locks: Locks, work: () => Promise<T>): Promise<T> {
  const taken: Lock[] = [];
  try {
    for (const name of [RUN_LOCK, SCHEDULER_LOCK, RECEIVER_LOCK]) {
      const lock = await locks.tryLock(name, 'rebuild --state');
      if (lock === null)
        throw new EtlError('locked', name, `the state is in use: ${await whoHolds(locks, name)}`, {
          hint: 'end it first',
        });
      taken.push(lock);
    }
    return await work();
  } finally {
    for (const lock of taken.reverse()) await lock.release();
  }
}

/** Also of a sound state: it may be one that was restored by a command that was killed then. */
async function takeIn(
  state: State,
  { root, work }: HomePaths,
  pipelines: readonly Pipeline[],
  clock: Clock,
): Promise<Recovered> {
  const engine = await Engine.open({ tempDir: path.join(work, 'spill') });
  try {
    await noteRestored(state, isoTime(clock.now()));
    return await recoverSlices({ root, state, engine, pipelines });
  } finally {
    engine.close();
  }
}
