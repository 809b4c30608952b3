/** A night in which an operator presses Ctrl-C, and the one after it. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import type { RunContext, Step } from '../../src/run/context.ts';
import { runsSince } from '../../src/store/tables/runs.ts';
import { receiptsOf } from '../../src/warehouse/target.ts';
import type { World } from '../support/nights.ts';

/** Digests of all slices that the lake, or the warehouse, holds. */
const digestsIn = (world: World, of: (context: RunContext, pipeline: string) => Promise<Iterable<[string, string]>>) =>
  world.within(async (context) =>
    Promise.all(context.pipelines.map(async ({ name }) => [...(await of(context, name))])),
  );
const inLake = (world: World) =>
  digestsIn(world, async ({ lake }, name) =>
    [...(await lake.slices(name)).values()].map(({ content }) => [content.day, content.digest]),
  );
const inWarehouse = (world: World) =>
  digestsIn(world, async ({ targets }, name) =>
    [...receiptsOf(await targets[0]!.receipts(), name)]
      .map(([day, { digest }]) => [day, digest] as [string, string])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

/** Ctrl-C when the step is passed the nth time: the run ends as interrupted, what was fetched is published, the next one goes on. */
export async function expectInterrupted(world: World, at: Step, nth: number): Promise<void> {
  const stop = new AbortController();
  let passed = 0;
  const step = (name: Step) => {
    if (name === at) passed += 1;
    if (passed === nth) stop.abort(new Error('Ctrl-C'));
  };
  const { exitCode, run, errors } = await world.night({ signal: stop.signal, step });
  expect({ exitCode, result: run.result }).toEqual({ exitCode: 1, result: 'interrupted' });
  expect(errors.map(({ code }) => code)).toEqual(['interrupted']);
  expect(await world.within(({ state }) => runsSince(state.db, null))).toEqual([
    expect.objectContaining({ result: 'interrupted', exit_code: 1 }),
  ]);
  const lake = await inLake(world);
  expect(lake.flat().length).toBeLessThan(16); // four days of three reports, and the versions of the orders
  expect(await inWarehouse(world)).toEqual(lake);
  expect(await readdir(path.join(world.home, 'work'))).toEqual([]);

  world.clock.set(world.clock.now() + 60_000);
  expect((await world.night()).exitCode).toBe(0);
  expect(await world.differences(world.lookback())).toEqual([]);
}
