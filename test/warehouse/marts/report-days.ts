/** Days of the reports: whether they are here, and what of them was turned down. */
import { expect, test } from 'vitest';
import { commissions } from '../../../pipelines/commissions.ts';
import { orders } from '../../../pipelines/orders.ts';
import { promotions } from '../../../pipelines/promotions.ts';
import { addDays, type Day } from '../../../src/core/days.ts';
import type { RowText } from '../../support/slices.ts';
import type { NewWarehouse } from '../bench.ts';
import { APPROVED, DAY, NEXT, useScene } from './order-scenes.ts';

export function reportDays(newWarehouse: NewWarehouse): void {
  const hold = (pipeline: string, on: Day) => ({
    ...{ pipeline, slice_day: on, reason: 'shrunk', detail: 'less', digest: 'd', rows: 1, rows_before: 4 },
    ...{ fetch_id: 'f1', held_at: '2026-03-09T03:00:00.000Z' },
  });
  const item = (number: number, values: RowText): RowText => ({
    ...APPROVED,
    ...{ order_id: 'o1', order_item_id: `i${number}`, ...values },
  });
  const scene = useScene(newWarehouse, async ({ publish, maker }) =>
    publish(
      [
        await maker.make(promotions, DAY, [{ clicks: '1' }], { content: { settled: true } }),
        await maker.make(orders, DAY, [
          item(1, {}),
          item(2, { status_group: 'rejected', commission: '2.25' }),
          item(3, { status_group: 'open' }),
          item(4, { status_group: 'open', chunk_name: null }),
        ]),
        await maker.make(orders, NEXT, [item(5, { status_group: 'rejected' })], { rejects: [{}] }),
        await maker.make(commissions, NEXT, [], { content: { settled: true } }),
      ],
      { holds: [hold('orders', NEXT), hold('orders', addDays(NEXT, 1)), hold('products', addDays(NEXT, 9))] },
    ),
  );

  test('mart.completeness shows each day of each report from the first to the newest that one of them has', async () => {
    const figures = 'pipeline, day, state, rows, rejects, fetched_at IS NOT NULL, loaded_at IS NOT NULL';
    expect(await scene.ask(`SELECT ${figures} FROM mart.completeness ORDER BY pipeline, day`)).toEqual([
      ['commissions', DAY, 'missing', null, null, false, false],
      ['commissions', NEXT, 'settled', '0', '0', true, true],
      ['commissions', addDays(NEXT, 1), 'missing', null, null, false, false],
      ['orders', DAY, 'open', '4', '0', true, true],
      ['orders', NEXT, 'held', '1', '1', true, true],
      ['orders', addDays(NEXT, 1), 'held', null, null, false, false],
      ['promotions', DAY, 'settled', '1', '0', true, true],
      ['promotions', NEXT, 'missing', null, null, false, false],
      ['promotions', addDays(NEXT, 1), 'missing', null, null, false, false],
    ]);
  });

  test('mart.reversal counts what was turned down among what is decided, by day', async () => {
    const figures =
      'order_date, chunk_name, items, decided_items, rejected_items, commission, decided_commission, lost_commission';
    const rates = 'CAST(reversal_rate AS varchar), CAST(lost_rate AS varchar)';
    const found = await scene.ask(`SELECT ${figures}, ${rates} FROM mart.reversal ORDER BY order_date, items`);
    expect(found.map((row) => [...row.slice(0, -2), ...row.slice(-2).map((rate) => rate && Number(rate))])).toEqual([
      [DAY, null, '1', '0', '0', '1.000000', '0.000000', '0.000000', null, null],
      [DAY, 'x', '3', '2', '1', '4.250000', '3.250000', '2.250000', 0.5, 9 / 13],
      [NEXT, 'x', '1', '1', '1', '1.000000', '1.000000', '1.000000', 1, 1],
    ]);
  });
}
