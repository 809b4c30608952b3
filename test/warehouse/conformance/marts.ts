import { describe, expect, test } from 'vitest';
import { commissions } from '../../../pipelines/commissions.ts';
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

const BOOKED = {
  ...PLACE,
  commission_original: '1.5',
  commission_approved: '0.75',
  commission_open: '0.75',
  revenue_original_excl_vat: '20',
  revenue_original_incl_vat: '24.2',
};

/** Of two rates; the report groups by them as well. */
const HALF = {
  ...PLACE,
  commission_original: '0.75',
  commission_approved: '0.375',
  commission_open: '0.375',
  revenue_original_excl_vat: '10',
  revenue_original_incl_vat: '12.1',
};

/** Two items of one order, told alike by the three reports. */
const TWO_ITEMS = [item(1), item(2, { status_group: 'open' })];
const AGREED = { promotions: [{ ...SHOWN, ...EARNED }], orders: TWO_ITEMS, commissions: [BOOKED] };

interface Told {
  readonly promotions?: readonly RowText[];
  readonly orders?: readonly RowText[];
  readonly commissions?: readonly RowText[];
}

const CLASSES: readonly (readonly [wanted: string, Told])[] = [
  ['equal', {}],
  ['equal', { commissions: [HALF, HALF] }],
  ['equal', { promotions: [{ ...SHOWN, orders: null }], orders: [], commissions: [] }],
  ['amount', { promotions: [{ ...SHOWN, ...EARNED, commission: '1.500001' }] }],
  ['amount', { promotions: [{ ...SHOWN, ...EARNED, orders: '2' }] }],
  ['amount', { orders: [item(1), item(2, { status_group: 'open', quantity: '1' })] }],
  ['state', { orders: [item(1), item(2)] }],
  ['state', { commissions: [{ ...BOOKED, commission_open: '0.76' }] }],
  ['vat', { commissions: [{ ...BOOKED, revenue_original_incl_vat: '20' }] }],
  ['missing_in_promotions', { promotions: [] }],
  ['missing_in_orders', { orders: [] }],
  ['missing_in_commissions', { commissions: [] }],
  ['only_in_promotions', { orders: [], commissions: [] }],
  ['only_in_orders', { promotions: [], commissions: [] }],
  ['only_in_commissions', { promotions: [], orders: [] }],
];

export function marts(newWarehouse: NewWarehouse): void {
  const bench = useBench(newWarehouse);
  const make = (pipeline: Pipeline, on: Day, rows: readonly RowText[], options: SliceOptions = {}) =>
    bench.maker.make(pipeline, on, rows, options);
  const publish = (...slices: LoadSlice[]) => bench.target.publish(publicationOf('r1', slices));
  const ask = (sql: string) => rowsOf(bench.target, sql);
  const publishTold = async (told: Told) => {
    const all = { ...AGREED, ...told };
    await publish(
      await make(promotions, DAY, all.promotions),
      await make(orders, DAY, all.orders),
      await make(commissions, DAY, all.commissions),
    );
  };

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

  test('mart.reversal counts what was turned down among what is decided', async () => {
    const rows = [
      item(1, { chunk_name: 'x' }),
      item(2, { chunk_name: 'x', status_group: 'rejected', commission: '2.25' }),
      item(3, { chunk_name: 'x', status_group: 'open' }),
      item(4, { chunk_name: null, status_group: 'open' }),
    ];
    await publish(await make(orders, DAY, rows));
    const figures = 'chunk_name, items, decided_items, rejected_items, commission, decided_commission, lost_commission';
    const rates = 'CAST(reversal_rate AS varchar), CAST(lost_rate AS varchar)';
    expect(await ask(`SELECT ${figures}, ${rates} FROM mart.reversal ORDER BY items`)).toEqual([
      [null, '1', '0', '0', '0.750000', '0.000000', '0.000000', null, null],
      ['x', '3', '2', '1', '3.750000', '3.000000', '2.250000', '0.5', '0.75'],
    ]);
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

  describe('mart.reconciliation', () => {
    test.each(CLASSES)('finds %s', async (wanted, told) => {
      await publishTold(told);
      expect(await ask('SELECT class FROM mart.reconciliation')).toEqual([[wanted]]);
    });

    test('shows every figure beside the others, with the differences', async () => {
      await publishTold({ commissions: [{ ...BOOKED, commission_original: '1.25', commission_open: '0.5' }] });
      const figures = `promotions_orders, orders_orders, orders_difference, promotions_commission, orders_commission, commissions_original,
        commission_promotions_orders, commission_commissions_orders, orders_approved, commissions_approved, orders_open, commissions_open,
        open_difference, promotions_revenue_excl_vat, orders_revenue_excl_vat, commissions_revenue_incl_vat`;
      const [row] = await ask(`SELECT ${figures} FROM mart.reconciliation`);
      expect(row).toEqual([
        ...[
          '1',
          '1',
          '0',
          '1.500000',
          '1.500000',
          '1.250000',
          '0.000000',
          '-0.250000',
          '0.750000',
          '0.750000',
          '0.750000',
        ],
        ...['0.500000', '-0.250000', '20.000000', '20.000000', '24.200000'],
      ]);
    });

    test('does not judge a day that one of the reports lacks', async () => {
      await publish(await make(promotions, DAY, AGREED.promotions), await make(orders, DAY, []));
      expect(await ask('SELECT class FROM mart.reconciliation')).toEqual([['not_loaded']]);
    });
  });
}
