/** Runs that meet: another one that is at work, and an operator who presses Ctrl-C. */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Step } from '../../../src/run/context.ts';
import { expectInterrupted } from '../../run/ctrl-c.ts';
import { tableFolder } from '../../support/lake-folders.ts';
import { openWorld, type World } from '../../support/nights.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld({ lookbackDays: 4, windowDays: 2, ordersPerDay: 50 });
});
afterEach(() => world.close());

it.each<[Step, number]>([
  ['run-recorded', 1],
  ['normalised', 3],
])('Ctrl-C at %s (%i): the run ends as interrupted, what was fetched is published, the next one goes on', (at, nth) =>
  expectInterrupted(world, at, nth),
);

it('Ctrl-C when all is fetched stops nothing any more', async () => {
  const stop = new AbortController();
  const step = (name: Step) => {
    if (name === 'publishing') stop.abort(new Error('Ctrl-C'));
  };
  const { exitCode, run, errors } = await world.night({ signal: stop.signal, step });
  expect({ exitCode, result: run.result, errors }).toEqual({ exitCode: 0, result: 'done', errors: [] });
  expect(await world.differences(world.lookback())).toEqual([]);
});

it('a commit that failed half way leaves no file behind: the next night removes it', async () => {
  await world.night();
  world.clock.set(world.clock.now() + 60_000);
  const lake = path.join(world.home, 'lake');
  const before = (await readdir(lake, { recursive: true })).sort();
  const inTheWay = tableFolder(world.home, 'orders', 'rejects');
  await mkdir(path.dirname(inTheWay));
  await writeFile(inTheWay, '');
  world.sandbox.addFault({ endpoint: 'orders', kind: 'raw-value', field: 'commission', json: '"n/a"', item: 0 });
  expect((await world.night({ names: ['orders'] })).exitCode).toBe(1);
  await rm(inTheWay);
  expect((await readdir(lake, { recursive: true })).length).toBe(before.length + 1);

  world.clock.set(world.clock.now() + 60_000);
  expect((await world.night({ names: ['orders'] })).run.summary).toMatchObject({ slices_changed: 0 });
  expect((await readdir(lake, { recursive: true })).sort()).toEqual(before);
});
