/** An installation whose state is lost or damaged in every way there is. */
import { open, readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { expect } from 'vitest';
import { openWorld, type World } from '../../support/nights.ts';
import { typedIn } from '../typed.ts';

/** After its first night. */
export async function openRunWorld(): Promise<World> {
  const world = await openWorld({ ordersPerDay: 20, lookbackDays: 3, windowDays: 2 });
  expect((await typedIn(world, ['run'])).code).toBe(0);
  return world;
}

/** All pages but the first become nonsense, and nothing that SQLite left beside the file hides it. */
export async function damage(world: World): Promise<void> {
  await world.within(({ state }) => sql`PRAGMA wal_checkpoint(TRUNCATE)`.execute(state.db));
  const name = path.join(world.home, 'state.db');
  for (const end of ['-wal', '-shm']) await rm(`${name}${end}`, { force: true });
  const { size } = await stat(name);
  const file = await open(name, 'r+');
  for (let page = 1; page < size / 4096; page++) await file.write(Buffer.alloc(4096, 7), 0, 4096, page * 4096);
  await file.close();
}

export async function lose({ home }: World): Promise<void> {
  for (const end of ['', '-wal', '-shm']) await rm(path.join(home, `state.db${end}`), { force: true });
}

export async function replace(world: World, text: string): Promise<void> {
  await lose(world);
  await writeFile(path.join(world.home, 'state.db'), text);
}

/** Every command says by name that the state is lost or damaged, and the one command brings it back. */
export async function expectBroughtBack(world: World, was: string): Promise<void> {
  for (const words of [['run'], ['status'], ['rebuild'], ['verify']]) {
    const { code, err } = await typedIn(world, words);
    expect([code, err]).toEqual([1, expect.stringContaining(path.join(world.home, 'state.db'))]);
    expect(err).toContain('partner-etl rebuild --state');
  }
  const doctor = await typedIn(world, ['doctor']);
  expect(doctor.out).toMatch(/broken +state .*state\.db.*\n.*rebuild --state/);
  const { code, out } = await typedIn(world, ['rebuild', '--state', '--json']);
  expect([code, JSON.parse(out)]).toMatchObject([0, { was: { is: was }, backup: { day: '2026-03-20' }, unsound: [] }]);
  const aside = (await readdir(world.home)).filter((name) => name.startsWith('state.db.damaged-'));
  expect(aside.length > 0).toBe(was === 'damaged');
  expect((await typedIn(world, ['doctor'])).out).toMatch(/ok +state .*sound; newest backup of 2026-03-20/);
}
