import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Day } from '../../../src/core/days.ts';
import { runReplay } from '../../../src/run/again.ts';
import { plannedPrune, runPrune } from '../../../src/run/prune/prune.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { listEans, openLookupWorld, rateDifferences, rowsOf } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';
import { answersOf, setRetention } from '../../support/retention.ts';

let world: World;
let eans: readonly string[];
const first = '2026-03-20' as Day;
const NAMES = ['commission-rates', 'reductions'];

beforeAll(async () => {
  world = await openLookupWorld({ rates: { freshHours: 0 }, reductions: {} });
  eans = world.sandbox.eans(250);
  await listEans(world, eans);
  for (let night = 0; night < 4; night++) {
    if (night > 0) world.passDays(1);
    if (night > 0) world.sandbox.change({ kind: 'commission-rate', ean: eans[0]!, percentage: String(10 + night) });
    expect((await world.night({ names: NAMES })).errors).toEqual([]);
    // An hour later every answer says what it said.
    world.clock.set(world.clock.now() + 3_600_000);
    expect((await world.night({ names: ['commission-rates'] })).errors).toEqual([]);
  }
  world.passDays(3);
});
afterAll(() => world.close());

const versions = () => rowsOf(world, 'SELECT * EXCLUDE (loaded_at) FROM warehouse.fact_commission_rate ORDER BY ALL');

it('what brought a row stays, the rest goes; warehouse and verification are as before', async () => {
  const before = await versions();
  const named = await rowsOf(world, 'SELECT DISTINCT fetch_id FROM warehouse.fact_commission_rate');
  await setRetention(world, { rawDays: 2 });
  const { outcome, plan } = await world.within((context) => runPrune(context));
  expect(outcome.errors).toEqual([]);
  expect(plan?.answers.some(({ file }) => file.includes('/gathered/'))).toBe(true);
  const answers = await answersOf(world, 'commission-rates');
  expect(new Set(answers.values())).toEqual(new Set(['there', 'pruned_answer']));
  for (const id of named) expect(answers.get(id)).toBe('there');
  expect(await versions()).toEqual(before);
  expect(await world.within(verify)).toMatchObject({ differences: [] });
  expect((await world.within(plannedPrune)).answers).toEqual([]);
});

it('a replay that would leave out what is gone is refused, and changes nothing', async () => {
  const before = await versions();
  const to = world.today();
  const { exitCode, errors } = await world.within((context) =>
    runReplay(context, 'commission-rates', { from: first, to }),
  );
  expect(exitCode).toBe(2);
  expect(errors).toMatchObject([{ code: 'pruned', hint: expect.stringContaining('backup') }]);
  expect(await versions()).toEqual(before);
});

it('the next night goes on as if nothing had gone', async () => {
  world.passDays(1);
  expect((await world.night({ names: NAMES })).errors).toEqual([]);
  expect(await rateDifferences(world, eans)).toEqual([]);
  expect(await world.within(verify)).toMatchObject({ differences: [] });
});

it('what waits to be taken in stays', async () => {
  world.passDays(1);
  const killed = world.night({
    names: ['commission-rates'],
    step: (name) => {
      if (name === 'normalised') throw new Error('killed');
    },
  });
  await killed.catch(() => undefined);
  world.passDays(5);
  const { kept } = await world.within(plannedPrune);
  expect(kept.map(({ why }) => why)).toContain('pending');
});
