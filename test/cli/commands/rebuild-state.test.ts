/** The state lost or damaged: said by name, brought back by one command. Every way of damage and every night after it: test/proof/cli. */
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fileLocks } from '../../../src/store/sqlite/locks.ts';
import type { World } from '../../support/nights.ts';
import { typedIn } from '../typed.ts';
import { damage, expectBroughtBack, openRunWorld } from './lost-state.ts';

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

test('damaged, every command says so by name, and the one command brings it back; the next night ends right', async () => {
  await damage(world);
  await expectBroughtBack(world, 'damaged');
  world.passDays(1);
  expect((await typedIn(world, ['run'])).code).toBe(0);
  expect((await typedIn(world, ['verify'])).code).toBe(0);
  expect(await world.differences(world.lookback())).toEqual([]);
});

describe('rebuild --state', () => {
  test('leaves a sound state alone', async () => {
    expect((await typedIn(world, ['rebuild', '--state'])).out).toContain('state.db is sound: nothing was changed.');
  });

  test.each(['run', 'scheduler', 'receiver'])('is refused while somebody holds the lock of %s', async (name) => {
    await damage(world);
    const lock = await fileLocks(at('locks'), world.clock).tryLock(name, 'serve');
    const { code, err } = await typedIn(world, ['rebuild', '--state']);
    await lock!.release();
    expect([code, err]).toEqual([75, expect.stringContaining('"serve"')]);
  });
});
