/** What every kind of lock must do. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/core/clock.ts';
import { type Locks, waitLock, whoHolds } from '../../../src/store/locks.ts';
import { FakeClock } from '../../support/clock.ts';

/** A place for locks, none of them taken. */
export interface LockPlace {
  /** As another opener would see it. */
  open(clock: FakeClock): Locks;
  /** What test/store/lock-holder.mjs needs to hold the lock. */
  argumentsFor(name: string): string[];
  remove(): Promise<void>;
}

export function lockConformance(newPlace: () => Promise<LockPlace>): void {
  const clock = new FakeClock(Date.parse('2026-03-20T02:00:00Z')).passUpTo(1000);
  const processes: ChildProcess[] = [];
  let place: LockPlace;
  let locks: Locks;
  beforeEach(async () => {
    place = await newPlace();
    locks = place.open(clock);
  });
  afterEach(async () => {
    for (const one of processes.splice(0)) await end(one);
    await place.remove();
  });

  async function elsewhere(): Promise<{ readonly other: ChildProcess; readonly said: string }> {
    const script = path.join(import.meta.dirname, '..', 'lock-holder.mjs');
    const stdio = ['pipe', 'pipe', 'inherit'] as const;
    const other = spawn(process.execPath, [script, ...place.argumentsFor('run')], { stdio: [...stdio] });
    processes.push(other);
    const [said] = (await once(other.stdout!.setEncoding('utf8'), 'data')) as [string];
    return { other, said: said.trim() };
  }

  async function end(one: ChildProcess): Promise<void> {
    if (one.exitCode !== null || one.signalCode !== null) return;
    const gone = once(one, 'exit');
    one.kill('SIGKILL');
    await gone;
  }

  /** Takes the lock and lets go of it again; whether that went. */
  async function isFree(of = locks): Promise<boolean> {
    const lock = await of.tryLock('run', 'look');
    await lock?.release();
    return lock !== null;
  }

  describe('one holder at a time', () => {
    test('a second taker in this process is refused until the first lets go', async () => {
      const lock = await locks.tryLock('run', 'run');
      expect([await isFree(), await isFree(place.open(clock))]).toEqual([false, false]);
      await lock!.release();
      expect(await isFree()).toBe(true);
    });

    test('of ten at once one gets it', async () => {
      const got = await Promise.all(Array.from({ length: 10 }, () => locks.tryLock('run', 'run')));
      expect(got.filter((lock) => lock !== null)).toHaveLength(1);
      for (const lock of got) await lock?.release();
    });

    test('locks of different names do not meet', async () => {
      const got = [await locks.tryLock('run', 'run'), await locks.tryLock('run-2', 'run')];
      expect(got).not.toContain(null);
      for (const lock of got) await lock?.release();
    });

    test('another process is refused while this one holds it, also after this one was refused', async () => {
      const lock = await locks.tryLock('run', 'run');
      for (let i = 0; i < 3; i++) expect(await isFree()).toBe(false);
      expect((await elsewhere()).said).toBe('refused');
      await lock!.release();
      expect((await elsewhere()).said).toBe('held');
    });

    test('this process is refused while another one holds it; kill -9 sets it free within a second', async () => {
      const { other, said } = await elsewhere();
      expect(said).toBe('held');
      expect(await isFree()).toBe(false);
      await end(other);
      const lock = await waitLock(locks, 'run', 'run', systemClock, 1000, 20);
      expect(lock).not.toBeNull();
      await lock!.release();
    });
  });

  describe('whether it is held is seen without taking it', () => {
    test('by this process, by another, and not after a kill', async () => {
      expect(await locks.isLocked('run')).toBe(false);
      const lock = await locks.tryLock('run', 'run');
      expect([await locks.isLocked('run'), await place.open(clock).isLocked('run')]).toEqual([true, true]);
      await lock!.release();
      expect(await locks.isLocked('run')).toBe(false);
      const { other, said } = await elsewhere();
      expect([said, await locks.isLocked('run')]).toEqual(['held', true]);
      await end(other);
      await expect.poll(() => locks.isLocked('run')).toBe(false);
    });

    test('and a look makes no taker fail', async () => {
      let isOver = false;
      const looking = (async () => {
        while (!isOver) {
          await locks.isLocked('run');
          await systemClock.sleep(0);
        }
      })();
      for (let i = 0; i < 50; i++) expect(await isFree()).toBe(true);
      isOver = true;
      await looking;
    });
  });

  describe('who holds it', () => {
    test('is known: process, host, since when, what for', async () => {
      expect(await locks.holder('run')).toBeNull();
      const lock = await locks.tryLock('run', 'backfill orders');
      const since = '2026-03-20T02:00:00.000Z';
      const known = { pid: process.pid, host: hostname(), since, what: 'backfill orders' };
      expect(await place.open(clock).holder('run')).toEqual(known);
      expect(await whoHolds(locks, 'run')).toBe(
        `"backfill orders" (process ${process.pid} on ${hostname()}), since ${since}`,
      );
      await lock!.release();
    });

    test('and is not the one who was refused', async () => {
      const lock = await locks.tryLock('run', 'first');
      await locks.tryLock('run', 'second');
      expect(await locks.holder('run')).toMatchObject({ what: 'first' });
      await lock!.release();
    });
  });

  describe('waiting for it', () => {
    test('ends with the lock as soon as it is free', async () => {
      const first = await locks.tryLock('run', 'first');
      const standing = new FakeClock();
      const waiting = waitLock(locks, 'run', 'second', standing, 10_000, 50);
      await standing.asleep((ms) => ms === 50);
      await first!.release();
      await standing.advance(50);
      const second = await waiting;
      expect(second).not.toBeNull();
      await second!.release();
    });

    test('ends with nothing when the time is over', async () => {
      const lock = await locks.tryLock('run', 'first');
      expect(await waitLock(locks, 'run', 'second', clock, 500, 100)).toBeNull();
      await lock!.release();
    });
  });
}
