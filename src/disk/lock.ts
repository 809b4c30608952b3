/**
 * Locks between processes that a crash cannot leave behind.
 *
 * Node has no flock; DuckDB takes a kernel lock (fcntl) on a database file that it opens for writing, and the kernel lets go
 * of it with the process, also at kill -9. So a lock is an empty DuckDB file held open. fcntl locks are per process,
 * hence the set of names held here. Beside it stands `<name>.json`, which tells others who holds it; it is only information.
 */
import { randomBytes } from 'node:crypto';
import { access, constants, copyFile, link, lstat, mkdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { z } from 'zod';
import type { Clock } from '../core/clock.ts';
import { isoTime } from '../core/clock.ts';
import { EtlError } from '../core/errors.ts';
import { readIfThere, syncFile, writeJson } from './atomic.ts';

export interface LockHolder {
  readonly pid: number;
  readonly host: string;
  readonly since: string;
  readonly what: string;
}

export interface Lock {
  release(): Promise<void>;
}

const holderShape = z.object({ pid: z.int(), host: z.string(), since: z.string(), what: z.string() });

const heldHere = new Set<string>();

const SMALL = { threads: '1', memory_limit: '16MiB' };

/** Takes the lock if it is free; null when somebody holds it. `file` is a path without an ending. */
export function tryLock(file: string, what: string, clock: Clock): Promise<Lock | null> {
  return attempt(file, what, clock, true);
}

/** `isDoubted`: where the lock cannot be had, see whether its file is sound. */
async function attempt(file: string, what: string, clock: Clock, isDoubted: boolean): Promise<Lock | null> {
  const name = path.resolve(file);
  if (heldHere.has(name)) return null;
  heldHere.add(name);
  let instance: DuckDBInstance | null = null;
  try {
    await demandFile(`${name}.lock`);
    await makeLockFile(`${name}.lock`);
    instance = await open(`${name}.lock`, isDoubted);
  } finally {
    if (!instance) heldHere.delete(name);
  }
  if (!instance) return null;
  const release = async () => {
    instance.closeSync();
    heldHere.delete(name);
  };
  try {
    const holder: LockHolder = { pid: process.pid, host: hostname(), since: isoTime(clock.now()), what };
    await writeJson(`${name}.json`, holder);
  } catch (error) {
    await release();
    throw error;
  }
  return { release };
}

/** The lock, or null when another process has it. Errors: `failed/lock_file` for a damaged file, which nobody could ever take. */
async function open(file: string, isDoubted: boolean): Promise<DuckDBInstance | null> {
  try {
    return await DuckDBInstance.create(file, SMALL);
  } catch (error) {
    if (!(await isAllowed(path.dirname(file), constants.W_OK))) throw error;
    if (!isDoubted || (await isSound(file))) return null;
    throw new EtlError('failed', 'lock_file', `the lock file ${file} is damaged`, {
      cause: error,
      concern: { file },
      hint: `see that no partner-etl is at work in that home directory, then: rm ${file}`,
    });
  }
}

/**
 * Whether DuckDB can open a copy of the file. It holds nothing and is not written to, so a copy is whole also while it is held. Where
 * no copy can be made, as on a full disk, that is the error: to call the file damaged would be to advise deleting a lock that may be held.
 */
async function isSound(file: string): Promise<boolean> {
  const copy = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await copyFile(file, copy);
    return await DuckDBInstance.create(copy, { ...SMALL, access_mode: 'READ_ONLY' }).then(
      (instance) => {
        instance.closeSync();
        return true;
      },
      () => false,
    );
  } finally {
    await rm(copy, { force: true });
  }
}

/** DuckDB would follow a link that somebody has put there, and write to where it leads. */
async function demandFile(file: string): Promise<void> {
  const stats = await lstat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (stats === null || stats.isFile()) return;
  throw new EtlError(
    'failed',
    'lock_file',
    `${file} is no lock file: ${stats.isSymbolicLink() ? 'a link' : 'no file'}`,
    {
      concern: { file },
      hint: 'find out who put it there, and delete it',
    },
  );
}

/**
 * DuckDB writes a new file in several steps, and one that a kill leaves half written can never be opened again: everybody would
 * take the lock for held, for ever. So the file is made beside its place and linked to it whole. Where the file system has
 * no links, or somebody else was first, DuckDB finds or makes the file itself.
 */
async function makeLockFile(file: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  if (await isAllowed(file, constants.F_OK)) return;
  const beside = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    (await DuckDBInstance.create(beside, SMALL)).closeSync();
    await syncFile(beside);
    await link(beside, file).catch(() => undefined);
  } finally {
    await rm(beside, { force: true });
  }
}

/** Waits for the lock, looking again every `pollMs`; null when `waitMs` have passed. */
export async function waitLock(
  file: string,
  what: string,
  clock: Clock,
  waitMs: number,
  pollMs = 50,
): Promise<Lock | null> {
  const until = clock.now() + waitMs;
  // The file is looked into once: a copy of it is opened for that, too much for every look.
  for (let isDoubted = true; ; isDoubted = false) {
    const lock = await attempt(file, what, clock, isDoubted);
    if (lock) return lock;
    if (clock.now() >= until) return null;
    await clock.sleep(pollMs);
  }
}

/**
 * Whether somebody holds the lock now. Looking takes it for a moment, shared with others who look, so that nobody else can have it
 * then; nothing is written.
 */
export async function isLocked(file: string): Promise<boolean> {
  const name = path.resolve(file);
  if (heldHere.has(name)) return true;
  if (!(await isAllowed(`${name}.lock`, constants.R_OK))) return false;
  try {
    (await DuckDBInstance.create(`${name}.lock`, { ...SMALL, access_mode: 'READ_ONLY' })).closeSync();
    return false;
  } catch {
    return true;
  }
}

/** Who took the lock last, null where that is not known; meaningful while it is held. */
export async function lockHolder(file: string): Promise<LockHolder | null> {
  const text = await readIfThere(`${path.resolve(file)}.json`);
  try {
    return text === null ? null : holderShape.parse(JSON.parse(text));
  } catch {
    return null; // Damaged: it is only information.
  }
}

/** The same in words. */
export async function whoHolds(file: string): Promise<string> {
  const holder = await lockHolder(file);
  return holder
    ? `"${holder.what}" (process ${holder.pid} on ${holder.host}), since ${holder.since}`
    : 'another process';
}

async function isAllowed(file: string, mode: number): Promise<boolean> {
  return access(file, mode).then(
    () => true,
    () => false,
  );
}
