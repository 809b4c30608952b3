/** Runs that meet: another one that is at work, and an operator who presses Ctrl-C. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { RunContext, Step } from '../../src/run/context.ts';
import { chosenPipelines } from '../../src/run/night.ts';
import { nightPlans } from '../../src/run/plans.ts';
import { statusOf } from '../../src/run/status/status.ts';
import { runsSince } from '../../src/store/runs.ts';
import { receiptsOf } from '../../src/warehouse/target.ts';
import { openWorld, type World } from '../support/nights.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld({ lookbackDays: 4, windowDays: 2, ordersPerDay: 50 });
});
afterEach(() => world.close());

const runsRecorded = () => world.within(({ state }) => runsSince(state.db, null));

/** Digests of all slices that the lake, or the warehouse, holds. */
const digestsIn = (of: (context: RunContext, pipeline: string) => Promise<Iterable<[string, string]>>) =>
  world.within(async (context) =>
    Promise.all(context.pipelines.map(async ({ name }) => [...(await of(context, name))])),
  );
const inLake = () =>
  digestsIn(async ({ lake }, name) =>
    [...(await lake.slices(name)).values()].map(({ content }) => [content.day, content.digest]),
  );
const inWarehouse = () =>
  digestsIn(async ({ targets }, name) =>
    [...receiptsOf(await targets[0]!.receipts(), name)]
      .map(([day, { digest }]) => [day, digest] as [string, string])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

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
  expect(await runsRecorded()).toHaveLength(1);
  world.clock.set(world.clock.now() + 60_000);
  expect((await world.night()).exitCode).toBe(0);
});

it.each<[Step, number]>([
  ['run-recorded', 1],
  ['normalised', 3],
  ['lake-committed', 4],
])(
  'Ctrl-C at %s (%i): the run ends as interrupted, what was fetched is published, the next one goes on',
  async (at, nth) => {
    const stop = new AbortController();
    let passed = 0;
    const step = (name: Step) => {
      if (name === at) passed += 1;
      if (passed === nth) stop.abort(new Error('Ctrl-C'));
    };
    const { exitCode, run, errors } = await world.night({ signal: stop.signal, step });
    expect({ exitCode, result: run.result }).toEqual({ exitCode: 1, result: 'interrupted' });
    expect(errors.map(({ code }) => code)).toEqual(['interrupted']);
    expect(await runsRecorded()).toEqual([expect.objectContaining({ result: 'interrupted', exit_code: 1 })]);
    const lake = await inLake();
    expect(lake.flat().length).toBeLessThan(16); // four days of three reports, and the versions of the orders
    expect(await inWarehouse()).toEqual(lake);
    expect(await readdir(path.join(world.home, 'work'))).toEqual([]);

    world.clock.set(world.clock.now() + 60_000);
    expect((await world.night()).exitCode).toBe(0);
    expect(await world.differences(world.lookback())).toEqual([]);
  },
);
