/** A reductions file that was held and never released: a replay does not apply it either. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Day } from '../../../src/core/days.ts';
import { runRelease, runReplay } from '../../../src/run/again.ts';
import { statusOf } from '../../../src/run/status/status.ts';
import { openLookupWorld } from '../../support/lookups.ts';
import { loseLake } from '../../support/lost-lake.ts';
import type { World } from '../../support/nights.ts';
import { fileDifferences, historyOf } from '../../support/versions.ts';

let world: World;
let first: Day;
beforeEach(async () => {
  world = await openLookupWorld({ reductions: {}, sandbox: { seriesLength: 20 } });
  first = world.today();
});
afterEach(() => world.close());

const night = () => world.night({ names: ['reductions'] });

/** A first night, and a second one whose file is held because nearly nothing is in it. */
async function holdFile(): Promise<void> {
  await night();
  world.passDays(1);
  world.sandbox.addFault({ endpoint: 'reductions', kind: 'truncate', bytes: 60 });
  expect((await night()).run.summary).toMatchObject({ slices_held: 1 });
}

const replay = () => world.within((context) => runReplay(context, 'reductions', { from: first, to: world.today() }));

it('neither while it is held nor when a newer file was loaded', async () => {
  await holdFile();
  const held = await historyOf(world);
  expect(await replay()).toMatchObject({ exitCode: 0, run: { summary: { slices_changed: 0 } } });
  expect(await historyOf(world)).toEqual(held);
  expect((await world.within(statusOf)).holds).toHaveLength(1);
  world.passDays(1);
  expect((await night()).exitCode).toBe(0);
  const before = await historyOf(world);
  expect(await replay()).toMatchObject({ exitCode: 0, run: { summary: { slices_changed: 0 } } });
  expect(await historyOf(world)).toEqual(before);
  expect(await fileDifferences(world)).toEqual([]);
});

it('but one that was released is applied again, also where the lake has lost its records', async () => {
  await holdFile();
  const [hold] = (await world.within(statusOf)).holds;
  const released = await world.within((context) => runRelease(context, 'reductions', hold!.slice_day));
  expect(released.errors).toEqual([]);
  world.passDays(1);
  await night();
  const before = await historyOf(world);
  await loseLake(world.home, 'reductions', 'reductions-files');
  expect((await replay()).errors).toEqual([]);
  expect(await historyOf(world)).toEqual(before);
});
