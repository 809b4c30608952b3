/** kill -9 in a later window of a night: what was committed before the crash must stay, what was not must come. */
import { afterAll, afterEach, beforeAll, it } from 'vitest';
import type { World } from '../../support/nights.ts';
import { expectRecovery, expectWhole, openKilledWorld } from './killed-night.ts';

let world: World;
beforeAll(async () => {
  world = await openKilledWorld(4);
});
afterEach(() => expectWhole(world));
afterAll(() => world.close());

it.each(['normalised', 'lake-committed'])('killed at %s, after three of them', (step) =>
  expectRecovery(world, { step, occurrence: 3 }),
);
