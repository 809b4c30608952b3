/** Unchanged costs nothing: a night that brings nothing new leaves lake and warehouse untouched, to the last file. */
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { verify } from '../../../src/run/verify/verify.ts';
import { loseLake } from '../../support/lost-lake.ts';
import { openWorld, type World } from '../../support/nights.ts';

let world: World;
let before: Record<string, string>;
beforeAll(async () => {
  world = await openWorld();
  await world.night();
});
afterAll(() => world.close());
beforeEach(async () => {
  world.clock.set(world.clock.now() + 60_000);
  before = await marks();
});

/** When each file of lake and warehouse was last written, which file it is and how long. */
async function marks(): Promise<Record<string, string>> {
  const filesOf = async (tree: string) =>
    (await readdir(path.join(world.home, tree), { recursive: true })).map((name) => path.join(tree, name));
  const names = [...(await filesOf('lake')), 'warehouse.duckdb'].sort();
  const found = await Promise.all(
    names.map(async (name) => {
      const { mtimeNs, ino, size } = await stat(path.join(world.home, name), { bigint: true });
      return [name, `${ino} ${mtimeNs} ${size}`];
    }),
  );
  return Object.fromEntries(found);
}

it('an answer that was checked, of a slice that was lost since, brings it back', async () => {
  await world.night();
  world.clock.set(world.clock.now() + 60_000);
  await loseLake(world.home);
  expect((await world.night()).run.summary).toMatchObject({ slices_changed: 18 });
  expect(Object.keys(await marks())).toEqual(Object.keys(before));
  expect(await world.differences(world.lookback())).toEqual([]);
  expect((await world.within(verify)).differences).toEqual([]);
});
