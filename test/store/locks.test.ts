import { mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { fileLocks } from '../../src/store/sqlite/locks.ts';
import { lockConformance } from './conformance/locks.ts';

const newFolder = () => mkdtemp(path.join(tmpdir(), 'etl-lock-'));

lockConformance(async () => {
  const folder = await newFolder();
  return {
    open: (clock) => fileLocks(folder, clock),
    argumentsFor: (name) => ['file', path.join(folder, `${name}.lock`)],
    remove: () => rm(folder, { recursive: true }),
  };
});

describe('the files', () => {
  let folder: string;
  let locks: ReturnType<typeof fileLocks>;
  beforeEach(async () => {
    folder = await newFolder();
    locks = fileLocks(path.join(folder, 'locks'), systemClock);
  });
  afterEach(() => rm(folder, { recursive: true }));
  const file = () => path.join(folder, 'locks', 'run.lock');
  const takeAndRelease = async () => (await locks.tryLock('run', 'run'))?.release();

  test('are an empty one and who holds it; a look makes none', async () => {
    await locks.isLocked('run');
    expect(await readdir(folder)).toEqual([]);
    await takeAndRelease();
    expect((await readdir(path.dirname(file()))).sort()).toEqual(['run.json', 'run.lock']);
    expect((await stat(file())).size).toBe(0);
  });

  test('the same lock by another spelling of its folder is the same lock', async () => {
    const lock = await locks.tryLock('run', 'run');
    expect(await fileLocks(path.relative('', path.dirname(file())), systemClock).tryLock('run', 'run')).toBeNull();
    await lock!.release();
  });

  test('what can never be locked is an error that names it, and not a lock that somebody holds', async () => {
    await mkdir(path.dirname(file()));
    await writeFile(file(), 'no database, but long enough to be taken for one'.repeat(100));
    await expect(takeAndRelease()).rejects.toMatchObject({
      code: 'lock_file',
      hint: expect.stringContaining(`rm ${file()}`),
    });
    await rm(file());
    await symlink(path.join(folder, 'victim'), file());
    await expect(takeAndRelease()).rejects.toMatchObject({ code: 'lock_file' });
    expect(await readdir(folder)).toEqual(['locks']);
    await rm(file());
    await takeAndRelease();
  });

  test('a folder that cannot be made, or a holder that cannot be written, leaves no lock behind', async () => {
    await writeFile(path.join(folder, 'locks'), 'a file in the way');
    await expect(takeAndRelease()).rejects.toThrow();
    await rm(path.join(folder, 'locks'));
    await mkdir(path.join(folder, 'locks', 'run.json', 'in-the-way'), { recursive: true });
    await expect(takeAndRelease()).rejects.toThrow();
    expect(await locks.isLocked('run')).toBe(false);
    await rm(path.join(folder, 'locks', 'run.json'), { recursive: true });
    await takeAndRelease();
  });

  test('who holds it is only information', async () => {
    await mkdir(path.dirname(file()));
    await writeFile(path.join(folder, 'locks', 'run.json'), '{"pid": 1');
    expect(await locks.holder('run')).toBeNull();
  });
});
