/** Links and files that another user has put into the home directory, where it could be written to for a while. */
import { chmod, lstat, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { typedIn } from '../../cli/typed.ts';
import { openWorld, type World } from '../../support/nights.ts';

let world: World;
/** A folder of somebody whose files the program may write to. */
let victim: string;
beforeEach(async () => {
  world = await openWorld({ lookbackDays: 1, windowDays: 1 });
  victim = await mkdtemp(path.join(tmpdir(), 'etl-victim-'));
  await writeFile(path.join(victim, 'precious'), 'precious');
});
afterEach(async () => {
  await world.close();
  await rm(victim, { recursive: true, force: true });
});

const at = (name: string) => path.join(world.home, name);
const run = (...words: string[]) => typedIn(world, ['run', 'orders', '--quiet', ...words]);
const expectUnharmed = async () => expect(await readFile(path.join(victim, 'precious'), 'utf8')).toBe('precious');

/** What a night writes under a name that is always the same. */
const WRITTEN = ['state.db', 'locks/run.json', 'warehouse.duckdb'];

describe('a link in the place of a file', () => {
  it.each(WRITTEN)('%s: what it leads to is not written to', async (name) => {
    await mkdir(path.dirname(at(name)), { recursive: true });
    await symlink(path.join(victim, 'precious'), at(name));
    await run();
    await expectUnharmed();
  });

  it('locks/run.json gives way to the file', async () => {
    const name = 'locks/run.json';
    await mkdir(path.dirname(at(name)), { recursive: true });
    await symlink(path.join(victim, 'precious'), at(name));
    expect(await run()).toEqual({ code: 0, out: '', err: '' });
    expect((await lstat(at(name))).isSymbolicLink()).toBe(false);
  });

  it('warehouse.duckdb that leads to a warehouse is read, and gives way to the next one', async () => {
    expect((await run()).code).toBe(0);
    const moved = path.join(victim, 'warehouse.duckdb');
    await rename(at('warehouse.duckdb'), moved);
    await symlink(moved, at('warehouse.duckdb'));
    const before = await readFile(moved);
    world.passDays(1);
    expect(await run()).toEqual({ code: 0, out: '', err: '' });
    expect((await lstat(at('warehouse.duckdb'))).isSymbolicLink()).toBe(false);
    expect((await readFile(moved)).equals(before)).toBe(true);
  });

  it.each(['precious', 'not-there-yet'])('a lock that leads to %s is refused and says what to do', async (target) => {
    await mkdir(at('locks'));
    await symlink(path.join(victim, target), at('locks/run.lock'));
    const { code, err } = await run();
    expect(code).toBe(1);
    expect(err).toMatch(/run\.lock is no lock file: a link\n {2}fix: find out who put it there, and delete it/);
    await expectUnharmed();
    await expect(lstat(path.join(victim, 'not-there-yet'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('a state that is a link is refused and says what to do; one that others may read is closed to them', async () => {
    expect((await run()).code).toBe(0);
    await chmod(at('state.db'), 0o644);
    world.passDays(1);
    expect((await typedIn(world, ['run', 'orders'])).code).toBe(0);
    expect((await lstat(at('state.db'))).mode & 0o777).toBe(0o600);
    await rename(at('state.db'), path.join(victim, 'state.db'));
    await symlink(path.join(victim, 'state.db'), at('state.db'));
    const { code, err } = await typedIn(world, ['run', 'orders']);
    expect(code).toBe(1);
    expect(err).toMatch(/state\.db is no state of ours: it is a link\n {2}fix: find out who put it there/);
  });
});

describe('a link in the place of a folder', () => {
  it('work: what lies there and is none of ours stays', async () => {
    await symlink(victim, at('work'));
    expect((await run()).code).toBe(0);
    await expectUnharmed();
  });

  it.each(['raw', 'lake', 'backups'])('%s: doctor tells it', async (name) => {
    await symlink(victim, at(name));
    const { out } = await typedIn(world, ['doctor']);
    expect(out).toMatch(new RegExp(`${name} under .* are links`));
    await expectUnharmed();
  });
});
