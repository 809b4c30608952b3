/** What was paid of orders of each age, and what will be. */
import { expect, test } from 'vitest';
import { orders } from '../../../pipelines/orders.ts';
import { addDays } from '../../../src/core/days.ts';
import { day, type RowText } from '../../support/slices.ts';
import type { NewWarehouse } from '../bench.ts';
import { APPROVED, OPEN, PAID, REJECTED, useScene } from './order-scenes.ts';

export function payments(newWarehouse: NewWarehouse): void {
  const asOf = day('2026-03-04');
  const of = (name: string, commission: string, values: RowText): RowText => ({
    ...values,
    ...{ order_id: name, order_item_id: name, commission },
  });
  /** Of an age: what is paid, what is rejected, what is approved or open. */
  const AGES: readonly (readonly [age: number, paid: string, rejected: string, approved: string, open: string])[] = [
    [0, '0', '0', '0', '100'],
    [1, '20', '0', '50', '30'],
    [2, '10', '10', '80', '0'],
    [3, '60', '10', '30', '0'],
    [4, '60', '10', '0', '30'],
    [40, '0', '0', '7.25', '0'],
  ];
  const slice = (maker: typeof scene.maker, [age, paid, rejected, approved, open]: (typeof AGES)[number]) =>
    maker.make(orders, addDays(asOf, -7 * age), [
      of(`p${age}`, paid, PAID),
      of(`r${age}`, rejected, REJECTED),
      of(`a${age}`, approved, APPROVED),
      of(`o${age}`, open, OPEN),
    ]);
  const scene = useScene(newWarehouse, async ({ publish, maker }) =>
    publish(await Promise.all(AGES.map((age) => slice(maker, age)))),
  );
  const ask = (sql: string) => scene.ask(sql);
  const expected = () =>
    ask('SELECT weeks_ahead, expected_commission FROM mart.payment_forecast WHERE expected_commission > 0 ORDER BY 1');

  test('mart.approval_curve shows each age of the last 26 weeks', async () => {
    const figures = `age_weeks, as_of, first_day, items, commission, paid_commission, approved_commission, rejected_commission, open_commission`;
    const found = await ask(`SELECT ${figures} FROM mart.approval_curve ORDER BY age_weeks`);
    const six = (...units: string[]) => units.map((text) => `${text}.000000`);
    expect(found).toEqual([
      ['0', asOf, asOf, '4', ...six('100', '0', '0', '0', '100')],
      ['1', asOf, '2026-02-25', '4', ...six('100', '20', '70', '0', '30')],
      ['2', asOf, '2026-02-18', '4', ...six('100', '10', '90', '10', '0')],
      ['3', asOf, '2026-02-11', '4', ...six('100', '60', '90', '10', '0')],
      ['4', asOf, '2026-02-04', '4', ...six('100', '60', '60', '10', '30')],
    ]);
    const shares = 'CAST(paid_share AS varchar), CAST(approved_share AS varchar), CAST(rejected_share AS varchar)';
    const [row] = await ask(`SELECT ${shares} FROM mart.approval_curve WHERE age_weeks = 3`);
    expect(row?.map(Number)).toEqual([0.6, 0.9, 0.1]);
  });

  // Paid shares 0, 0.2, 0.1, 0.6, 0.6 are made rising: 0, 0.15, 0.15, 0.6, 0.6.
  test('mart.payment_forecast follows the curve, made rising, from the age of each unpaid item', async () => {
    expect(await expected()).toEqual([
      ['1', '63.000000'], // 100 × 0.15 of age 0, 80 × 0.45 / 0.75 of age 2
      ['2', '42.352941'], // 80 × 0.45 / 0.85 of age 1
      ['3', '45.000000'], // 100 × 0.45 of age 0
    ]);
    const weeks = `SELECT min(payment_week), max(payment_week), count(*), min(of_commission), max(of_commission), min(items), max(items), min(as_of)
      FROM mart.payment_forecast`;
    expect(await ask(weeks)).toEqual([
      ['2026-03-09', '2026-08-31', '26', '327.250000', '327.250000', '12', '12', asOf],
    ]);
  });

  test('mart.ageing has what the forecast has', async () => {
    expect(await ask('SELECT sum(commission), sum(items) FROM mart.ageing')).toEqual([['327.250000', '12']]);
  });

  test('mart.payment_forecast expects no item twice', async () => {
    const rows = await Promise.all(
      [[0, '0', '50', '0', '50'] as const, [4, '95', '5', '0', '0'] as const].map((age) => slice(scene.maker, age)),
    );
    await scene.publish(rows);
    // Age 0: 0.95 of the curve lies ahead, but half is rejected: 50 in all, in the proportions of the steps 0.15, 0.45, 0.35.
    // Age 1: 80 × (0.45, 0.35) / 0.85. Age 2: 80 × (0.45, 0.35) / 0.8, as more than 0.75 lies ahead. Age 3: 30 × 0.35 / 0.35.
    expect(await expected()).toEqual([
      ['1', '82.894737'],
      ['2', '77.352941'],
      ['3', '56.625387'],
      ['4', '18.421053'],
    ]);
  });
}
