/** The way back to a sound state: the newest backup, while nobody else is at work in the home directory. */
import { type Clock, isoTime } from '../core/clock.ts';
import { EtlError } from '../core/errors.ts';
import type { HomePaths } from '../core/home.ts';
import { type Restored, restoreState } from '../store/backups.ts';
import { fileLocks } from '../store/file-locks.ts';
import { type Lock, whoHolds } from '../store/locks.ts';
import { openSqliteState } from '../store/sqlite.ts';
import { RUN_LOCK } from './at-work.ts';
import { noteRestored } from './recover-fetches.ts';

/** Of the one process that starts runs. */
export const SCHEDULER_LOCK = 'scheduler';
/** Of the one process that takes push messages. */
export const RECEIVER_LOCK = 'receiver';

/**
 * Restores the state where it is damaged or lost, and makes an empty one where there is no backup. Errors: `locked/…` while a run or
 * `serve` is at work; those of `openSqliteState`.
 */
export async function rebuildState(home: HomePaths, clock: Clock): Promise<Restored> {
  const locks = fileLocks(home.locks, clock);
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
    const restored = await restoreState(
      home.database,
      home.backups,
      isoTime(clock.now()).replaceAll(/[-:.]|\d{3}Z/g, ''),
    );
    const state = await openSqliteState(home.database);
    if (restored.was.is !== 'sound') await noteRestored(state, isoTime(clock.now()));
    await state.close();
    return restored;
  } finally {
    for (const lock of taken.reverse()) await lock.release();
  }
}
