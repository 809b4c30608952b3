/** The open lake follows the lake night by night, whatever cuts it off, and other engines read in it what the lake holds. */
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addDays } from '../../../src/core/days.ts';
import { Engine, quoteText } from '../../../src/engine/duckdb.ts';
import { loadExtensions } from '../../../src/engine/extensions.ts';
import { runErase } from '../../../src/extras/erase/erase.ts';
import { runRelease } from '../../../src/run/again.ts';
import { runPrune } from '../../../src/run/prune/prune.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { extensionsFolder } from '../../support/extensions.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { tracesOf } from '../../support/traces.ts';

const extensions = await extensionsFolder();

const openOne = (more: object = {}) =>
  openWorld({
    ordersPerDay: 10,
    lookbackDays: 4,
    windowDays: 2,
    settings: { lake: { delta: true, deltaDays: 3 }, engine: { extensions }, ...more },
  });

const sound = async (world: World) => {
  const { differences, warnings } = await world.within(verify);
  return [...differences, ...warnings.filter(({ hop }) => hop === 'delta')];
};

const table = (world: World, name = 'fact_order_item') => path.join(world.home, 'delta', name);
const logOf = async (world: World, name?: string) =>
  (await readdir(path.join(table(world, name), '_delta_log'))).sort();
const filesOf = async (world: World, name?: string) =>
  (await readdir(table(world, name), { recursive: true })).filter((one) => /\d\/.*\.parquet$/.test(one)).sort();

/** Read as another engine reads it. */
async function read(
  world: World,
  sql: (name: (table: string, more?: string) => string) => string,
): Promise<unknown[][]> {
  const engine = await Engine.open({ tempDir: path.join(world.home, 'work', 'reader') });
  try {
    await loadExtensions(engine, ['delta'], extensions);
    const rows = await engine.rows(sql((name, more = '') => `delta_scan(${quoteText(table(world, name))}${more})`));
    return rows.map((row) => Object.values(row).map(String));
  } finally {
    engine.close();
  }
}

const inLake = async (world: World, sql: string) =>
  world.within(async ({ targets }) => (await targets[0]!.query(sql, 100)).rows.map((row) => row.map(String)));

describe.skipIf(extensions === null)('the open lake', () => {
  describe('over many nights', () => {
    let world: World;
    beforeAll(async () => {
      world = await openOne();
      for (let night = 0; night < 12; night++) {
        if (night > 0) world.passDays(1);
        expect((await world.night()).errors).toEqual([]);
      }
    });
    afterAll(() => world.close());

    it('says what the lake holds, with its receipts, also behind a checkpoint', async () => {
      expect(await sound(world)).toEqual([]);
      expect(await logOf(world)).toContain('00000000000000000010.checkpoint.parquet');
      const sums = 'count(*), sum(commission), sum(quantity), min(order_local_time), max(order_utc_time)';
      expect(await read(world, (name) => `SELECT ${sums} FROM ${name('fact_order_item')}`)).toEqual(
        await inLake(world, `SELECT ${sums} FROM warehouse.fact_order_item`),
      );
      const receipts = 'sum(rows), count(*), min(slice_day), max(slice_day), count(DISTINCT digest)';
      expect(await read(world, (name) => `SELECT ${receipts} FROM ${name('receipt')}`)).toEqual(
        await inLake(world, `SELECT ${receipts} FROM etl.receipt WHERE superseded_at IS NULL`),
      );
    });

    it('retention keeps the versions of its days, and lets older ones and their files go', async () => {
      const lake = (await readdir(path.join(world.home, 'lake'), { recursive: true })).filter((one) =>
        one.endsWith('.parquet'),
      );
      for (const [name, from] of [['fact_order_item', 9]] as const) {
        expect(Number((await logOf(world, name)).find((one) => one.endsWith('.json'))?.slice(0, 20))).toBe(0);
        const before = (await filesOf(world, name)).length;
        world.passDays(8);
        await world.within((context) => runPrune(context));
        const left = (await logOf(world, name)).filter((one) => one.endsWith('.json'));
        expect(Number(left[0]?.slice(0, 20))).toBeGreaterThanOrEqual(from);
        expect((await filesOf(world, name)).length).toBeLessThan(before);
      }
      expect(await sound(world)).toEqual([]);
      const after = (await readdir(path.join(world.home, 'lake'), { recursive: true })).filter((one) =>
        one.endsWith('.parquet'),
      );
      expect(after).toEqual(lake);
    });
  });

  it('a night that is cut off between lake and log is made good by the next one', async () => {
    const world = await openOne();
    try {
      await world.night();
      world.passDays(1);
      const stop = (name: string) => {
        if (name === 'published') throw new Error('cut off');
      };
      await expect(world.night({ step: stop })).rejects.toThrow('cut off');
      expect((await sound(world)).map(({ hop }) => hop)).toContain('delta');
      await world.night();
      expect(await sound(world)).toEqual([]);
      const again = await logOf(world);
      await world.night();
      expect(await logOf(world)).toEqual(again);
    } finally {
      await world.close();
    }
  });

  it('a version stays readable when the lake has replaced its files', async () => {
    const world = await openOne();
    try {
      await world.night();
      const total = (more: string) =>
        read(world, (name) => `SELECT count(*), sum(commission) FROM ${name('fact_order_item', more)}`);
      const before = await total('');
      world.passDays(1);
      await world.night();
      expect(await total('')).not.toEqual(before);
      expect(await total(', version = 0')).toEqual(before);
    } finally {
      await world.close();
    }
  });

  it('a slice that a check keeps out of the warehouse stays as it was, with its receipt', async () => {
    const world = await openOne();
    try {
      await world.night();
      const day = addDays(world.today(), -2);
      const sql = (name: (table: string) => string) =>
        `SELECT count(*), count(*) FILTER (product_title = 'zzz'), (SELECT max(digest) FROM ${name('receipt')} WHERE pipeline = 'orders' AND slice_day = DATE '${day}')
         FROM ${name('fact_order_item')} WHERE order_date = DATE '${day}'`;
      const before = await read(world, sql);
      const { orderId } = world.itemOn(day);
      world.sandbox.change({
        kind: 'restate-item',
        orderId,
        orderItemId: world.itemOn(day).orderItemId,
        values: { productTitle: 'zzz' },
      });
      await mkdir(path.join(world.home, 'checks'));
      await writeFile(
        path.join(world.home, 'checks', 'mine.sql'),
        `-- severity: block\n-- about: a\n-- pipeline: orders\n-- fix: b\n
         SELECT order_date AS slice_day FROM warehouse.fact_order_item WHERE product_title = 'zzz';`,
      );
      world.clock.set(world.clock.now() + 3_600_000);
      expect(await world.night()).toMatchObject({ exitCode: 3 });
      expect(await read(world, sql)).toEqual(before);
      await world.within((context) => runRelease(context, 'orders', day));
      expect((await read(world, sql))[0]?.[1]).toBe('1');
      expect(await sound(world)).toEqual([]);
    } finally {
      await world.close();
    }
  });

  it('what is erased is in no version any more', async () => {
    const world = await openOne();
    try {
      await world.night();
      world.passDays(1);
      await world.night();
      const day = addDays(world.today(), -3);
      const [item] = world.sandbox.truth('orders', day, day);
      const subId = String(item?.subId);
      expect((await tracesOf(world, [subId])).filter((one) => one.startsWith('delta/'))).not.toEqual([]);
      const { outcome } = await world.within((context) => runErase(context, { subIds: [subId], orders: [] }));
      expect(outcome.errors).toEqual([]);
      expect(await tracesOf(world, [subId])).toEqual([]);
      expect(await sound(world)).toEqual([]);
    } finally {
      await world.close();
    }
  });

  it('a damaged log and a lost file are told with their remedy, and the remedy works', async () => {
    const world = await openOne();
    try {
      await world.night();
      const [file = ''] = await filesOf(world);
      await rm(path.join(table(world), file));
      expect(await sound(world)).toMatchObject([
        { hop: 'delta', problem: 'its file is gone', fix: expect.stringMatching(/^delete .*fact_order_item/) },
      ]);
      await rm(table(world), { recursive: true });
      await world.night();
      expect(await sound(world)).toEqual([]);
      const log = path.join(table(world), '_delta_log', '00000000000000000000.json');
      await writeFile(log, (await readFile(log, 'utf8')).slice(0, -20));
      expect((await world.night()).errors).toMatchObject([
        { code: 'delta_log', hint: expect.stringContaining('delete the folder') },
      ]);
      await rm(table(world), { recursive: true });
      await world.night();
      expect(await sound(world)).toEqual([]);
    } finally {
      await world.close();
    }
  });

  it('costs no bytes but those of the log: its files are those of the lake', async () => {
    const world = await openOne();
    try {
      await world.night();
      const [file = ''] = await filesOf(world);
      expect((await stat(path.join(table(world), file))).nlink).toBe(2);
    } finally {
      await world.close();
    }
  });
});
