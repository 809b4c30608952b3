import { beforeAll, describe, expect, test } from 'vitest';
import { orders } from '../../../pipelines/orders.ts';
import { day, publicationOf } from '../../support/slices.ts';
import { type NewWarehouse, rowsOf, useSharedBench } from '../bench.ts';
import { check, item } from './checking.ts';

const FIRST = day('2026-05-01');
const SECOND = day('2026-05-02');

export function noChecks(newWarehouse: NewWarehouse): void {
  const bench = useSharedBench(newWarehouse);

  describe('what is no check', () => {
    beforeAll(async () => {
      const { target, maker } = bench;
      await target.publish(publicationOf('r1', [await maker.make(orders, FIRST, [item('before')])]));
    });

    const wrong: [string, string][] = [
      ['a column that there is not', 'SELECT order_date AS slice_day, nothing FROM warehouse.fact_order_item'],
      ['no slice_day', 'SELECT order_date FROM warehouse.fact_order_item'],
      ['a slice_day that is no day', 'SELECT order_id AS slice_day FROM warehouse.fact_order_item WHERE order_id > 1'],
      ['no SELECT', 'DELETE FROM warehouse.fact_order_item'],
      ['two statements', `SELECT CURRENT_DATE AS slice_day; DELETE FROM warehouse.fact_order_item`],
      [
        'one that ends the statement around it',
        `SELECT CURRENT_DATE AS slice_day) AS x; DELETE FROM warehouse.fact_order_item; SELECT * FROM (SELECT 1 AS slice_day`,
      ],
      [
        'one that writes in a WITH',
        `WITH gone AS (DELETE FROM warehouse.fact_order_item RETURNING order_date) SELECT order_date AS slice_day FROM gone`,
      ],
      ['what is no SQL', 'SELEC'],
    ];
    test.each(wrong)('%s is refused with its file, and nothing is loaded', async (_, sql) => {
      const { target, maker } = bench;
      const second = await maker.make(orders, SECOND, [item('b')]);
      const refused = target.publish(publicationOf('r2', [second], { checks: [check(sql)] }));
      await expect(refused).rejects.toMatchObject({
        kind: 'usage',
        code: 'check',
        concern: { file: '/home/checks/mine.sql' },
        message: expect.stringContaining('/home/checks/mine.sql is no check: '),
      });
      expect(await rowsOf(target, 'SELECT order_date FROM warehouse.fact_order_item')).toEqual([[FIRST]]);
      await expect(target.broken([check(sql)])).rejects.toMatchObject({ kind: 'usage', code: 'check' });
    });

    test('one whose SQL fails on the rows is refused alike', async () => {
      const { target, maker } = bench;
      const failing = check(
        `SELECT order_date AS slice_day FROM warehouse.fact_order_item WHERE CAST(order_id AS INTEGER) > 1`,
      );
      const second = await maker.make(orders, SECOND, [item('b')]);
      const refused = target.publish(publicationOf('r2', [second], { checks: [failing] }));
      await expect(refused).rejects.toMatchObject({ kind: 'usage', code: 'check' });
      expect(await rowsOf(target, 'SELECT order_date FROM warehouse.fact_order_item')).toEqual([[FIRST]]);
    });
  });
}
