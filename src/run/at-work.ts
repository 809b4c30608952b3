/** Which run is at work now: its record has no end, and neither has that of one that was killed. */
import { hostname } from 'node:os';
import path from 'node:path';
import type { RunRecord } from '../core/records.ts';
import { isLocked, lockHolder } from '../disk/lock.ts';
import type { RunContext } from './context.ts';

type Places = Pick<RunContext, 'paths'>;

/** `newest`: the record of the run that began last. Runs exclude each other, so only that one can be at work. */
export async function isAtWork(context: Places, newest: RunRecord | undefined): Promise<boolean> {
  if (newest === undefined || newest.ended_at !== null) return false;
  // The lock itself is only looked at where it is probably held: a look may keep somebody from taking it at that moment.
  return (await isLockHolderAlive(context)) && (await isLocked(lockOf(context)));
}

/** Whether the process that took the run lock last still lives; of another machine's nobody knows, so it does. */
export async function isLockHolderAlive(context: Places): Promise<boolean> {
  const holder = await lockHolder(lockOf(context));
  if (holder === null) return false;
  if (holder.host !== hostname()) return true;
  try {
    process.kill(holder.pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function lockOf({ paths }: Places): string {
  return path.join(paths.locks, 'run');
}
