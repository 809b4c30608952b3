/**
 * Histories by chance: nights in which rates, products and reductions change, EANs become unknown and known again, runs are cut
 * off, most of what was there is gone for a night, and answers are replayed.
 */
import { afterEach, expect, it } from 'vitest';
import { addDays, type Day } from '../../../src/core/days.ts';
import { runRebuild, runRebuildHistory, runRelease, runReplay } from '../../../src/run/again.ts';
import type { Step } from '../../../src/run/context.ts';
import { statusOf } from '../../../src/run/status/status.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { listEans, openLookupWorld, rateDifferences } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';
import { fileDifferences, flawsIn, historyOf, productDifferences, VERSIONED } from '../../support/versions.ts';

const NIGHTS = 6;
const EANS = 10;
const DAY_MS = 86_400_000;

let world: World;
afterEach(() => world.close());

/** Numbers from 0 to 1, the same for the same seed. */
function chances(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

class History {
  readonly eans: readonly string[];
  /** What happened, for whoever looks at one that failed. */
  readonly story: string[] = [];
  private readonly chance: () => number;
  private number = 0;

  constructor(seed: number, eans: readonly string[]) {
    this.chance = chances(seed);
    this.eans = eans;
  }

  one<T>(of: readonly T[]): T {
    return of[Math.floor(this.chance() * of.length)]!;
  }

  tell(what: string): void {
    this.story.push(what);
  }

  /** Something in the world is another than before. */
  change(): void {
    this.number += 1;
    const ean = this.one(this.eans);
    const amount = `${this.number}.25`;
    const values = { maximumPrice: amount, costReduction: '1.10', startDate: '2026-03-01', endDate: '2026-12-31' };
    const change = this.one([
      { kind: 'commission-rate', ean, fixedAmount: amount },
      { kind: 'commission-reductions', ean, reductions: [values, { ...values, costReduction: '2' }] },
      { kind: 'commission-reductions', ean, reductions: [] },
      { kind: 'ean-known', ean, known: this.one([true, false]) },
      { kind: 'unknown-ean', as: this.one(['refuse', 'refuse-unnamed'] as const) },
      { kind: 'product', ean, title: `Titel ${this.number}` },
      { kind: 'product-offered', ean, country: 'NL', offered: this.one([true, false]) },
      { kind: 'reductions-lines', add: [{ ean, ...values }] },
      { kind: 'reductions-file', name: `File_${this.number}.csv` },
    ] as const);
    this.tell(JSON.stringify(change));
    world.sandbox.change(change);
  }
}

async function openHistory(seed: number): Promise<History> {
  world = await openLookupWorld({
    rates: {},
    products: { refreshDays: 1 },
    reductions: { recheckMinutes: 0 },
    guards: { shrink: { minRows: 4, keepRatio: 0.5 } },
    sandbox: { seriesLength: 20 },
    service: { retailer: { commission: { bulk: { eansPerRequest: 3 } } } },
  });
  const history = new History(seed, world.sandbox.eans(EANS));
  await listEans(world, history.eans);
  return history;
}

/** A night that does not come to its end: Ctrl-C, or a step that fails. */
async function disturbedNight(history: History): Promise<void> {
  const at: Step = history.one(['answer-received', 'normalised', 'lake-committed']);
  const nth = history.one([0, 1, 2, 5]);
  const isFailing = history.one([true, false]);
  const stop = new AbortController();
  let passed = 0;
  history.tell(`${isFailing ? 'failure' : 'Ctrl-C'} at ${at} (${nth})`);
  const step = (name: Step) => {
    if (name !== at || passed++ !== nth) return;
    if (isFailing) throw new Error('no more');
    stop.abort(new Error('Ctrl-C'));
  };
  await world.night({ names: VERSIONED, step, signal: stop.signal });
  world.clock.set(world.clock.now() + 60_000);
}

async function releaseAll(history: History): Promise<void> {
  for (const { pipeline, slice_day: day } of (await world.within(statusOf)).holds) {
    history.tell(`release ${pipeline} ${day}`);
    expect((await world.within((context) => runRelease(context, pipeline, day))).errors).toEqual([]);
  }
}

/** A night from which the EANs, or most lines of the file, are gone; they come back, or what it said is released. */
async function emptyNight(history: History): Promise<void> {
  const known = (is: boolean) => {
    for (const ean of history.eans) world.sandbox.change({ kind: 'ean-known', ean, known: is });
  };
  history.tell('everything is gone');
  world.sandbox.change({ kind: 'unknown-ean', as: 'leave-out' });
  known(false);
  world.sandbox.addFault({ endpoint: 'reductions', kind: 'truncate', bytes: 60 });
  await world.night({ names: VERSIONED });
  world.sandbox.clearFaults();
  world.clock.set(world.clock.now() + 60_000);
  if (history.one([true, false])) await releaseAll(history);
  known(true);
  world.sandbox.change({ kind: 'unknown-ean', as: 'refuse' });
  world.clock.set(world.clock.now() + DAY_MS);
}

async function expectTruth(history: History): Promise<void> {
  const night = await world.night({ names: VERSIONED });
  expect(night.errors).toEqual([]);
  await releaseAll(history);
  expect(await rateDifferences(world, history.eans)).toEqual([]);
  expect(await productDifferences(world, history.eans)).toEqual([]);
  expect(await fileDifferences(world)).toEqual([]);
  expect(await flawsIn(world)).toEqual([]);
}

async function replayAll(from: Day): Promise<void> {
  for (const name of VERSIONED) {
    const range = { from, to: world.today() };
    expect((await world.within((context) => runReplay(context, name, range))).errors).toEqual([]);
  }
}

it.each([7])(
  'the warehouse says what is true, and a rebuild and a replay say the same (history %i)',
  async (seed) => {
    const history = await openHistory(seed);
    const first = world.today();
    try {
      await expectTruth(history);
      for (let night = 1; night <= NIGHTS; night++) {
        world.clock.set(world.clock.now() + 25 * 3_600_000);
        history.tell(`-- ${world.today()}`);
        for (let i = history.one([0, 1, 3, 6]); i > 0; i--) history.change();
        const disturbance = history.one(['none', 'none', 'cut', 'cut', 'empty', 'replay']);
        if (disturbance === 'cut') await disturbedNight(history);
        if (disturbance === 'empty') await emptyNight(history);
        if (disturbance === 'replay') {
          history.tell('replay');
          await replayAll(first);
        }
        await expectTruth(history);
      }
      const before = await historyOf(world);
      expect((await world.within((context) => runRebuild(context, undefined))).errors).toEqual([]);
      expect(await historyOf(world)).toEqual(before);
      for (const from of [first, addDays(first, 3), world.today()]) {
        history.tell(`replay from ${from}`);
        await replayAll(from);
        expect(await historyOf(world)).toEqual(before);
      }
      history.tell('rebuild --history');
      expect((await world.within((context) => runRebuildHistory(context))).errors).toEqual([]);
      expect(await historyOf(world)).toEqual(before);
      expect((await world.within(verify)).differences).toEqual([]);
    } catch (thrown) {
      throw new Error(`${(thrown as Error).message}\n${history.story.join('\n')}`, { cause: thrown });
    }
  },
  120_000,
);
