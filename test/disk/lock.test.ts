import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isLocked, lockHolder, tryLock, waitLock } from '../../src/disk/lock.ts';
import { FakeClock } from '../support/clock.ts';

let folder: string;
let file: string;
const clock = new FakeClock(Date.parse('2026-03-20T02:00:00Z')).passUpTo(1000);
const processes: ChildProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'etl-lock-'));
  file = path.join(folder, 'locks', 'run');
});
afterEach(async () => {
  for (const one of processes.splice(0)) await end(one, 'SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

async function end(one: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (one.exitCode !== null || one.signalCode !== null) return;
  const gone = once(one, 'exit');
  one.kill(signal);
  await gone;
}

/** Another process takes the lock: `held` or `refused`. */
async function elsewhere(): Promise<{ readonly other: ChildProcess; readonly said: string }> {
  const script = path.join(import.meta.dirname, 'lock-holder.mjs');
  const other = spawn(process.execPath, [script, `${file}.lock`], { stdio: ['pipe', 'pipe', 'inherit'] });
  processes.push(other);
  const [said] = (await once(other.stdout.setEncoding('utf8'), 'data')) as [string];
  return { other, said: said.trim() };
}

/** Takes the lock and lets go of it again; whether that went. */
async function isFree(): Promise<boolean> {
  const lock = await tryLock(file, 'look', clock);
  await lock?.release();
  return lock !== null;
}

describe('whether it is held is seen without taking it', () => {
  it('by this process, by another, and not after a kill', async () => {
    expect([await isLocked(file), await readdir(folder)]).toEqual([false, []]);
    const lock = await tryLock(file, 'run', clock);
    expect(await isLocked(file)).toBe(true);
    await lock?.release();
    const { other, said } = await elsewhere();
    expect([said, await isLocked(file)]).toEqual(['held', true]);
    await end(other, 'SIGKILL');
    expect(await isLocked(file)).toBe(false);
    expect(await isFree()).toBe(true);
  });
});

describe('one holder at a time', () => {
  it('a second taker in this process is refused until the first lets go', async () => {
    const lock = await tryLock(file, 'run', clock);
    expect(lock).not.toBeNull();
    expect(await isFree()).toBe(false);
    await lock?.release();
    expect(await isFree()).toBe(true);
  });

  it('the same lock by another spelling of its path is the same lock', async () => {
    const lock = await tryLock(file, 'run', clock);
    expect(await tryLock(path.relative('', file), 'run', clock)).toBeNull();
    await lock?.release();
  });

  it('of ten at once one gets it', async () => {
    const locks = await Promise.all(Array.from({ length: 10 }, () => tryLock(file, 'run', clock)));
    expect(locks.filter((lock) => lock !== null)).toHaveLength(1);
    for (const lock of locks) await lock?.release();
  });

  it('locks of different names do not meet', async () => {
    const locks = [await tryLock(file, 'run', clock), await tryLock(`${file}-2`, 'run', clock)];
    expect(locks).not.toContain(null);
    for (const lock of locks) await lock?.release();
  });

  it('another process is refused while this one holds it', async () => {
    const lock = await tryLock(file, 'run', clock);
    expect((await elsewhere()).said).toBe('refused');
    await lock?.release();
    expect((await elsewhere()).said).toBe('held');
  });

  it('this process is refused while another one holds it; kill -9 sets it free', async () => {
    const { other, said } = await elsewhereWithFolder();
    expect(said).toBe('held');
    expect(await isFree()).toBe(false);
    await end(other, 'SIGKILL');
    expect(await isFree()).toBe(true);
  });

  it('a refusal leaves the holder’s lock alone', async () => {
    const lock = await tryLock(file, 'run', clock);
    for (let i = 0; i < 3; i++) expect(await isFree()).toBe(false);
    expect((await elsewhere()).said).toBe('refused');
    await lock?.release();
  });
});

async function elsewhereWithFolder() {
  await mkdir(path.dirname(file), { recursive: true });
  return elsewhere();
}

describe('who holds it', () => {
  it('stands beside it: process, host, since when, what for', async () => {
    const lock = await tryLock(file, 'backfill orders', clock);
    const since = '2026-03-20T02:00:00.000Z';
    expect(await lockHolder(file)).toEqual({ pid: process.pid, host: hostname(), since, what: 'backfill orders' });
    await lock?.release();
  });

  it('nobody ever did', async () => {
    expect(await lockHolder(file)).toBeNull();
  });

  it('the last one is told, not the one who was refused', async () => {
    const lock = await tryLock(file, 'first', clock);
    await tryLock(file, 'second', clock);
    expect(await lockHolder(file)).toMatchObject({ what: 'first' });
    await lock?.release();
  });
});

describe('damaged', () => {
  it.each([
    ['cut off', 5000],
    ['empty', 0],
  ])('a lock file that is %s is told with its mend, and is not taken for held', async (_, bytes) => {
    expect(await isFree()).toBe(true);
    await truncate(`${file}.lock`, bytes);
    const told = { kind: 'failed', code: 'lock_file', concern: { file: `${file}.lock` } };
    await expect(isFree()).rejects.toMatchObject({ ...told, hint: expect.stringContaining(`rm ${file}.lock`) });
    await rm(`${file}.lock`);
    expect(await isFree()).toBe(true);
    expect((await readdir(path.dirname(file))).sort()).toEqual(['run.json', 'run.lock']);
  });

  it('a file that is held and cannot be copied to look into it is not called damaged', async () => {
    file = path.join(folder, 'locks', 'n'.repeat(245)); // The copy's name would be too long.
    expect((await elsewhereWithFolder()).said).toBe('held');
    await expect(isFree()).rejects.toMatchObject({ code: 'ENAMETOOLONG' });
    expect(await readdir(path.dirname(file))).toEqual([`${path.basename(file)}.lock`]);
  });

  it('who holds it is only information', async () => {
    const lock = await tryLock(file, 'run', clock);
    await writeFile(`${file}.json`, '{"pid": 1');
    expect(await lockHolder(file)).toBeNull();
    await lock?.release();
  });
});

describe('waiting for it', () => {
  it('ends with the lock as soon as it is free', async () => {
    const first = await tryLock(file, 'first', clock);
    const standing = new FakeClock();
    const waiting = waitLock(file, 'second', standing, 10_000, 50);
    await standing.asleep((ms) => ms === 50);
    await first?.release();
    await standing.advance(50);
    const second = await waiting;
    expect(second).not.toBeNull();
    await second?.release();
  });

  it('ends with nothing when the time is over', async () => {
    const lock = await tryLock(file, 'first', clock);
    expect(await waitLock(file, 'second', clock, 500, 100)).toBeNull();
    await lock?.release();
  });
});

describe('what goes wrong leaves no lock behind', () => {
  it('the first taker leaves a whole file and nothing beside it', async () => {
    expect(await isFree()).toBe(true);
    expect((await readdir(path.dirname(file))).sort()).toEqual(['run.json', 'run.lock']);
  });

  it('a holder’s name that cannot be written', async () => {
    await mkdir(path.join(`${file}.json`, 'in-the-way'), { recursive: true });
    await expect(tryLock(file, 'run', clock)).rejects.toThrow();
    await rm(`${file}.json`, { recursive: true });
    expect(await isFree()).toBe(true);
  });

  it('a folder that cannot be made is an error, and not a lock that somebody holds', async () => {
    await writeFile(path.join(folder, 'locks'), 'a file in the way');
    await expect(tryLock(file, 'run', clock)).rejects.toThrow();
    await rm(path.join(folder, 'locks'));
    expect(await isFree()).toBe(true);
  });
});
