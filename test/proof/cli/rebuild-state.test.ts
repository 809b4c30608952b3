/** The state lost or damaged in every way, and what backups and lake bring back. */
import { cp, mkdir, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { restoreState } from '../../../src/store/sqlite/backups.ts';
import { readMemo, writeMemo } from '../../../src/store/tables/memo.ts';
import { damage, expectBroughtBack, lose, openRunWorld, replace } from '../../cli/commands/lost-state.ts';
import { typedIn } from '../../cli/typed.ts';
import type { World } from '../../support/nights.ts';

let world: World;
const at = (name: string) => path.join(world.home, name);
/** Each test begins after the first night. */
let restore: () => Promise<void>;
beforeAll(async () => {
  world = await openRunWorld();
  restore = await world.keep();
});
afterAll(() => world.close());
beforeEach(() => restore());

const WAYS: readonly (readonly [string, (world: World) => Promise<void>, string])[] = [
  ['damaged', damage, 'damaged'],
  ['no database', (world) => replace(world, 'no database at all, but long enough to be taken for one'), 'damaged'],
  ['empty', (world) => replace(world, ''), 'lost'],
  ['deleted', lose, 'lost'],
];

describe.each(WAYS)('%s', (_, harm, was) => {
  test('every command says so by name, and the one command brings it back', async () => {
    await harm(world);
    await expectBroughtBack(world, was);
  });
});

describe.each([
  ['damaged', damage],
  ['lost', lose],
])('%s and brought back', (_, harm) => {
  test('the next night ends right', async () => {
    await harm(world);
    expect((await typedIn(world, ['rebuild', '--state'])).code).toBe(0);
    world.passDays(1);
    expect((await typedIn(world, ['run'])).code).toBe(0);
    expect((await typedIn(world, ['verify'])).code).toBe(0);
    expect(await world.differences(world.lookback())).toEqual([]);
  });
});

describe('the backup', () => {
  test('is made by every day whose run ended well, for its owner alone, and five days are kept', async () => {
    for (let i = 0; i < 5; i++) {
      world.passDays(1);
      expect((await typedIn(world, ['run', 'promotions'])).code).toBe(0);
    }
    const names = (await readdir(at('backups'))).sort();
    expect(names).toEqual([21, 22, 23, 24, 25].map((day) => `state-2026-03-${day}.db`));
    const modes = await Promise.all(['', ...names].map(async (n) => (await stat(at(`backups/${n}`))).mode & 0o777));
    expect(modes).toEqual([0o700, ...names.map(() => 0o600)]);
  });

  test('is the newest that is sound; without any the state begins empty', async () => {
    await world.within(({ state }) => writeMemo(state, 'test', 'first day', ''));
    world.passDays(1);
    expect((await typedIn(world, ['run', 'promotions'])).code).toBe(0);
    world.passDays(1);
    expect((await typedIn(world, ['run', 'promotions'])).code).toBe(0);
    await truncate(at('backups/state-2026-03-22.db'), 5000);
    await damage(world);
    const { out } = await typedIn(world, ['rebuild', '--state']);
    expect(out).toContain(`Not taken, since it is damaged itself: ${at('backups/state-2026-03-22.db')}`);
    expect(out).toContain('Restored from the backup of 2026-03-21');
    const kept = () => world.within(({ state }) => readMemo(state.db, 'test', z.string()));
    expect(await kept()).toBe('first day');
    await rm(at('backups'), { recursive: true });
    await damage(world);
    expect((await typedIn(world, ['rebuild', '--state'])).out).toContain(
      'There is no sound backup: the state is empty.',
    );
    expect(await kept()).toBeNull();
    world.passDays(1);
    expect((await typedIn(world, ['run'])).code).toBe(0);
    expect(await world.differences(world.lookback())).toEqual([]);
    expect((await typedIn(world, ['verify'])).code).toBe(0);
    expect((await typedIn(world, ['replay', 'orders', '--from', '2026-03-18', '--to', '2026-03-18'])).code).toBe(0);
  });

  test('that cannot be made fails no run', async () => {
    await rm(at('backups'), { recursive: true });
    await writeFile(at('backups'), 'in the way');
    world.passDays(1);
    const { code, err } = await typedIn(world, ['run', 'promotions']);
    expect([code, err]).toEqual([0, expect.stringContaining('the state could not be backed up')]);
  });

  test('half written by a killed run, it goes with the next one', async () => {
    await rm(at('backups'), { recursive: true });
    await mkdir(at('backups'));
    await writeFile(at('backups/state-2026-03-20.db.tmp'), 'half');
    world.passDays(1);
    expect((await typedIn(world, ['run', 'promotions'])).code).toBe(0);
    expect(await readdir(at('backups'))).toEqual(['state-2026-03-21.db']);
  });
});

describe('rebuild --state', () => {
  test.each(['an older backup', 'no backup'])('finds in the lake what %s lacks, without a call', async (which) => {
    world.passDays(1);
    expect((await typedIn(world, ['run'])).code).toBe(0);
    await rm(at(which === 'no backup' ? 'backups' : 'backups/state-2026-03-21.db'), { recursive: true });
    await damage(world);
    expect((await typedIn(world, ['rebuild', '--state'])).out).toMatch(/^Found in the lake: \d+ slices/m);
    expect((await typedIn(world, ['verify'])).code).toBe(0);
    expect((await typedIn(world, ['rebuild', '--state'])).out).toContain('nothing was changed');
  });

  test('finds it too where the command was killed when the backup was in its place', async () => {
    world.passDays(1);
    expect((await typedIn(world, ['run'])).code).toBe(0);
    await rm(at('backups/state-2026-03-21.db'));
    await damage(world);
    expect((await restoreState(at('state.db'), at('backups'), 'then')).backup?.day).toBe('2026-03-20');
    expect((await typedIn(world, ['rebuild', '--state'])).out).toMatch(/^Found in the lake: \d+ slices/m);
    expect((await typedIn(world, ['verify'])).code).toBe(0);
  });

  test('killed between its steps it is simply carried out again', async () => {
    await damage(world);
    await cp(at('state.db'), at('state.db.damaged-before'));
    await lose(world);
    await writeFile(at('state.db-wal'), 'left by the damaged one');
    await writeFile(at('state.db.tmp'), 'half a copy');
    expect((await typedIn(world, ['rebuild', '--state'])).out).toContain('Restored from the backup of 2026-03-20');
    expect((await typedIn(world, ['status'])).code).toBe(0);
  });
});
