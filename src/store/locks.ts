/**
 * Locks between processes that no crash leaves behind: one ends with the process that holds it, also at kill -9. Two holders within
 * one process exclude each other like those of two processes.
 */
import { hostname } from 'node:os';
import { z } from 'zod';
import { type Clock, isoTime } from '../core/clock.ts';

export interface Lock {
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
