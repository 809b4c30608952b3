import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, lstat, mkdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { tryLock } from '../../src/disk/lock.ts';
import { Scene } from './scene.ts';
import { tokenNamed } from './scripted-service.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
});
afterEach(() => scene.close());

describe('a cache that cannot be trusted is not used, and is replaced', () => {
  const damages: [name: string, damage: (file: string) => Promise<void>, said: string][] = [
    ['wider mode', (file) => chmod(file, 0o640), 'others may use it (mode 640, not 600)'],
    [
      'symbolic link',
      async (file) => {
        await rename(file, `${file}.elsewhere`);
        await symlink(`${file}.elsewhere`, file);
      },
      'it is a symbolic link',
    ],
    ['no JSON', (file) => writeFile(file, 'eyJhbGciOi'), 'it is damaged'],
    ['an empty file', (file) => writeFile(file, ''), 'it is damaged'],
    ['a token that is none', (file) => alter(file, { accessToken: 'a\nb' }), 'it is damaged'],
    ['a time that is none', (file) => alter(file, { expiresAtMs: 'soon' }), 'it is damaged'],
    ['another version', (file) => alter(file, { version: 2 }), 'it is damaged'],
    ['a huge file', (file) => writeFile(file, ' '.repeat(100_000)), 'it has 100000 bytes'],
  ];

  test.each(damages)('%s', async (_name, damage, said) => {
    const { cache } = scene.files();
    await scene.tokens().get();
    await damage(cache);
    expect((await scene.tokens().get()).value).toBe(tokenNamed(2));
    expect(scene.log.of('warn').join()).toContain(said);
    const about = await lstat(cache);
    expect([about.isFile(), about.mode & 0o777]).toEqual([true, 0o600]);
    expect((await scene.tokens().get()).value).toBe(tokenNamed(2));
  });

  test("somebody else's file", async () => {
    await scene.tokens().get();
    const { uid } = await stat(scene.files().cache);
    expect((await scene.tokens({}, { uid: uid + 1 }).get()).value).toBe(tokenNamed(2));
    expect(scene.log.of('warn').join()).toContain(`it belongs to user ${uid}, not to ${uid + 1}`);
  });

  test('a link is not followed when it is replaced', async () => {
    const { cache } = scene.files();
    await mkdir(path.dirname(cache), { recursive: true });
    await writeFile(path.join(scene.home.root, 'precious'), 'precious');
    await symlink(path.join(scene.home.root, 'precious'), cache);
    await scene.tokens().get();
    expect(await readFile(path.join(scene.home.root, 'precious'), 'utf8')).toBe('precious');
  });
});

test('a token that cannot be kept is used all the same', async () => {
  await mkdir(scene.files().cache, { recursive: true });
  expect((await scene.tokens().get()).value).toBe(tokenNamed(1));
  expect(scene.log.of('warn').join('\n')).toContain('the token cannot be kept for other processes: EISDIR');
});

describe('between processes', () => {
  test('one asks and the others find its token in the cache', async () => {
    const got = await Promise.all(Array.from({ length: 4 }, () => scene.tokens().get()));
    expect(new Set(got.map(({ value }) => value))).toEqual(new Set([tokenNamed(1)]));
    expect(scene.service.tokenRequests).toHaveLength(1);
  });

  test('who waits for the lock reads the cache again when it has it', async () => {
    scene.clock.passUpTo(0);
    const lock = await tryLock(scene.files().lock, 'another process', scene.clock);
    const waiting = scene.tokens().get();
    await scene.clock.asleep((ms) => ms === 50);
    expect(scene.service.tokenRequests).toHaveLength(0);
    const file = JSON.stringify({
      version: 1,
      accessToken: 'token-of-the-other',
      obtainedAtMs: scene.clock.now(),
      expiresAtMs: scene.clock.now() + 299_000,
      print: await printOfScene(),
    });
    await mkdir(scene.home.state, { recursive: true });
    await writeFile(scene.files().cache, file, { mode: 0o600 });
    await lock?.release();
    await scene.clock.advance(50);
    expect((await waiting).value).toBe('token-of-the-other');
    expect(scene.service.tokenRequests).toHaveLength(0);
  });

  test('a real other process that holds the lock is waited for, and its death frees the lock', async () => {
    scene.clock.passUpTo(0);
    await mkdir(scene.home.locks, { recursive: true });
    const program = `
      import { DuckDBInstance } from '@duckdb/node-api';
      await DuckDBInstance.create(${JSON.stringify(`${scene.files().lock}.lock`)});
      console.log('held');
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    const waiting = scene.tokens().get();
    await scene.clock.asleep((ms) => ms === 50);
    expect(scene.service.tokenRequests).toHaveLength(0);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await scene.clock.advance(50);
    expect((await waiting).value).toBe(tokenNamed(1));
  });
});

async function alter(file: string, fields: Record<string, unknown>): Promise<void> {
  const cache = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  await writeFile(file, JSON.stringify({ ...cache, ...fields }));
}

/** The print that this installation's cache carries, taken from a cache that it wrote in another home. */
async function printOfScene(): Promise<unknown> {
  const other = await Scene.open();
  try {
    await other.tokens().get();
    const cache = JSON.parse(await readFile(other.files().cache, 'utf8')) as { print: unknown };
    return cache.print;
  } finally {
    await other.close();
  }
}
