/**
 * Locks between processes that a crash cannot leave behind.
 *
 * Node has no flock; DuckDB takes a kernel lock (fcntl) on a database file that it opens for writing, and the kernel lets go
 * of it with the process, also at kill -9. So a lock is an empty DuckDB file held open. fcntl locks are per process,
 * hence the set of names held here. Beside it stands `<name>.json`, which tells others who holds it; it is only information.
 */
import { mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Clock } from '../core/clock.ts';
import { isoTime } from '../core/clock.ts';
import { readIfThere, writeJson } from './atomic.ts';

export interface LockHolder {
  readonly pid: number;
  readonly host: string;
  readonly since: string;
  readonly what: string;
}

export interface Lock {
  release(): Promise<void>;
}

const heldHere = new Set<string>();

/** Takes the lock if it is free; null when somebody holds it. `file` is a path without an ending. */
export async function tryLock(file: string, what: string, clock: Clock): Promise<Lock | null> {
  const name = path.resolve(file);
  if (heldHere.has(name)) return null;
  heldHere.add(name);
  let instance: DuckDBInstance;
  try {
    await mkdir(path.dirname(name), { recursive: true });
    instance = await DuckDBInstance.create(`${name}.lock`, { threads: '1', memory_limit: '16MiB' });
  } catch (error) {
    heldHere.delete(name);
    if (await isWritable(path.dirname(name))) return null;
    throw error;
  }
  const holder: LockHolder = { pid: process.pid, host: hostname(), since: isoTime(clock.now()), what };
  await writeJson(`${name}.json`, holder);
  return {
    release: async () => {
      instance.closeSync();
      heldHere.delete(name);
    },
  };
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
  for (;;) {
    const lock = await tryLock(file, what, clock);
    if (lock) return lock;
    if (clock.now() >= until) return null;
    await clock.sleep(pollMs);
  }
}

/** Who took the lock last; meaningful while it is held. */
export async function lockHolder(file: string): Promise<LockHolder | null> {
  const text = await readIfThere(`${path.resolve(file)}.json`);
  return text === null ? null : (JSON.parse(text) as LockHolder);
}

async function isWritable(dir: string): Promise<boolean> {
  const { access, constants } = await import('node:fs/promises');
  return access(dir, constants.W_OK).then(
    () => true,
    () => false,
  );
}
