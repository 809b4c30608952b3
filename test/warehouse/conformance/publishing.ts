import { describe, expect, test } from 'vitest';
import { orders } from '../../../pipelines/orders.ts';
import { promotions } from '../../../pipelines/promotions.ts';
import { receiptsOf, type Target } from '../../../src/warehouse/target.ts';
import { day, publicationOf, runRecord } from '../../support/slices.ts';
import { type NewWarehouse, rowsOf, useBench } from '../bench.ts';

const FIRST = day('2026-03-01');
const SECOND = day('2026-03-02');

const itemsOf = (target: Target) =>
  rowsOf(target, 'SELECT order_date, order_id, price_incl_vat FROM warehouse.fact_order_item ORDER BY 1, 2, 3');

const currentOf = (target: Target) =>
  rowsOf(target, 'SELECT slice_day, rows FROM etl.receipt WHERE superseded_at IS NULL ORDER BY 1');

const item = (id: string, price = '1') => ({ order_id: id, order_item_id: '1', price_incl_vat: price });

export function publishing(newWarehouse: NewWarehouse): void {
  const bench = useBench(newWarehouse);
  const slice = (on: typeof FIRST, ...rows: ReturnType<typeof item>[]) => bench.maker.make(orders, on, rows);

  describe('before the first publication', () => {
    const bench = useBench(newWarehouse, 'none');
    test('there is nothing, and looking makes nothing', async () => {
      const { target, warehouse } = bench;
      const before = await warehouse.fingerprint();
      expect(await target.exists()).toBe(false);
      expect(receiptsOf(await target.receipts(), 'orders')).toEqual(new Map());
      expect((await target.state()).lastRunId).toBeNull();
      expect(await target.sums(orders)).toEqual(new Map());
      expect(await target.check()).toMatch(/\d+\.\d+/);
      expect(await target.publish(publicationOf('r1', []))).toMatchObject({ slices: 0, rows: 0 });
      expect(await target.exists()).toBe(false);
      expect(await warehouse.fingerprint()).toBe(before);
    });
  });

  describe('publishing', () => {
    test('loads rows, rejects and receipts of several pipelines at once', async () => {
      const { target, maker } = bench;
      const shown = await maker.make(promotions, FIRST, [{ clicks: '3' }], { rejects: [{ item: 7, raw: '{"x":1}' }] });
      const sold = await slice(FIRST, item('a', '12.345678'), item('b'));
      const result = await target.publish(publicationOf('r1', [shown, sold]));
      expect(result).toMatchObject({ slices: 2, rows: 3 });
      expect(await itemsOf(target)).toEqual([
        [FIRST, 'a', '12.345678'],
        [FIRST, 'b', '1.000000'],
      ]);
      expect(await rowsOf(target, 'SELECT pipeline, slice_day, item, raw FROM etl.reject')).toEqual([
        ['promotions', FIRST, '7', '{"x":1}'],
      ]);
      expect(receiptsOf(await target.receipts(), 'orders')).toEqual(
        new Map([[FIRST, { digest: sold.content.digest, fetch_id: sold.content.fetch_id }]]),
      );
      expect(await target.exists()).toBe(true);
      expect((await target.state()).lastRunId).toBe('r1');
    });

    test('who watches is told of every row and of the steps, and of nothing where nothing is due', async () => {
      const { target, maker } = bench;
      const slices = [await slice(FIRST, item('a'), item('b')), await maker.make(promotions, FIRST, [{}])];
      const seen = { rows: 0, steps: [] as string[] };
      const watcher = {
        onRows: (rows: number) => {
          seen.rows += rows;
        },
        onStep: (what: string) => void seen.steps.push(what),
      };
      await target.publish({ ...publicationOf('r1', slices), watcher });
      expect(seen.rows).toBe(3);
      expect(seen.steps).toEqual(expect.arrayContaining(['loading', 'running the checks']));
      const { length } = seen.steps;
      await target.publish({ ...publicationOf('r1', slices), watcher });
      expect([seen.rows, seen.steps.length]).toEqual([3, length]);
    });

    test('twice is once, and the second time writes nothing', async () => {
      const { target, warehouse, maker } = bench;
      const slices = [await slice(FIRST, item('a')), await maker.make(promotions, FIRST, [{}], { rejects: [{}] })];
      await target.publish(publicationOf('r1', slices));
      const before = await warehouse.fingerprint();
      const again = publicationOf('r2', slices, { runs: [runRecord('r0')] });
      expect(await warehouse.open().publish(again)).toMatchObject({ slices: 0, rows: 0 });
      expect(await warehouse.fingerprint()).toBe(before);
      expect((await target.state()).lastRunId).toBe('r1');
    });

    test('leaves slices of the same digest alone beside one that changed', async () => {
      const { target } = bench;
      const kept = await slice(FIRST, item('a'));
      await target.publish(publicationOf('r1', [kept]));
      const result = await target.publish(publicationOf('r2', [kept, await slice(SECOND, item('b'))]));
      expect(result).toMatchObject({ slices: 1, rows: 1 });
      expect(await rowsOf(target, 'SELECT slice_day, run_id FROM etl.receipt ORDER BY 1')).toEqual([
        [FIRST, 'r1'],
        [SECOND, 'r2'],
      ]);
    });

    test('replaces a day whole, with its rejects, and keeps the old receipt as superseded', async () => {
      const { target, maker } = bench;
      const before = await maker.make(orders, FIRST, [item('a'), item('b')], { rejects: [{}, {}] });
      await target.publish(publicationOf('r1', [before, await slice(SECOND, item('z'))]));
      await target.publish(publicationOf('r2', [await slice(FIRST, item('b', '2'), item('c'))]));
      expect(await itemsOf(target)).toEqual([
        [FIRST, 'b', '2.000000'],
        [FIRST, 'c', '1.000000'],
        [SECOND, 'z', '1.000000'],
      ]);
      expect(await rowsOf(target, 'SELECT * FROM etl.reject')).toEqual([]);
      const receipts = `SELECT run_id, superseded_at = (SELECT max(loaded_at) FROM etl.receipt) FROM etl.receipt WHERE slice_day = DATE '${FIRST}' ORDER BY 1`;
      expect(await rowsOf(target, receipts)).toEqual([
        ['r1', true],
        ['r2', null],
      ]);
      expect(await currentOf(target)).toEqual([
        [FIRST, '2'],
        [SECOND, '1'],
      ]);
    });

    test('empties a day that has no rows any more', async () => {
      const { target } = bench;
      await target.publish(publicationOf('r1', [await slice(FIRST, item('a')), await slice(SECOND, item('b'))]));
      expect(await target.publish(publicationOf('r2', [await slice(FIRST)]))).toMatchObject({ slices: 1, rows: 0 });
      expect(await itemsOf(target)).toEqual([[SECOND, 'b', '1.000000']]);
      expect(await currentOf(target)).toEqual([
        [FIRST, '0'],
        [SECOND, '1'],
      ]);
    });

    test('takes a day that never had rows: it has a receipt', async () => {
      const { target } = bench;
      expect(await target.publish(publicationOf('r1', [await slice(FIRST)]))).toMatchObject({ slices: 1, rows: 0 });
      expect(await currentOf(target)).toEqual([[FIRST, '0']]);
    });

    test('moves a row from one day to another', async () => {
      const { target } = bench;
      await target.publish(publicationOf('r1', [await slice(FIRST, item('a'), item('b')), await slice(SECOND)]));
      await target.publish(publicationOf('r2', [await slice(SECOND, item('a')), await slice(FIRST, item('b'))]));
      expect(await itemsOf(target)).toEqual([
        [FIRST, 'b', '1.000000'],
        [SECOND, 'a', '1.000000'],
      ]);
    });

    test('gives all rows and receipts of a publication one time', async () => {
      const { target, maker } = bench;
      await target.publish(publicationOf('r1', await maker.many(promotions, FIRST, 3, 10)));
      const times = `SELECT loaded_at FROM warehouse.fact_promotion_day UNION SELECT loaded_at FROM etl.receipt`;
      expect(await rowsOf(target, times)).toHaveLength(1);
    });
  });
}
