/** Work on shared files that only one may do at a time: within this process in order of asking, between processes by lock. */
import type { Clock } from '../core/clock.ts';
import { EtlError } from '../core/errors.ts';
import { lockHolder, waitLock } from '../disk/lock.ts';

/** Lock → the end of the last work that was queued for it here. */
const queues = new Map<string, Promise<unknown>>();

/**
 * Runs `work` alone. `lockFile` is a path without an ending. Errors: `failed/lock_busy` when another process keeps the lock
 * for longer than `waitMs`; whatever `work` throws.
 */
export async function exclusively<T>(
  lockFile: string,
  what: string,
  clock: Clock,
  waitMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const before = queues.get(lockFile) ?? Promise.resolve();
  const mine = before.then(() => locked(lockFile, what, clock, waitMs, work));
  const settled = mine.catch(() => undefined); // the error is told to whoever asked for the work
  queues.set(lockFile, settled);
  try {
    return await mine;
  } finally {
    if (queues.get(lockFile) === settled) queues.delete(lockFile);
  }
}

async function locked<T>(
  lockFile: string,
  what: string,
  clock: Clock,
  waitMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const lock = await waitLock(lockFile, what, clock, waitMs);
  if (!lock) {
    const holder = await lockHolder(lockFile).catch(() => null);
    const who = holder ? `process ${holder.pid} on ${holder.host} since ${holder.since}` : 'another process';
    throw new EtlError('failed', 'lock_busy', `${what}: ${who} has kept the lock for more than ${waitMs} ms`, {
      concern: { file: lockFile },
      hint: 'look whether that process hangs; the lock goes with it',
    });
  }
  try {
    return await work();
  } finally {
    await lock.release();
  }
}
