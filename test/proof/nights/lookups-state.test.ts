/** What a night of look-ups remembers beside the lake is an aid: lost or damaged, the next night ends right all the same. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pipelines } from '../../../pipelines/index.ts';
import { homePaths } from '../../../src/core/home.ts';
import { runRelease } from '../../../src/run/again.ts';
import type { Step } from '../../../src/run/context.ts';
import { statusOf } from '../../../src/run/status/status.ts';
import { rebuildState } from '../../../src/run/verify/rebuild-state.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { listEans, openLookupWorld, rateDifferences, rowsOf } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';
import { forgetAskedKeys } from '../../support/state.ts';
import { fileDifferences, flawsIn, historyOf, productDifferences, VERSIONED } from '../../support/versions.ts';

let world: World;
let eans: readonly string[];
let nights = 0;
beforeAll(async () => {
  world = await openLookupWorld({
    rates: {},
    products: { refreshDays: 1 },
    reductions: {},
    guards: { shrink: { minRows: 4, keepRatio: 0.5 } },
    sandbox: { seriesLength: 20 },
  });
  eans = world.sandbox.eans(8);
  await listEans(world, eans);
  expect((await world.night({ names: VERSIONED })).errors).toEqual([]);
});
afterAll(() => world.close());

/** Another day, on which everything has something new. */
function nextDay(): void {
  nights += 1;
  world.clock.set(world.clock.now() + 25 * 3_600_000);
  world.sandbox.change({ kind: 'commission-rate', ean: eans[0]!, percentage: `${nights}.5` });
  world.sandbox.change({ kind: 'product', ean: eans[1]!, title: `Titel ${nights}` });
}

async function expectTruth(): Promise<void> {
  expect(await rateDifferences(world, eans)).toEqual([]);
  expect(await productDifferences(world, eans)).toEqual([]);
  expect(await fileDifferences(world)).toEqual([]);
  expect(await flawsIn(world)).toEqual([]);
}

it.each([
  ['all', '%'],
  ['some', '%5"%'],
] as const)(
  'what was asked for, %s of it lost: a run of the same day changes nothing, the next night ends right',
  async (_, like) => {
    const before = await historyOf(world);
    await forgetAskedKeys(world.home, like);
    world.clock.set(world.clock.now() + 60_000);
    expect((await world.night({ names: VERSIONED })).errors).toEqual([]);
    expect(await historyOf(world)).toEqual(before);
    await forgetAskedKeys(world.home, like);
    nextDay();
    expect((await world.night({ names: VERSIONED })).errors).toEqual([]);
    await expectTruth();
  },
);

it('all of it lost with a night that was cut off before its answers were taken in', async () => {
  nextDay();
  const step = (name: Step, about: string) => {
    if (name === 'normalised' && about === 'commission-rates') throw new Error('no more');
  };
  const night = await world.night({ names: VERSIONED, step });
  expect(night.errors).toHaveLength(1);
  await forgetAskedKeys(world.home);
  world.clock.set(world.clock.now() + 60_000);
  expect((await world.night({ names: VERSIONED })).errors).toEqual([]);
  await expectTruth();
});

it('the state lost with its backups, after such a night: what the raw store holds of it is taken in', async () => {
  nextDay();
  const step = (name: Step, about: string) => {
    if (name === 'normalised' && about === 'commission-rates') throw new Error('no more');
  };
  expect((await world.night({ names: VERSIONED, step })).errors).toHaveLength(1);
  for (const name of ['state.db', 'state.db-wal', 'state.db-shm', 'backups'])
    await rm(path.join(world.home, name), { recursive: true, force: true });
  expect(await rebuildState({ url: null, home: homePaths(world.home) }, pipelines, world.clock)).toMatchObject({
    was: { is: 'lost' },
    backup: null,
  });
  world.clock.set(world.clock.now() + 60_000);
  const night = await world.night({ names: ['commission-rates'] });
  expect(night).toMatchObject({ errors: [], run: { summary: { calls: 0 } } });
  await expectTruth();
  expect((await world.within(verify)).differences).toEqual([]);
});

it('answers that are held stay pending: a release applies them', async () => {
  nextDay();
  world.sandbox.change({ kind: 'unknown-ean', as: 'leave-out' });
  for (const ean of eans) world.sandbox.change({ kind: 'ean-known', ean, known: false });
  const night = await world.night({ names: ['commission-rates'] });
  expect(night.run.summary).toMatchObject({ slices_held: 1 });
  const [hold] = (await world.within(statusOf)).holds;
  const released = await world.within((context) => runRelease(context, 'commission-rates', hold!.slice_day));
  expect(released.errors).toEqual([]);
  const sql = `SELECT DISTINCT outcome FROM warehouse.fact_commission_rate_version WHERE valid_to IS NULL`;
  expect(await rowsOf(world, sql)).toEqual(['not_found']);
  for (const ean of eans) world.sandbox.change({ kind: 'ean-known', ean, known: true });
  nextDay();
  expect((await world.night({ names: VERSIONED })).errors).toEqual([]);
  await expectTruth();
});
