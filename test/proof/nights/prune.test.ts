/** Retention: what goes, what never goes, what is said of it afterwards, and that a kill at any step leaves no lie. */
import { mkdir, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { addDays, type Day } from '../../../src/core/days.ts';
import { newId } from '../../../src/core/ids.ts';
import type { FetchRecord } from '../../../src/core/records.ts';
import { runReplay } from '../../../src/run/again.ts';
import { runBackfill } from '../../../src/run/night.ts';
import { plannedPrune, runPrune } from '../../../src/run/prune/prune.ts';
import { explain } from '../../../src/run/status/explain.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { runsSince } from '../../../src/store/tables/runs.ts';
import { loseLake } from '../../support/lost-lake.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { answersOf, filesUnder, pruneUntil, setRetention } from '../../support/retention.ts';
import { forgetFetches } from '../../support/state.ts';

let world: World;
let first: Day;
const REPORTS = ['promotions', 'orders', 'commissions'];
const NIGHTS = 5;

/** Brings the installation back to where it was after some nights, with which each test begins. */
let restore: () => Promise<void>;

beforeAll(async () => {
  world = await openWorld({
    ordersPerDay: 12,
    lookbackDays: 4,
    windowDays: 3,
    settings: { guards: { shrink: { minRows: 1 } } },
  });
  first = world.lookback().from;
  await nights();
  world.clock.set(world.clock.now() + 60_000);
  restore = await world.keep();
});
afterAll(() => world.close());
beforeEach(() => restore());

async function nights(count = NIGHTS): Promise<void> {
  for (let i = 0; i < count; i++) {
    if (i > 0) world.passDays(1);
    expect((await world.night()).errors).toEqual([]);
  }
}

const all = () => ({ from: first, to: addDays(world.today(), -1) });
const planned = () => world.within(plannedPrune);
const verified = () => world.within(verify);
const prune = () => world.within((context) => runPrune(context));
const later = (minutes = 1) => world.clock.set(world.clock.now() + minutes * 60_000);

async function states(): Promise<string[]> {
  const found = await Promise.all(REPORTS.map((name) => answersOf(world, name)));
  return found.flatMap((answers) => [...answers.values()]);
}

async function fetchesOf(name: string): Promise<FetchRecord[]> {
  return world.within(async ({ raw }) => {
    const found: FetchRecord[] = [];
    for await (const fetch of raw.fetches(name)) found.push(fetch);
    return found;
  });
}

async function prunedIn(name: string): Promise<string[][]> {
  return world.within(async ({ targets }) => {
    const { rows } = await targets[0]!.query(
      `SELECT fetch_id FROM etl.fetch WHERE pipeline = '${name}' AND pruned_at IS NOT NULL ORDER BY fetch_id`,
      10_000,
    );
    return rows.map((row) => row.map(String));
  });
}

describe('pruning by age', () => {
  it('deletes old answers that newer ones stand in for, and nothing that anybody can tell in the warehouse', async () => {
    const before = await filesUnder(world, 'raw/orders/answers');
    await setRetention(world, { rawDays: 2 });
    const { outcome, plan } = await prune();
    expect(outcome).toMatchObject({ exitCode: 0, errors: [] });
    expect(plan?.answers.length).toBeGreaterThan(0);
    expect(await filesUnder(world, 'raw/orders/answers')).toEqual(
      before.filter((file) => !plan!.answers.some((doomed) => doomed.file === file)),
    );
    expect(await verified()).toMatchObject({ differences: [] });
    expect(new Set(await states())).toEqual(new Set(['there', 'pruned_answer']));
    expect(await world.differences(world.lookback())).toEqual([]);
  });

  it('leaves the newest answer for every day, so that all of it can be replayed', async () => {
    await setRetention(world, { rawDays: 1 });
    await prune();
    await rm(path.join(world.home, 'warehouse.duckdb'));
    world.sandbox.stats.reset();
    for (const name of REPORTS) {
      later();
      expect((await world.within((context) => runReplay(context, name, all()))).errors).toEqual([]);
    }
    expect(world.sandbox.stats).toMatchObject({ calls: {} });
    expect(await world.differences(world.lookback())).toEqual([]);
  });

  it('leaves what is younger alone', async () => {
    await setRetention(world, { rawDays: 30 });
    const plan = await planned();
    expect(plan.answers).toEqual([]);
    expect(new Set(plan.kept.map(({ why }) => why))).toEqual(new Set(['current', 'young']));
  });

  it('keeps an answer that an old and a new request brought alike', async () => {
    // The promotions of settled days answer the same every night.
    const shared = (await fetchesOf('promotions')).map((fetch) => fetch.raw_path);
    await setRetention(world, { rawDays: 1 });
    const going = new Set((await planned()).answers.map(({ file }) => file));
    const newest = (await fetchesOf('promotions')).filter(
      ({ finished_at: at }) => Date.parse(at) >= world.clock.now() - 86_400_000,
    );
    expect(newest.length).toBeGreaterThan(0);
    expect(shared.length).toBeGreaterThan(newest.length);
    for (const { raw_path: file } of newest) expect(going.has(file!)).toBe(false);
  });
});

describe('pruning by size', () => {
  it('deletes the oldest until the raw store fits, and says that the rest is needed when it does not', async () => {
    await setRetention(world, { rawMiB: 1 });
    expect((await planned()).answers).toEqual([]);
    // Some more bytes under the name of the newest answer make the raw store too large.
    const newest = (await fetchesOf('orders')).at(-1)!;
    await writeFile(path.join(world.home, newest.raw_path!), Buffer.alloc(2 * 1024 * 1024));
    const { answers, kept } = await planned();
    expect(answers.length).toBeGreaterThan(0);
    const ages = answers.map(({ newestMs }) => newestMs);
    expect(ages).toEqual(ages.toSorted((a, b) => a - b));
    expect(kept.some(({ why, bytes }) => why === 'current' && bytes > 1024 * 1024)).toBe(true);
  });
});

describe('what is needed stays', () => {
  beforeEach(async () => {
    await setRetention(world, { rawDays: 1 });
    expect((await planned()).answers).not.toEqual([]);
  });

  it('when a target lacks the slices', async () => {
    await rm(path.join(world.home, 'warehouse.duckdb'));
    const { answers, kept } = await planned();
    expect(answers).toEqual([]);
    expect(new Set(kept.map(({ why }) => why))).toEqual(new Set(['not_loaded']));
  });

  it('when the record of an answer that is needed is gone: any answer of the pipeline may be that one', async () => {
    const plan = await planned();
    const goingOf = (name: string, { answers } = plan) => answers.filter(({ pipeline }) => pipeline === name);
    expect(goingOf('orders')).not.toEqual([]);
    const stoodOn = await world.within(async ({ lake }) => {
      const slices = await lake.slices('orders');
      return slices.get([...slices.keys()].sort().at(-1)!)!.content.fetch_id;
    });
    await forgetFetches(world.home, 'orders', stoodOn);
    const blind = await planned();
    expect([goingOf('orders', blind), blind.unnamed]).toEqual([[], []]);
    expect(goingOf('commissions', blind)).toEqual(goingOf('commissions'));
    const current = ({ kept }: typeof plan) => kept.filter(({ why }) => why === 'current');
    const counted = (one: typeof plan) => current(one).reduce((sum, { answers }) => sum + answers, 0);
    expect(counted(blind)).toBeGreaterThan(counted(plan));
  });

  it('when a target cannot be asked: then nothing goes, and it is told', async () => {
    await writeFile(path.join(world.home, 'warehouse.duckdb'), 'damaged');
    const before = await filesUnder(world, 'raw');
    const { outcome } = await prune();
    expect(outcome.exitCode).toBe(1);
    expect(await filesUnder(world, 'raw')).toEqual(before);
  });
});

describe('what is said of a pruned answer', () => {
  beforeEach(async () => {
    await setRetention(world, { rawDays: 1 });
    await prune();
  });

  it('by explain: when, and that it was retention', async () => {
    const one = (await fetchesOf('orders')).find(({ pruned_at: at }) => at !== undefined);
    const { fetches } = await world.within((context) => explain(context, 'orders', one!.window_to!));
    const gone = fetches.filter(({ pruned_at: at }) => at !== undefined);
    expect(gone.length).toBeGreaterThan(0);
    expect(gone.every(({ sha256, items, bytes_decoded: bytes }) => sha256 && items !== null && bytes > 0)).toBe(true);
  });

  it('by etl.fetch, from the next publication on, and after a rebuild', async () => {
    const gone = (await fetchesOf('orders')).filter(({ pruned_at: at }) => at).map(({ fetch_id: id }) => [id]);
    expect(gone.length).toBeGreaterThan(0);
    world.passDays(1);
    await world.night();
    expect(await prunedIn('orders')).toEqual(expect.arrayContaining(gone));
    await rm(path.join(world.home, 'warehouse.duckdb'));
    later();
    await world.night();
    expect(await prunedIn('orders')).toEqual(expect.arrayContaining(gone));
  });

  it('by a replay that would need it: refused, with the fix, and the fix helps', async () => {
    await loseLake(world.home);
    const { exitCode, errors } = await world.within((context) => runReplay(context, 'orders', all()));
    expect(exitCode).toBe(2);
    expect(errors).toMatchObject([{ code: 'pruned', hint: expect.stringContaining('partner-etl backfill orders') }]);
    expect(errors[0]?.hint).toMatch(/--from \d{4}-\d{2}-\d{2} --to \d{4}-\d{2}-\d{2} --refetch$/);
    later();
    const again = await world.within((context) => runBackfill(context, REPORTS, all(), true));
    expect(again.errors).toEqual([]);
    expect(await world.differences(world.lookback())).toEqual([]);
    expect(await verified()).toMatchObject({ differences: [] });
  });
});

describe('a pruning that is killed', () => {
  it('at any step leaves each answer there or marked, and the next one ends like an undisturbed one', async () => {
    await setRetention(world, { rawDays: 1 });
    const back = async () => {
      await restore();
      await setRetention(world, { rawDays: 1 });
    };
    const steps = await pruneUntil(world);
    const whole = { files: await filesUnder(world, 'raw'), states: await states() };
    expect(steps).toBeGreaterThan(10);
    for (let killed = 0; killed < steps; killed += killed < 6 ? 1 : Math.ceil(steps / 6)) {
      await back();
      await pruneUntil(world, killed);
      expect(new Set([...(await states()), 'there', 'pruned_answer'])).toEqual(new Set(['there', 'pruned_answer']));
      await pruneUntil(world);
      expect({ files: await filesUnder(world, 'raw'), states: await states() }).toEqual(whole);
    }
  });
});

describe('a night', () => {
  it('prunes at its end, once a day, and every night ends like the service says', async () => {
    await setRetention(world, { rawDays: 1 });
    world.passDays(1);
    await nights(2);
    expect(new Set(await states())).toEqual(new Set(['there', 'pruned_answer']));
    expect(await world.differences(world.lookback())).toEqual([]);
    expect(await verified()).toMatchObject({ differences: [] });
    expect((await planned()).answers).toEqual([]);
  });

  it('prunes nothing without settings, and the command says that there are none', async () => {
    world.passDays(1);
    await nights(1);
    expect(new Set(await states())).toEqual(new Set(['there']));
    await expect(prune()).rejects.toMatchObject({ kind: 'usage', code: 'no_retention' });
    await expect(planned()).rejects.toMatchObject({ kind: 'usage', code: 'no_retention' });
  });
});

describe('other files', () => {
  it('that were refused, or records of runs, go by their own age; runs only when every target has them', async () => {
    const id = newId('f', world.clock);
    const refused = path.join(world.home, 'inbox', 'refused', `${id}.bad_signature.json`);
    const body = path.join(world.home, 'raw', 'orders', 'refused', `${id}.json.gz`);
    const foreign = path.join(world.home, 'inbox', 'refused', 'notes.txt');
    for (const file of [refused, body, foreign]) {
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, 'x');
      await utimes(file, 0, 0);
    }
    const runs = (await world.within(({ state }) => runsSince(state.db, null))).map(({ run_id }) => run_id);
    world.passDays(1);
    await world.night();
    world.passDays(10);
    await setRetention(world, { refusedDays: 5, runsDays: 5 });
    const names = async () => (await planned()).files.map(({ kind, file }) => [kind, path.join(world.home, file)]);
    expect(await names()).toEqual([
      ['refused', body],
      ['refused', refused],
    ]);
    expect((await planned()).runs).toEqual(runs);
    await rm(path.join(world.home, 'warehouse.duckdb'));
    await setRetention(world, { runsDays: 5 });
    expect([await names(), (await planned()).runs]).toEqual([[], []]);
  });
});

// Last, since the service does not take back what it says from here on.
it('a held slice keeps the answer that it was held with, and that which its day still shows', async () => {
  const day = addDays(world.today(), -2);
  world.sandbox.change({ kind: 'empty-day', report: 'orders', day });
  for (let i = 0; i < 3; i++) {
    world.passDays(1);
    expect((await world.night()).errors).toEqual([]);
  }
  const entry = await world.within(async ({ lake }) => (await lake.slices('orders')).get(day));
  expect(entry?.held).not.toBeNull();
  await setRetention(world, { rawDays: 1 });
  expect((await prune()).plan?.answers).not.toEqual([]);
  const left = await answersOf(world, 'orders');
  expect(left.get(entry!.held!.content.fetch_id)).toBe('there');
  expect(left.get(entry!.content.fetch_id)).toBe('there');
});
