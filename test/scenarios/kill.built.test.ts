/** kill -9 between every two steps of a slice: the next run ends in the warehouse of an undisturbed one. */
import { afterAll, beforeAll, it } from 'vitest';
import { STEPS } from '../../src/run/context.ts';
import { expectRecovery, expectWhole, openKilledWorld } from '../proof/crash/killed-night.ts';
import type { World } from '../support/nights.ts';

let world: World;
beforeAll(async () => {
  world = await openKilledWorld(2);
});
afterAll(() => world.close());

// Published early is only what long look-ups come after: test/run/published-early.test.ts.
it.each(STEPS.filter((step) => step !== 'published-early'))('killed at %s', (step) => expectRecovery(world, { step }));

it('after all of them answers, lake and warehouse agree', () => expectWhole(world));
