import { describe, expect, test } from 'vitest';
import { orders } from '../../../pipelines/orders.ts';
import { promotions } from '../../../pipelines/promotions.ts';
import { addDays, type Day } from '../../../src/core/days.ts';
import type { Pipeline } from '../../../src/core/pipeline.ts';
import type { LoadSlice } from '../../../src/warehouse/target.ts';
import { day, publicationOf, type RowText, type SliceOptions } from '../../support/slices.ts';
import { type NewWarehouse, rowsOf, useBench } from '../bench.ts';

const DAY = day('2026-03-01');

const PLACE = { site_code: '1', frame_type: 'banner', name: null, sub_id: 'a' };
const SHOWN = { ...PLACE, clicks: '40', impressions: '1000', orders: '1' };
const EARNED = { commission: '1.5', revenue_excl_vat: '20', revenue_incl_vat: '24.2' };

const item = (number: number, more: RowText = {}): RowText => ({
  order_id: 'o1',
  order_item_id: `i${number}`,
  ...PLACE,
  quantity: '2',
  price_excl_vat: '5',
  price_incl_vat: '6.05',
  commission: '0.75',
  status_group: 'approved',
  ...more,
});

export function marts(newWarehouse: NewWarehouse): void {
  const bench = useBench(newWarehouse);
  const make = (pipeline: Pipeline, on: Day, rows: readonly RowText[], options: SliceOptions = {}) =>
    bench.maker.make(pipeline, on, rows, options);
  const publish = (...slices: LoadSlice[]) => bench.target.publish(publicationOf('r1', slices));
  const ask = (sql: string) => rowsOf(bench.target, sql);

  describe('mart.daily_performance', () => {
    const NUMBERS =
      'CAST(ctr AS varchar), CAST(conversion AS varchar), CAST(epc AS varchar), CAST(epm AS varchar), CAST(aov AS varchar)';

    test('adds up what belongs together, and divides sums', async () => {
      const rows = [
        { ...SHOWN, ...EARNED },
        { ...SHOWN, ...EARNED, site_name: 'renamed' },
        { ...SHOWN, ...EARNED, sub_id: null },
      ];
      await publish(await make(promotions, DAY, rows));
      const sums = 'sub_id, clicks, impressions, orders, revenue_excl_vat, revenue_incl_vat, commission';
      expect(await ask(`SELECT ${sums} FROM mart.daily_performance ORDER BY clicks`)).toEqual([
        [null, '40', '1000', '1', '20.000000', '24.200000', '1.500000'],
        ['a', '80', '2000', '2', '40.000000', '48.400000', '3.000000'],
      ]);
      const [ratios] = await ask(`SELECT ${NUMBERS} FROM mart.daily_performance WHERE sub_id = 'a'`);
      expect(ratios?.map(Number)).toEqual([0.04, 0.025, 0.0375, 1.5, 20]);
    });

    test('has no ratio where there is nothing to divide by', async () => {
      await publish(await make(promotions, DAY, [{ ...PLACE, clicks: '0', impressions: null, orders: '0' }]));
      expect(await ask(`SELECT clicks, impressions, ${NUMBERS} FROM mart.daily_performance`)).toEqual([
        ['0', '0', null, null, null, null, null],
      ]);
    });
  });

  test('mart.ageing sorts what is not paid by its age on the newest day, and leaves out what is rejected or paid', async () => {
    const ages = [0, 30, 31, 60, 61, 90, 91, 400];
    const slices = ages.map((age, i) =>
      make(orders, addDays(DAY, -age), [
        item(10 * i, { order_id: `o${i}`, status_group: age === 400 ? null : 'open' }),
        item(10 * i + 1, { order_id: `o${i}`, approved_for_payment: age === 61 ? null : 'false' }),
        item(10 * i + 2, { order_id: `o${i}`, approved_for_payment: 'true' }),
        item(10 * i + 3, { order_id: `o${i}`, status_group: 'rejected' }),
      ]),
    );
    await publish(...(await Promise.all(slices)));
    const figures = 'state, age_bucket, from_days, to_days, items, quantity, revenue_excl_vat, commission';
    const found = await ask(`SELECT ${figures} FROM mart.ageing ORDER BY state, bucket_number`);
    const buckets = [
      ['0-30', '0', '30'],
      ['31-60', '31', '60'],
      ['61-90', '61', '90'],
      ['90+', '91', null],
    ];
    expect(found).toEqual(
      ['approved_unpaid', 'pending'].flatMap((state) =>
        buckets.map((bucket) => [state, ...bucket, '2', '4', '20.000000', '1.500000']),
      ),
    );
    expect(await ask('SELECT DISTINCT as_of FROM mart.ageing')).toEqual([[DAY]]);
  });

  test('mart.freshness tells the newest day of each pipeline and what can still change, of current slices only', async () => {
    await publish(await make(orders, DAY, [item(1), item(2)]));
    await publish(
      await make(orders, DAY, [item(1)], { content: { settled: true } }),
      await make(orders, addDays(DAY, 1), []),
      await make(promotions, DAY, [SHOWN]),
    );
    const figures = 'pipeline, newest_day, slices, rows, rejects, open_slices, last_loaded_at IS NOT NULL';
    expect(await ask(`SELECT ${figures} FROM mart.freshness ORDER BY 1`)).toEqual([
      ['orders', '2026-03-02', '2', '1', '0', '1', true],
      ['promotions', DAY, '1', '1', '0', '1', true],
    ]);
  });
}
