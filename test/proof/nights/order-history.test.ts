/** The history of order items: a row for every change and for nothing else, and the orders as they were known at any instant. */
import { rm, truncate } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { addDays, type Day } from '../../../src/core/days.ts';
import { runRebuild, runRebuildHistory, runRelease, runReplay } from '../../../src/run/again.ts';
import type { Step } from '../../../src/run/context.ts';
import { runBackfill } from '../../../src/run/night.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { endRun, lastRuns } from '../../../src/store/tables/runs.ts';
import { rowsOf, six } from '../../support/lookups.ts';
import { loseLake } from '../../support/lost-lake.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { flawsIn } from '../../support/versions.ts';

vi.setConfig({ testTimeout: 120_000 });

let world: World;
beforeEach(async () => {
  world = await openWorld({ ordersPerDay: 30, lookbackDays: 4, windowDays: 2 });
  await night();
});
afterEach(() => world.close());

interface Item {
  readonly orderId: string;
  readonly orderItemId: string;
}

const ORDERS = { names: ['orders'] };
const night = (step?: (name: Step) => void) => world.night(step ? { ...ORDERS, step } : ORDERS);

/** Another hour of the same day. */
const later = () => world.clock.set(world.clock.now() + 3_600_000);
const replay = (range = world.lookback()) => world.within((context) => runReplay(context, 'orders', range));
const iso = (ms: number) => new Date(ms).toISOString();

/** What an item was and is, oldest first: its day, its title's first letter, and why it ended; `-` for what is now. */
const lifeOf = (orderItemId: string) =>
  rowsOf(
    world,
    `SELECT order_date, coalesce(product_title[:1], '-'), coalesce(ended_by, '-') FROM warehouse.fact_order_item_version
     WHERE order_item_id = '${orderItemId}' ORDER BY valid_from`,
  );
const countHistory = async () =>
  Number((await rowsOf(world, 'SELECT count(*) FROM warehouse.fact_order_item_history'))[0]);

const history = () =>
  rowsOf(world, 'SELECT * EXCLUDE (loaded_at, fetch_id) FROM warehouse.fact_order_item_version ORDER BY ALL');
/** Files of the lake with their days. */
const filesOf = (name: string) =>
  world.within(async ({ lake }) =>
    [...(await lake.slices(name))].map(([day, entry]) => ({ day, file: lake.rowsFile(entry) ?? '' })),
  );
const historyFiles = () => filesOf('orders-history');
const fileOf = async (on: Day) => (await filesOf('orders')).find(({ day }) => day === on)?.file ?? '';
const rebuildHistory = () => world.within(runRebuildHistory);

const COLUMNS = 'order_date, order_id, order_item_id, product_title, status, quantity, price_excl_vat, commission';
const known = async (at: string) =>
  (await rowsOf(world, `SELECT ${COLUMNS} FROM warehouse.orders_as_of('${at}')`)).sort();
const facts = async () => (await rowsOf(world, `SELECT ${COLUMNS} FROM warehouse.fact_order_item`)).sort();

/** Items as the sandbox holds them to be on the days that were asked for so far. */
function truth(from: Day, to: Day): string[] {
  return [...world.sandbox.truth('orders', from, to)]
    .map((item) =>
      [
        ...[item.orderDate, item.orderId, item.orderItemId, item.productTitle, item.status, item.quantity],
        ...[six(String(item.priceExclVat)), six(String(item.commission))],
      ].join(' '),
    )
    .sort();
}

async function expectSound(): Promise<void> {
  expect(await flawsIn(world)).toEqual([]);
  expect(await known(iso(world.clock.now() + 1000))).toEqual(await facts());
}

const restate = (day: Day, productTitle: string) => {
  const item = world.itemOn(day);
  world.sandbox.change({ kind: 'restate-item', ...item, values: { productTitle } });
  return item;
};

describe('the history gets a row', () => {
  it('for no item that is first seen, and for none in a night that brings nothing new', async () => {
    expect((await facts()).length).toBeGreaterThan(0);
    expect(await countHistory()).toBe(0);
    later();
    expect((await night()).published.map(({ result }) => result)).toEqual([null]);
    expect(await countHistory()).toBe(0);
    await expectSound();
  });

  it('for the item that changed, and only for it', async () => {
    const day = world.lookback().from;
    const { orderItemId } = restate(day, 'Xylofoon');
    later();
    await night();
    expect(await countHistory()).toBe(1);
    expect((await lifeOf(orderItemId)).map((line) => line.slice(11))).toEqual([
      expect.stringMatching(/^\S changed$/),
      'X -',
    ]);
    await expectSound();
  });

  it('for an item that vanished', async () => {
    const day = world.lookback().from;
    const item = world.itemOn(day);
    world.sandbox.change({ kind: 'vanish-item', ...item });
    later();
    await night();
    const [was = ''] = await lifeOf(item.orderItemId);
    expect(await lifeOf(item.orderItemId)).toEqual([`${was.slice(0, 12)} gone`]);
    await expectSound();
  });

  it.each<[string, number]>([
    ['of the same request', 1],
    ['of a later request', 2],
    ['of a day that came before', -1],
  ])('once for an item that moved to a day %s, and once for its way back', async (_, by) => {
    const from = addDays(world.lookback().from, by < 0 ? 3 : 0);
    const to = addDays(from, by < 0 ? -2 : by);
    const item = world.itemOn(from);
    for (const toDay of [to, from, to]) {
      world.sandbox.change({ kind: 'move-item', ...item, toDay });
      later();
      await night();
    }
    const life = (await lifeOf(item.orderItemId)).map((line) => line.replace(/ \S /, ' '));
    expect(life).toEqual([`${from} moved`, `${to} moved`, `${from} moved`, `${to} -`]);
    await expectSound();
  });
});

describe('an item that one run found gone, and the next one of the same day on another day', () => {
  async function goneThenFound(between: () => Promise<void>) {
    const from = addDays(world.lookback().from, 1);
    const to = addDays(world.lookback().from, -2);
    const item = world.itemOn(from);
    world.sandbox.change({ kind: 'move-item', ...item, toDay: to });
    later();
    await night();
    const then = { at: iso(world.clock.now()), facts: await facts() };
    await between();
    later();
    await world.within((context) => runBackfill(context, ['orders'], { from: to, to }, false));
    const life = await lifeOf(item.orderItemId);
    return { then, life: life.map((line) => line.replace(/ \S /, ' ')), from, to };
  }

  it('was gone in between, also when the history is made again', async () => {
    const { then, life, from, to } = await goneThenFound(async () => undefined);
    expect(life).toEqual([`${from} gone`, `${to} -`]);
    expect(await known(then.at)).toEqual(then.facts);
    await expectSound();
    const before = await history();
    for (const { file } of await historyFiles()) await truncate(file, 100);
    later();
    expect((await rebuildHistory()).errors).toEqual([]);
    expect(await history()).toEqual(before);
    await loseLake(world.home);
    await rm(path.join(world.home, 'warehouse.duckdb'));
    later();
    await replay({ from: to, to: world.lookback().to });
    expect(await history()).toEqual(before);
    expect(await world.within(verify)).toMatchObject({ differences: [] });
  });

  it('moved where the first run was killed, so that nobody could read that it was gone', async () => {
    const { life, from, to } = await goneThenFound(async () => {
      await world.within(async ({ state }) => {
        const [run] = await lastRuns(state.db, 1);
        await endRun(state, { ...run!, ended_at: null, result: null, exit_code: null, summary: null }, []);
      });
    });
    expect(life).toEqual([`${from} moved`, `${to} -`]);
    await expectSound();
  });
});

describe('a day that is held', () => {
  it('adds nothing until it is released, and then as of the answer that showed it', async () => {
    const day = addDays(world.lookback().from, 1);
    const items = truth(day, day).length;
    world.sandbox.change({ kind: 'empty-day', report: 'orders', day });
    later();
    const shown = world.clock.now();
    expect((await night()).exitCode).toBe(3);
    expect(await countHistory()).toBe(0);
    await expectSound();
    later();
    await world.within((context) => runRelease(context, 'orders', day));
    expect(await countHistory()).toBe(items);
    await expectSound();
    expect((await known(iso(shown - 1000))).filter((line) => line.startsWith(day))).toHaveLength(items);
    expect((await known(iso(shown + 600_000))).filter((line) => line.startsWith(day))).toEqual([]);
  });
});

describe('a release of an answer that is older than what is known of some items', () => {
  it('leaves those items as they were seen since, asks for the day again, and breaks no check', async () => {
    const { from } = world.lookback();
    const [day, other] = [from, addDays(from, 3)];
    const items = [...world.sandbox.truth('orders', day, day)].map(({ orderId, orderItemId }) => ({
      orderId,
      orderItemId,
    }));
    for (const item of items.slice(2)) world.sandbox.change({ kind: 'vanish-item', ...(item as never as Item) });
    later();
    expect((await night()).exitCode).toBe(3);
    const moved = items[0] as never as Item;
    world.sandbox.change({ kind: 'move-item', ...moved, toDay: other });
    later();
    const window = { from: other, to: other };
    await world.within((context) => runBackfill(context, ['orders'], window, true));
    expect((await lifeOf(moved.orderItemId)).at(-1)?.slice(0, 10)).toBe(other);
    later();
    const released = await world.within((context) => runRelease(context, 'orders', day));
    expect({ exitCode: released.exitCode, errors: released.errors }).toEqual({ exitCode: 0, errors: [] });
    await expectSound();
    expect((await facts()).filter((line) => line.startsWith(day))).toHaveLength(1);
    later();
    await night();
    expect(await facts()).toEqual(truth(from, addDays(from, 3)));
    await expectSound();
    expect((await world.within(verify)).differences).toEqual([]);
  });
});

describe('a replay', () => {
  beforeEach(async () => {
    restate(world.lookback().from, 'Xylofoon');
    later();
    await night();
    restate(world.lookback().from, 'Yoghurt');
    later();
    await night();
  });

  it('adds nothing and loses nothing', async () => {
    const before = await history();
    later();
    expect((await replay()).run.summary).toMatchObject({ slices_changed: 0 });
    expect(await history()).toEqual(before);
  });

  it('makes the whole history again when the lake is lost', async () => {
    const before = await history();
    await loseLake(world.home);
    await rm(path.join(world.home, 'warehouse.duckdb'));
    later();
    expect((await replay()).exitCode).toBe(0);
    expect(await history()).toEqual(before);
    await expectSound();
  });

  it('adds nothing twice when only the items were lost', async () => {
    const before = await history();
    await loseLake(world.home, 'orders');
    later();
    await replay();
    expect(await history()).toEqual(before);
    await expectSound();
  });

  it('adds nothing and loses nothing where a slice was damaged', async () => {
    const before = await history();
    const { from } = world.lookback();
    await truncate(await fileOf(from), 100);
    later();
    expect((await replay({ from, to: from })).errors).toEqual([]);
    expect((await world.within(verify)).differences).toEqual([]);
    await world.within((context) => runRebuild(context, undefined));
    expect(await history()).toEqual(before);
    await truncate(await fileOf(from), 100);
    restate(from, 'Zalf');
    later();
    await world.within((context) => runBackfill(context, ['orders'], { from, to: from }, true));
    expect(await history()).toHaveLength(before.length + 1);
    await expectSound();
  });
});

describe('a history that is damaged or lost', () => {
  beforeEach(async () => {
    const { from } = world.lookback();
    const [first, last] = [addDays(from, 1), addDays(from, 3)];
    const gone = world.itemOn(first);
    world.sandbox.change({ kind: 'move-item', ...gone, toDay: last });
    restate(first, 'Xylofoon');
    later();
    await night();
    world.passDays(1);
    world.sandbox.change({ kind: 'move-item', ...gone, toDay: first });
    world.sandbox.change({ kind: 'vanish-item', ...world.itemOn(last) });
    restate(last, 'Yoghurt');
    later();
    await night();
    world.sandbox.change({ kind: 'empty-day', report: 'orders', day: last });
    later();
    expect((await night()).exitCode).toBe(3);
    later();
    world.sandbox.change({ kind: 'empty-day', report: 'orders', day: first });
    await night();
  });

  it('is named by verify with a command that makes the same again, whatever happened to the items', async () => {
    const before = await history();
    const files = await historyFiles();
    expect(files).toHaveLength(2);
    for (const { day, file } of files) {
      await truncate(file, 100);
      expect((await world.within(verify)).differences).toMatchObject([
        { hop: 'lake', pipeline: 'orders-history', day, fix: 'partner-etl rebuild --history' },
      ]);
      later();
      expect((await rebuildHistory()).errors).toEqual([]);
      expect((await world.within(verify)).differences).toEqual([]);
      expect(await history()).toEqual(before);
    }
    const held = await world.within(
      async ({ lake }) => [...(await lake.slices('orders')).values()].filter((entry) => entry.held).length,
    );
    expect(held).toBeGreaterThan(0);
  });

  it('is the same again when it was lost and the items were not', async () => {
    const before = await history();
    await loseLake(world.home, 'orders-history');
    await world.within((context) => runRebuild(context, undefined));
    expect(await countHistory()).toBe(0);
    later();
    expect(await rebuildHistory()).toMatchObject({ errors: [], changes: { new_items: 0, restated_days: {} } });
    expect(await history()).toEqual(before);
    await expectSound();
  });
});

it.each<Step>(['normalised', 'lake-committed', 'publishing'])(
  'a night that dies at step %s ends in the history of one that did not',
  async (at) => {
    const day = world.lookback().from;
    const { orderItemId } = restate(day, 'Xylofoon');
    later();
    const dying = night((name) => {
      if (name === at) throw new Error('killed');
    });
    await dying.catch(() => undefined);
    later();
    await night();
    expect(await lifeOf(orderItemId)).toHaveLength(2);
    await expectSound();
  },
);

it.each([1, 2])('whatever happens in six nights, each is known as it was (history %i)', async (seed) => {
  const random = dice(seed);
  const start = world.lookback().from;
  const nights: { readonly at: string; readonly items: readonly string[] }[] = [];
  for (let n = 0; n < 6; n++) {
    if (random(3) === 0 && n < 5) world.passDays(1);
    else later();
    const { from, to } = world.lookback();
    for (let k = random(4); k > 0; k--) change(random, from, to);
    await night();
    nights.push({ at: iso(world.clock.now() + 600_000), items: await facts() });
    expect(nights.at(-1)?.items.filter((line) => line >= from)).toEqual(truth(from, to));
    expect(nights.at(-1)?.items.every((line) => line >= start)).toBe(true);
  }
  await replay({ from: start, to: world.lookback().to });
  for (const { at, items } of nights) expect(await known(at)).toEqual(items);
  await expectSound();
  expect((await world.within(verify)).differences).toEqual([]);
});

function change(random: (below: number) => number, from: Day, to: Day): void {
  const day = addDays(from, random(4));
  const items = [...world.sandbox.truth('orders', day, day)];
  const item = items[random(items.length)];
  if (!item || items.length < 6) return;
  const name = { orderId: String(item.orderId), orderItemId: String(item.orderItemId) };
  const kind = random(5);
  if (kind === 0) world.sandbox.change({ kind: 'vanish-item', ...name });
  else if (kind < 3) world.sandbox.change({ kind: 'move-item', ...name, toDay: random(2) === 0 ? to : from });
  else world.sandbox.change({ kind: 'restate-item', ...name, values: { productTitle: `T${random(3)}` } });
}

/** Whole numbers below a bound, the same ones for the same seed. */
function dice(seed: number): (below: number) => number {
  let state = seed * 7919;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}
