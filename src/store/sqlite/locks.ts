/**
 * Locks as empty SQLite files in a folder: a lock is an exclusive transaction that is held open, and the kernel ends it with the process.
 * Node itself has no flock.
 *
 * Traps: the kernel's locks are per process and go when the process closes the file anywhere, hence the set of names held here, and
 * nothing else in the program opens such a file. A prepared statement would keep the file open until it is garbage, so only `exec` is
 * used. Beside the file stands `<name>.json`, which says who holds the lock.
 */
import { lstat, mkdir } from 'node:fs/promises';
import path from 'node:path';
import Database from 'libsql';
import { type Clock, systemClock } from '../../core/clock.ts';
import { EtlError } from '../../core/errors.ts';
import { readIfThere, writeJson } from '../../disk/atomic.ts';
import { holderNow, type LockHolder, type Locks, lockHolderShape } from '../locks.ts';

/** Paths of the locks that this process holds, or tries to take. */
const heldHere = new Set<string>();

/** A look occupies the file for less than a millisecond, so whoever finds it busy tries again after these pauses. */
const PAUSES_MS = [1, 2, 5, 10];

export function fileLocks(folder: string, clock: Clock): Locks {
  const placeOf = (name: string) => path.resolve(folder, name);
  return {
    async tryLock(name, what) {
      const place = placeOf(name);
      if (heldHere.has(place)) return null;
      heldHere.add(place);
      let database: Database.Database | null = null;
      const release = async () => {
        database?.close();
        heldHere.delete(place);
      };
      try {
        database = await take(`${place}.lock`);
        if (database) await writeJson(`${place}.json`, holderNow(what, clock));
      } catch (error) {
        await release();
        throw error;
      }
      if (database) return { generation: null, release };
      await release();
      return null;
    },
    async isLocked(name) {
      const place = placeOf(name);
      return heldHere.has(place) || ((await kindOf(`${place}.lock`)) === 'file' && isBusy(`${place}.lock`));
    },
    holder: (name) => readHolder(`${placeOf(name)}.json`),
  };
}

/** null: somebody holds it. Errors: `failed/lock_file` for what nobody could ever lock; those of the folder. */
async function take(file: string): Promise<Database.Database | null> {
  await mkdir(path.dirname(file), { recursive: true });
  const kind = await kindOf(file);
  // SQLite would follow a link that somebody has put there.
  if (kind !== 'file' && kind !== null)
    throw new EtlError('failed', 'lock_file', `${file} is no lock file: ${kind}`, {
      concern: { file },
      hint: 'find out who put it there, and delete it',
    });
  for (const pauseMs of [0, ...PAUSES_MS]) {
    if (pauseMs > 0) await systemClock.sleep(pauseMs);
    const database = opened(file, 'BEGIN EXCLUSIVE');
    if (database) return database;
  }
  return null;
}

function isBusy(file: string): boolean {
  const database = opened(file, 'SELECT 1 FROM sqlite_master');
  database?.close();
  return database === null;
}

/** null: another process is in the way of the statement. */
function opened(file: string, statement: string): Database.Database | null {
  let database: Database.Database | null = null;
  try {
    database = new Database(file);
    database.exec(statement);
    return database;
  } catch (cause) {
    database?.close();
    if (cause instanceof Error && 'code' in cause && cause.code === 'SQLITE_BUSY') return null;
    throw noLockFile(file, String(cause instanceof Error ? cause.message : cause), cause);
  }
}

async function kindOf(file: string): Promise<'file' | 'a link' | 'no file' | null> {
  try {
    const stats = await lstat(file);
    return stats.isSymbolicLink() ? 'a link' : stats.isFile() ? 'file' : 'no file';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function noLockFile(file: string, why: string, cause?: unknown): EtlError {
  return new EtlError('failed', 'lock_file', `${file} cannot be locked: ${why}`, {
    cause,
    concern: { file },
    hint: `see that no partner-etl is at work in that home directory, then: rm ${file}`,
  });
}

async function readHolder(file: string): Promise<LockHolder | null> {
  const text = await readIfThere(file);
  try {
    return text === null ? null : lockHolderShape.parse(JSON.parse(text));
  } catch {
    return null; // damaged
  }
}
