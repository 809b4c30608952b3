/** kill -9 between every two steps of a slice: the next run ends in the warehouse of an undisturbed one. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { STEPS } from '../../src/run/context.ts';
import { verify } from '../../src/run/verify.ts';
import { nightKilledAt } from '../proof/crash/killed-night.ts';
import { openWorld, type World } from '../support/nights.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld({ lookbackDays: 4, windowDays: 2 });
  await world.night();
});
afterAll(() => world.close());

// The first and a later window: what was committed before the crash must stay, what was not must come.
// Published early is only what long look-ups come after: test/run/published-early.test.ts.
const places = STEPS.filter((step) => step !== 'published-early').flatMap((step) =>
  ['normalised', 'lake-committed'].includes(step) ? [[step, 0] as const, [step, 3] as const] : [[step, 0] as const],
);

it.each(places)('killed at %s (after %i of them)', async (step, occurrence) => {
  world.passDays(1);
  const { from, to } = world.lookback();
  world.sandbox.change({ kind: 'move-item', ...world.itemOn(from), toDay: to });
  expect(await nightKilledAt(world, { step, occurrence })).toBe('SIGKILL');
  world.clock.set(world.clock.now() + 60_000); // the killed night's clock ran on
  const { exitCode, errors } = await world.night();
  expect(errors).toEqual([]);
  expect(exitCode).toBe(0);
  expect(await world.differences(world.lookback())).toEqual([]);
  expect((await world.within(verify)).differences).toEqual([]);
});
