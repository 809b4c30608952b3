/**
 * Locks between processes that no crash leaves behind: one ends with the process that holds it, also at kill -9. Two holders within
 * one process exclude each other like those of two processes.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname } from 'node:os';
import { z } from 'zod';
import { type Clock, isoTime } from '../core/clock.ts';
import { EtlError } from '../core/errors.ts';

export interface Lock {
  /** How often the lock was taken, this time included; null: it is one of files, which the kernel ends with their process. */
  readonly generation: number | null;
  release(): Promise<void>;
}

export const lockHolderShape = z.object({ pid: z.int(), host: z.string(), since: z.string(), what: z.string() });
export type LockHolder = Readonly<z.infer<typeof lockHolderShape>>;

export interface Locks {
  /** Takes the lock if it is free; null when somebody holds it. */
  tryLock(name: string, what: string): Promise<Lock | null>;
  /** Whether somebody holds it now. */
  isLocked(name: string): Promise<boolean>;
  /** Who took it last, null where that is not known; meaningful while it is held. It is only information. */
  holder(name: string): Promise<LockHolder | null>;
}

export function holderNow(what: string, clock: Clock): LockHolder {
  return { pid: process.pid, host: hostname(), since: isoTime(clock.now()), what };
}

/** Waits for the lock, trying again every `pollMs`; null when `waitMs` have passed. */
export async function waitLock(
  locks: Locks,
  name: string,
  what: string,
  clock: Clock,
  waitMs: number,
  pollMs = 50,
): Promise<Lock | null> {
  const until = clock.now() + waitMs;
  for (;;) {
    const lock = await locks.tryLock(name, what);
    if (lock) return lock;
    if (clock.now() >= until) return null;
    await clock.sleep(pollMs);
  }
}

/** Who holds the lock, in words. */
export async function whoHolds(locks: Locks, name: string): Promise<string> {
  const holder = await locks.holder(name);
  return holder
    ? `"${holder.what}" (process ${holder.pid} on ${holder.host}), since ${holder.since}`
    : 'another process';
}

/*
 * A host that has lost the lock of runs without noticing, since it was stopped or cut off, works under an old generation: what it then wants to
 * commit, in the state or in a warehouse on a server, is refused.
 */

const current = new AsyncLocalStorage<number>();

/** Name of the memo with the newest generation of a lock. */
export function generationMemo(lock: string): string {
  return `generation ${lock}`;
}

/** Does the work under this generation; null: under none. */
export function underGeneration<T>(generation: number | null, work: () => Promise<T>): Promise<T> {
  return generation === null ? work() : current.run(generation, work);
}

/** Of the work that asks; null: of none. */
export function currentGeneration(): number | null {
  return current.getStore() ?? null;
}

/** `newest`: the newest that is known where something is to be committed. Errors: `locked/overtaken`. */
export function demandNewest(newest: number | null): void {
  const mine = currentGeneration();
  if (mine === null || newest === null || newest <= mine) return;
  throw new EtlError(
    'locked',
    'overtaken',
    'another host has taken over this run, and nothing of it is committed any more',
    {
      hint: 'this host was stopped or cut off for a while: the other one goes on; see partner-etl status',
    },
  );
}
