/**
 * kill -9 in nights of look-ups and of the reductions file: the next run ends in the warehouse of an undisturbed one, and asks
 * for nothing that was kept: at the most the answers of the object in hand are asked for again.
 */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { verify } from '../../../src/run/verify/verify.ts';
import { HANG_MS } from '../../support/hang.ts';
import { listEans, openLookupWorld, rateDifferences } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';
import { fileDifferences, flawsIn, historyOf, productDifferences, VERSIONED } from '../../support/versions.ts';
import { endOf, nightKilledAt, startNight } from './killed-night.ts';

const CONCURRENCY = 2;
/** Calls that a batch costs besides when one of its EANs is refused. */
const HALVES = 2;
const EANS = 12;
const PLENTY = { calls: 1000, seconds: 1 };
const START_MS = Date.parse('2026-03-20T02:00:00Z');

/** The one that is killed, and one of the same seed, days and changes that never is. */
let world: World;
let undisturbed: World;
let eans: readonly string[];
let nights = 0;

async function open(): Promise<World> {
  const opened = await openLookupWorld({
    rates: {},
    products: { refreshDays: 1 },
    reductions: {},
    // The sandbox's clock stands still while a process of its own runs: all its calls are in one second.
    sandbox: { seriesLength: 60, limits: { calls: { product: PLENTY, commission: PLENTY } } },
    service: {
      catalog: { product: { budget: { calls: 10, perSeconds: 1, concurrency: CONCURRENCY } } },
      retailer: {
        commission: { budget: { calls: 28, perSeconds: 1, concurrency: CONCURRENCY }, bulk: { eansPerRequest: 2 } },
      },
    },
  });
  eans = opened.sandbox.eans(EANS);
  await listEans(opened, eans);
  expect((await opened.night({ names: VERSIONED })).errors).toEqual([]);
  return opened;
}

beforeAll(async () => {
  world = await open();
  undisturbed = await open();
});
afterAll(async () => {
  await world.close();
  await undisturbed.close();
});

/** Another day in both, with something new for every pipeline. */
function nextDay(): void {
  nights += 1;
  const [one, other, third] = [0, 1, 2].map((i) => eans[(nights + i) % EANS]!);
  const day = { startDate: '2026-03-01', endDate: '2026-12-31' };
  for (const { sandbox, clock } of [world, undisturbed]) {
    clock.set(START_MS + nights * 25 * 3_600_000); // so that a run after a killed one does not put off what is due tomorrow
    sandbox.change({ kind: 'commission-rate', ean: one!, percentage: `${nights}.5` });
    sandbox.change({
      kind: 'commission-reductions',
      ean: other!,
      reductions: [{ maximumPrice: `${nights}.25`, costReduction: '1', ...day }],
    });
    sandbox.change({ kind: 'ean-known', ean: third!, known: nights % 2 === 0 });
    sandbox.change({ kind: 'product', ean: one!, title: `Titel ${nights}` });
    sandbox.change({ kind: 'product-offered', ean: other!, country: 'NL', offered: nights % 2 === 0 });
    sandbox.change({
      kind: 'reductions-lines',
      add: [{ ean: one!, maximumPrice: `${nights}.5`, costReduction: '1', ...day }],
    });
    sandbox.stats.reset();
  }
}

/** The next run of the killed one, and the night of the other. */
async function expectRecovery(): Promise<void> {
  world.clock.set(world.clock.now() + 60_000);
  const [night, whole] = [await world.night({ names: VERSIONED }), await undisturbed.night({ names: VERSIONED })];
  expect([...night.errors, ...whole.errors]).toEqual([]);
  expect(await rateDifferences(world, eans)).toEqual([]);
  expect(await productDifferences(world, eans)).toEqual([]);
  expect(await fileDifferences(world)).toEqual([]);
  expect(await historyOf(world, { isTimeless: true })).toEqual(await historyOf(undisturbed, { isTimeless: true }));
  expect(await flawsIn(world)).toEqual([]);
}

/** A question that a call of today asked, and how the call was answered. */
interface Asked {
  readonly call: string;
  readonly status: number;
  readonly question: string;
}

/** The questions of today's calls whose answers the raw store holds, oldest first. */
async function askedToday(): Promise<Asked[]> {
  return world.within(async ({ raw }) => {
    const asked: Asked[] = [];
    for (const name of ['products', 'commission-rates'])
      for await (const fetch of raw.fetches(name)) {
        if (fetch.outcome !== 'ok' || fetch.started_at.slice(0, 10) !== world.today()) continue;
        const call = { call: fetch.fetch_id, status: fetch.status ?? 0 };
        for await (const answer of raw.readAnswers([fetch]))
          for (const question of [answer.asked].flat())
            asked.push({ ...call, question: `${name} ${JSON.stringify(question)}` });
      }
    return asked;
  });
}

/** Questions that were answered more than once today; a refused batch answers nothing of those that were not at fault. */
async function answeredTwice(): Promise<string[]> {
  const isAnswer = ({ question, status }: Asked) => status < 300 || question.startsWith('products');
  const questions = (await askedToday()).filter(isAnswer).map(({ question }) => question);
  expect(questions.length).toBeGreaterThan(EANS);
  return questions.filter((question, i) => questions.indexOf(question) !== i);
}

/** Endpoints that were called more often than in the undisturbed night, and how much more. */
function callsMore(): Readonly<Record<string, number>> {
  const [calls, usual] = [world.sandbox.stats.calls, undisturbed.sandbox.stats.calls];
  const more = Object.keys(usual).map((name) => [name, (calls[name] ?? 0) - (usual[name] ?? 0)] as const);
  return Object.fromEntries(more.filter(([, n]) => n > 0));
}

const EVERY_STEP = [
  'run-recorded',
  'answer-received products',
  'lake-committed products',
  'answer-received commission-rates',
  'normalised commission-rates',
  'answer-received reductions',
  'lake-committed reductions',
  'publishing',
  'published',
  'run-ended',
];

describe('killed', () => {
  it.each<[string, number, string, number]>([
    ['answer-received products', 4, 'product', CONCURRENCY],
    ['answer-received commission-rates', 3, 'commission-bulk', CONCURRENCY],
    ['lake-committed commission-rates', 0, 'commission-bulk', 0],
  ])(
    'at %s (after %i of them): the next run asks only for what was in hand or not answered',
    async (step, occurrence, endpoint, inFlight) => {
      nextDay();
      expect(await nightKilledAt(world, { step, occurrence, names: VERSIONED })).toBe('SIGKILL');
      await expectRecovery();
      expect(await answeredTwice()).toEqual([]);
      const { [endpoint]: more = 0, ...others } = callsMore();
      expect(others).toEqual({});
      expect(more).toBeLessThanOrEqual(occurrence + inFlight + HALVES);
    },
  );

  it('in the middle of the reductions file: name and file are asked for again', async () => {
    nextDay();
    world.sandbox.addFault({ endpoint: 'reductions', kind: 'stall', bytes: 1000 });
    const child = startNight(world, { step: 'never', names: ['reductions'] });
    const end = endOf(child);
    const work = path.join(world.home, 'work');
    await vi.waitFor(
      async () => expect((await readdir(work, { recursive: true })).join(' ')).toMatch(/reductions-\d+\/decoded/),
      { timeout: HANG_MS, interval: 20 },
    );
    child.kill('SIGKILL');
    expect(await end).toBe('SIGKILL');
    await expectRecovery();
    expect(callsMore()).toEqual({ reductions: 1, 'reductions-latest': 1 });
    expect(await readdir(work)).toEqual([]);
  });

  it('again and again, at every step of one night', async () => {
    nextDay();
    for (const step of EVERY_STEP) {
      expect([step, await nightKilledAt(world, { step, names: VERSIONED })]).toEqual([step, 'SIGKILL']);
      world.clock.set(world.clock.now() + 60_000);
    }
    await expectRecovery();
    expect(await answeredTwice()).toEqual([]);
    expect((await world.within(verify)).differences).toEqual([]);
  }, 300_000);
});
