/** Runs that meet: another one that is at work, and an operator who presses Ctrl-C. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Step } from '../../src/run/context.ts';
import { chosenPipelines } from '../../src/run/night.ts';
import { nightPlans } from '../../src/run/plans.ts';
import { statusOf } from '../../src/run/status/status.ts';
import { runsSince } from '../../src/store/tables/runs.ts';
import { openWorld, type World } from '../support/nights.ts';
import { expectInterrupted } from './ctrl-c.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld({ lookbackDays: 4, windowDays: 2, ordersPerDay: 50 });
});
afterEach(() => world.close());

it('a second run at the same time is refused and told who is at work; looking on is allowed', async () => {
  const refusals: unknown[] = [];
  const seen: unknown[] = [];
  const step = async (name: Step) => {
    if (name !== 'publishing') return;
    refusals.push(await world.night({ names: ['orders'] }).catch((thrown: unknown) => thrown));
    const status = await world.within(statusOf);
    const plans = await world.within((context) => nightPlans(context, chosenPipelines(context, [])));
    seen.push(
      status.runs.map(({ result }) => result),
      plans.length,
    );
  };
  const { exitCode } = await world.night({ step });
  expect(refusals).toEqual([
    expect.objectContaining({
      kind: 'locked',
      code: 'run',
      message: expect.stringMatching(`"run" \\(process ${process.pid} on .+\\), since 2026-03-20T02:0`),
      hint: expect.any(String),
    }),
  ]);
  expect(seen).toEqual([[null], 3]);
  expect(exitCode).toBe(0);
  expect(await world.within(({ state }) => runsSince(state.db, null))).toHaveLength(1);
  world.clock.set(world.clock.now() + 60_000);
  expect((await world.night()).exitCode).toBe(0);
});

it('Ctrl-C in the middle: the run ends as interrupted, what was fetched is published, the next one goes on', () =>
  expectInterrupted(world, 'lake-committed', 4));
