/** Erasing values for a person's request: no trace is left, sums stay, and what the service sends again is masked. */
import { cp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type EraseStep, plannedErase, runErase } from '../../../src/extras/erase/erase.ts';
import { runRebuild, runReplay } from '../../../src/run/again.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { openSqliteState } from '../../../src/store/sqlite/state.ts';
import { type ErasureScene, openErasureScene } from '../../support/erasure.ts';
import { rowsOf } from '../../support/lookups.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { filesUnder } from '../../support/retention.ts';
import { tracesOf } from '../../support/traces.ts';

let scene: ErasureScene;
let world: World;
let before: string;
let erased: string;
let nowMs: number;
let sums: readonly string[];
let versionsBefore: readonly string[];

const values = () => ({ subIds: [scene.subId], orders: [scene.order] });
const texts = () => [scene.subId, scene.order, ...scene.items];
const traces = () => tracesOf(world, texts());
const erase = (step?: EraseStep) => world.within((context) => runErase(context, values(), step));
const differences = async () => (await world.within(verify)).differences;

/** Everything that an erasure must leave as it is: amounts, how many rows and versions there are, what was loaded and when. */
const kept = async () => [
  ...(await rowsOf(
    world,
    'SELECT order_date, count(*), sum(commission), sum(price_excl_vat) FROM warehouse.fact_order_item GROUP BY ALL ORDER BY ALL',
  )),
  ...(await rowsOf(
    world,
    'SELECT order_date, count(*), count(DISTINCT sub_id) FROM warehouse.fact_commission_day GROUP BY ALL ORDER BY ALL',
  )),
  ...(await rowsOf(
    world,
    'SELECT promotion_date, sum(clicks), count(DISTINCT sub_id) FROM warehouse.fact_promotion_day GROUP BY ALL ORDER BY ALL',
  )),
  ...(await rowsOf(
    world,
    'SELECT valid_from, ended_by, count(*), count(DISTINCT order_item_id) FROM warehouse.fact_order_item_version GROUP BY ALL ORDER BY ALL',
  )),
  ...(await rowsOf(
    world,
    'SELECT pipeline, slice_day, rows, sums, loaded_at, superseded_at FROM etl.receipt ORDER BY ALL',
  )),
  ...(await rowsOf(world, 'SELECT order_date, revision, commission FROM mart.order_revision ORDER BY ALL')),
];

const versions = () =>
  rowsOf(
    world,
    'SELECT valid_from, ended_by, count(*) FROM warehouse.fact_order_item_version GROUP BY ALL ORDER BY ALL',
  );

async function putBack(home: string): Promise<void> {
  for (const name of await readdir(world.home)) await rm(path.join(world.home, name), { recursive: true, force: true });
  await cp(home, world.home, { recursive: true });
  world.clock.set(nowMs);
}

beforeAll(async () => {
  scene = await openErasureScene();
  ({ world } = scene);
  [before, erased] = [`${world.home}-before`, `${world.home}-erased`];
  await cp(world.home, before, { recursive: true });
  nowMs = world.clock.now();
  sums = await kept();
  versionsBefore = await versions();
});
afterAll(async () => {
  await world.close();
  for (const home of [before, erased]) await rm(home, { recursive: true, force: true });
});

describe('an erasure', () => {
  it('leaves no trace, and everything else as it was', async () => {
    const found = await traces();
    for (const place of [
      /^raw\/orders\/answers/,
      /^raw\/orders\/refused/,
      /^raw\/push-messages\/answers/,
      /^raw\/push-links\/gathered/,
      /^lake\/fact_order_item\/.+\.parquet$/,
      /^held\/fact_order_item/,
      /^rejects\/fact_order_item/,
      /^lake\/fact_order_item_history/,
      /^lake\/fact_promotion_day/,
      /^lake\/fact_commission_day/,
      /^lake\/push_link/,
      /^inbox\/refused/,
      /^state\.db(?:-wal)?$/,
      /^warehouse\.duckdb$/,
      /^warehouse\.duckdb\.damaged$/,
    ])
      expect(found).toContainEqual(expect.stringMatching(place));
    expect(await differences()).toEqual([]);

    const planned = await world.within((context) => plannedErase(context, values()));
    expect(await traces()).toEqual(found);
    const { outcome, record } = await erase();
    expect(outcome).toMatchObject({ exitCode: 0, errors: [] });
    const { slices, lake, answers } = planned;
    expect(record).toMatchObject({ found: { slices, lake, answers } });
    expect(record).toMatchObject({ is_complete: true, asked: { sub_ids: 1, orders: 1, items: scene.items.length } });
    expect(await traces()).toEqual([]);
    expect(await differences()).toEqual([]);
    expect(await kept()).toEqual(sums);
    await cp(world.home, erased, { recursive: true });
  });

  it('is recorded in the state, and in the backup that is made at once', async () => {
    const records = async (file: string) => {
      const state = await openSqliteState(path.join(world.home, file));
      onTestFinished(() => state.close());
      return state.db.selectFrom('erasure').selectAll().execute();
    };
    const files = ['state.db', ...(await filesUnder(world, 'backups'))];
    expect(files).toHaveLength(2);
    for (const file of files) expect(await records(file)).toMatchObject([{ account: 'default' }]);
    expect(await records('state.db')).toMatchObject([{ is_complete: 1 }]);
  });
});

describe('afterwards', () => {
  beforeEach(() => putBack(erased));

  it('a night in which the service sends it all again changes nothing', async () => {
    const { run } = await world.night({ names: ['promotions', 'orders', 'commissions'] });
    expect(run.summary).toMatchObject({ slices_changed: 0, errors: [] });
    expect(await traces()).toEqual([]);
    expect(await kept()).toEqual(sums);
  });

  it('what is pushed comes in without it, and neither replay nor rebuild brings it back', async () => {
    expect((await world.night({ names: ['push-messages', 'push-links'] })).errors).toEqual([]);
    const range = { from: scene.day, to: world.today() };
    for (const name of ['orders', 'push-messages', 'push-links']) {
      world.clock.set(world.clock.now() + 60_000);
      expect((await world.within((context) => runReplay(context, name, range))).errors).toEqual([]);
    }
    world.clock.set(world.clock.now() + 60_000);
    expect((await world.within((context) => runRebuild(context, undefined))).errors).toEqual([]);
    expect(await traces()).toEqual([]);
    expect(await differences()).toEqual([]);
  });

  it('the same again finds nothing', async () => {
    const { outcome, record } = await erase();
    expect(outcome).toMatchObject({ exitCode: 0, errors: [] });
    expect(record?.found).toEqual({ slices: 0, lake: 0, answers: 0, files: 0, targets: { duckdb: 0 } });
    expect(await kept()).toEqual(sums);
  });
});

describe('an object that is damaged', () => {
  beforeEach(() => putBack(before));

  it.each(['raw/orders/answers', 'raw/push-links/gathered'])(
    'under %s is told and stays, and the same command ends it once the object is back',
    async (folder) => {
      const name = (await filesUnder(world, folder)).at(-1)!;
      const file = path.join(world.home, name);
      const bytes = await readFile(file);
      await writeFile(file, bytes.subarray(0, 40));
      const { outcome, record } = await erase();
      expect(outcome.exitCode).toBe(1);
      expect(outcome.errors).toMatchObject([
        {
          code: 'not_erased',
          message: expect.stringContaining(`${file} cannot be looked through`),
          hint: 'restore it from a backup or delete it; then run the same command again',
        },
      ]);
      expect(record).toMatchObject({ is_complete: false });
      expect(await filesUnder(world, folder)).toContain(name);

      await writeFile(file, bytes);
      world.clock.set(world.clock.now() + 60_000);
      expect((await erase()).outcome).toMatchObject({ exitCode: 0, errors: [] });
      expect(await traces()).toEqual([]);
      expect(await differences()).toEqual([]);
    },
  );
});

describe('an erasure that is killed', () => {
  beforeEach(() => putBack(before));

  /** Kills at the step of that name, the first of several or the first that is about this. */
  const killedAt = (step: string, about = '') => {
    let isDead = false;
    return erase((name, told) => {
      if (isDead || (name === step && told.includes(about))) {
        isDead = true;
        throw new Error('killed');
      }
    });
  };

  it('again and again, a step later each time, is brought to its end by the same command', async () => {
    for (const [step, about] of [
      ['listed', ''],
      ['lake', ''],
      ['raw', 'answers'],
      ['raw', 'rows of raw/orders'],
      ['raw', 'gathered'],
      ['target', ''],
    ] as const) {
      expect((await killedAt(step, about)).outcome.exitCode, `${step} ${about}`).toBe(1);
      world.clock.set(world.clock.now() + 60_000);
    }
    expect((await erase()).outcome.errors).toEqual([]);
    expect(await traces()).toEqual([]);
    expect(await differences()).toEqual([]);
  });

  it('behind the lake, with a night before the same command: no version is written for the marks', async () => {
    await killedAt('lake');
    world.clock.set(world.clock.now() + 60_000);
    expect((await world.night({ names: ['promotions', 'orders', 'commissions'] })).errors).toEqual([]);
    expect((await erase()).outcome.errors).toEqual([]);
    expect(await traces()).toEqual([]);
    expect(await differences()).toEqual([]);
    expect(await versions()).toEqual(versionsBefore);
  });
});

it('a value that begins with a byte order mark is erased as any other', async () => {
  const marked = await openWorld({ ordersPerDay: 8, lookbackDays: 2, windowDays: 2 });
  onTestFinished(() => marked.close());
  const subId = '\ufeffa-person-of-ours';
  // Not every row has a label to be replaced.
  for (const item of [0, 1, 2, 3, 4, 5])
    for (const endpoint of ['promotions', 'orders'] as const)
      marked.sandbox.addFault({ kind: 'raw-value', field: 'subId', json: '"\\ufeffa-person-of-ours"', item, endpoint });
  expect((await marked.night()).errors).toEqual([]);
  const found = () =>
    marked.within(async ({ targets }) => {
      const rows = await targets[0]!.query(
        `SELECT sub_id FROM warehouse.fact_order_item UNION ALL SELECT sub_id FROM warehouse.fact_promotion_day`,
        1000,
      );
      return rows.rows.flat().filter((text) => String(text).includes('a-person-of-ours'));
    });
  expect(new Set(await found())).toEqual(new Set([subId]));
  const erasure = await marked.within((context) => runErase(context, { subIds: [subId], orders: [] }));
  expect(erasure).toMatchObject({ outcome: { exitCode: 0 }, record: { is_complete: true } });
  expect(await found()).toEqual([]);
  for (const name of await readdir(marked.home, { recursive: true })) {
    const file = path.join(marked.home, name);
    if ((await stat(file)).isFile())
      expect([name, (await readFile(file)).includes('a-person-of-ours')]).toEqual([name, false]);
  }
});
