import { describe, expect, test } from 'vitest';
import { commissionRates } from '../../../pipelines/commission-rates.ts';
import { orders } from '../../../pipelines/orders.ts';
import { receiptsOf } from '../../../src/warehouse/target.ts';
import { day, publicationOf } from '../../support/slices.ts';
import { type NewWarehouse, rowsOf, useBench } from '../bench.ts';

const FIRST = day('2026-03-01');

const OTHERS = [
  `INSERT INTO warehouse.fact_order_item (account, order_date, order_id, order_item_id, quantity, fetch_id, valid_from, loaded_at)
   SELECT 'other', order_date, order_id, order_item_id, 1000, fetch_id, valid_from, loaded_at FROM warehouse.fact_order_item`,
  `INSERT INTO warehouse.fact_commission_rate (account, ean, condition, asked_price, observed_on, valid_from, outcome, fetch_id, loaded_at)
   SELECT 'other', ean, condition, asked_price, observed_on, valid_from + INTERVAL '1 hour', outcome, fetch_id, loaded_at
   FROM warehouse.fact_commission_rate`,
  `INSERT INTO etl.receipt (account, pipeline, slice_day, digest, version, rows, rejects, duplicates, sums, settled, fetch_id, fetched_at, run_id, loaded_at)
   SELECT 'other', pipeline, slice_day, 'of the other', version, rows, rejects, duplicates, sums, settled, fetch_id, fetched_at, run_id, loaded_at
   FROM etl.receipt`,
];
const LEFT = `SELECT (SELECT count(*) FROM warehouse.fact_order_item WHERE account = 'other' AND quantity = 1000),
  (SELECT count(*) FROM warehouse.fact_commission_rate WHERE account = 'other' ),
  (SELECT count(*) FROM etl.receipt WHERE account = 'other' AND superseded_at IS NULL)`;

export function accounts(newWarehouse: NewWarehouse): void {
  describe('rows of another account', () => {
    const bench = useBench(newWarehouse);

    test('are neither read nor changed, by a load, by a rebuild', async () => {
      const slices = [
        ...(await bench.maker.many(orders, FIRST, 2, 3)),
        ...(await bench.maker.many(commissionRates, FIRST, 2, 3)),
      ];
      await bench.target.publish(publicationOf('r1', slices));
      const [sums, own] = [await bench.target.sums(orders), await rowsOf(bench.target, OWN)];
      for (const sql of OTHERS) await bench.warehouse.execute(sql);
      const left = await rowsOf(bench.target, LEFT);
      expect(left).toEqual([['6', '6', '4']]);
      expect(await bench.target.sums(orders)).toEqual(sums);
      const digests = [...receiptsOf(await bench.target.receipts(), 'orders').values()].map(({ digest }) => digest);
      expect(digests).not.toContain('of the other');
      const again = [
        ...(await bench.maker.many(orders, FIRST, 2, 3, 2)),
        ...(await bench.maker.many(commissionRates, FIRST, 1, 3, 2)),
      ];
      for (const afresh of [false, true]) {
        const given = afresh ? slices : again;
        expect(await bench.target.publish({ ...publicationOf(`r${afresh}`, given), afresh })).toMatchObject({
          slices: given.length,
        });
        expect(await rowsOf(bench.target, LEFT)).toEqual(left);
      }
      expect(await rowsOf(bench.target, OWN)).toEqual(own);
    });
  });
}

const OWN = `SELECT ean, valid_from FROM warehouse.fact_commission_rate WHERE account = 'default' ORDER BY 1, 2`;
