/** What the marts of orders say of a few items whose whole story is known; of many that are made up, and of payments: the files beside. */
import { describe, expect, test } from 'vitest';
import type { Day } from '../../../src/core/days.ts';
import type { Sight } from '../../support/order-sights.ts';
import { day, type RowText } from '../../support/slices.ts';
import type { NewWarehouse } from '../bench.ts';
import { orderHistories } from './order-histories.ts';
import {
  APPROVED,
  DAY,
  emptyDays,
  type Histories,
  NEXT,
  OPEN,
  PAID,
  REJECTED,
  slicesAt,
  useScene,
} from './order-scenes.ts';
import { payments } from './payments.ts';
import { reportDays } from './report-days.ts';

const T1 = '2026-03-03 03:00';
const T1_NEXT = '2026-03-04 03:00';
const T2 = '2026-03-10 03:00';
/** Still 25 March in UTC. */
const T3 = '2026-03-25 23:30';
const T4 = '2026-04-20 03:00';
const AS_OF = day('2026-04-19');

const LESS: RowText = { ...OPEN, commission: '0.8' };

const saw = (at: string, values: RowText | null, on: Day = DAY): Sight => ({ at, on, values });

const STORY: Histories = {
  approved: [saw(T1, OPEN), saw(T2, APPROVED), saw(T3, PAID)],
  back: [saw(T1, OPEN), saw(T2, null), saw(T3, { ...OPEN, commission: '2' })],
  early: [saw(T1, APPROVED), saw(T3, PAID)],
  gone: [saw(T1, OPEN), saw(T2, null)],
  late: [saw(T2, OPEN), saw(T4, APPROVED)],
  moved: [saw(T1, OPEN), saw(T2, OPEN, NEXT)],
  next: [saw(T1_NEXT, OPEN, NEXT)],
  rejected: [saw(T1, OPEN), saw(T2, LESS), saw(T3, REJECTED), saw(T4, { ...REJECTED, status_final: 'true' })],
  renamed: [saw(T1, OPEN), saw(T2, { ...OPEN, sub_id: 'b' })],
  strayed: [saw(T1, OPEN), saw(T2, OPEN, NEXT), saw(T3, OPEN)],
};

export function orderMarts(newWarehouse: NewWarehouse): void {
  describe('of items whose story is known,', () => known(newWarehouse));
  describe('of histories made up at random,', () => orderHistories(newWarehouse));
  describe('of orders as they are,', () => payments(newWarehouse));
  describe('of a few days of the reports,', () => reportDays(newWarehouse));
}

function known(newWarehouse: NewWarehouse): void {
  const scene = useScene(newWarehouse, async ({ publish, maker }) => {
    await publish(await slicesAt(maker, STORY, T1));
    await publish(await slicesAt(maker, STORY, T2));
    await publish([...(await slicesAt(maker, STORY, T4)), ...(await emptyDays(maker, day('2026-03-04'), AS_OF))]);
  });
  const ask = (sql: string) => scene.ask(sql);

  test('mart.order_change names every change that was seen, on its day', async () => {
    const figures = `order_item_id, order_date, CAST(changed_at AS varchar), change, status_group_before, status_group_after,
      commission_before, commission_after, commission_difference`;
    const found = await ask(`SELECT ${figures} FROM mart.order_change ORDER BY order_item_id, changed_at, order_date`);
    const one = '1.000000';
    const isNew = (name: string, at: string, to = 'open', on = DAY, money = one) =>
      [name, on, `${at}:00+00`, 'new', null, to, null, money, money] as const;
    const ended = (name: string, at: string, change: string, on = DAY) =>
      [name, on, `${at}:00+00`, change, 'open', null, one, null, '-1.000000'] as const;
    const became = (
      name: string,
      at: string,
      change: string,
      from: string,
      to: string,
      money = [one, one, '0.000000'],
    ) => [name, DAY, `${at}:00+00`, change, from, to, ...money] as const;
    const less = ['0.800000', '0.800000', '0.000000'];
    expect(found).toEqual([
      isNew('approved', T1),
      became('approved', T2, 'status', 'open', 'approved'),
      became('approved', T3, 'payment', 'approved', 'approved'),
      isNew('back', T1),
      ended('back', T2, 'vanished'),
      isNew('back', T3, 'open', DAY, '2.000000'),
      isNew('early', T1, 'approved'),
      became('early', T3, 'payment', 'approved', 'approved'),
      isNew('gone', T1),
      ended('gone', T2, 'vanished'),
      isNew('late', T2),
      became('late', T4, 'status', 'open', 'approved'),
      isNew('moved', T1),
      ended('moved', T2, 'moved_away'),
      isNew('moved', T2, 'open', NEXT),
      isNew('next', T1_NEXT, 'open', NEXT),
      isNew('rejected', T1),
      became('rejected', T2, 'restated', 'open', 'open', [one, '0.800000', '-0.200000']),
      became('rejected', T3, 'status', 'open', 'rejected', less),
      became('rejected', T4, 'final', 'rejected', 'rejected', less),
      isNew('renamed', T1),
      became('renamed', T2, 'relabelled', 'open', 'open'),
      isNew('strayed', T1),
      ended('strayed', T2, 'moved_away'),
      isNew('strayed', T2, 'open', NEXT),
      isNew('strayed', T3),
      ended('strayed', T3, 'moved_away', NEXT),
    ]);
    const sides =
      'quantity_before, quantity_after, price_excl_vat_before, price_excl_vat_after, revenue_excl_vat_difference';
    const about = `${sides}, site_code, sub_id, chunk_name, changed_on FROM mart.order_change WHERE order_item_id`;
    expect(await ask(`SELECT ${about} = 'gone' ORDER BY changed_at`)).toEqual([
      [null, '2', null, '10.000000', '20.000000', '1', 'a', 'x', '2026-03-03'],
      ['2', null, '10.000000', null, '-20.000000', '1', 'a', 'x', '2026-03-10'],
    ]);
    expect(
      await ask(`SELECT sub_id FROM mart.order_change WHERE order_item_id = 'renamed' ORDER BY changed_at`),
    ).toEqual([['a'], ['b']]);
  });

  test('mart.order_life_cycle counts the days to what was observed, and not to what was so from the start', async () => {
    const figures = `order_item_id, order_date, status_group, commission, days_to_decision, days_to_final, days_to_approval,
      days_to_payment, seen_from_start`;
    const found = await ask(`SELECT ${figures} FROM mart.order_life_cycle ORDER BY order_item_id`);
    const never = [null, null, null, null, true] as const;
    expect(found).toEqual([
      ['approved', DAY, 'approved', '1.000000', '8', '23', '8', '23', true],
      ['back', DAY, 'open', '2.000000', ...never],
      ['early', DAY, 'approved', '1.000000', null, '23', null, '23', false],
      ['late', DAY, 'approved', '1.000000', '49', null, '49', null, true],
      ['moved', NEXT, 'open', '1.000000', ...never],
      ['next', NEXT, 'open', '1.000000', ...never],
      ['rejected', DAY, 'rejected', '0.800000', '23', '49', null, null, true],
      ['renamed', DAY, 'open', '1.000000', ...never],
      ['strayed', DAY, 'open', '1.000000', ...never],
    ]);
    const times = ['first_seen_at', 'decided_at', 'final_at', 'approved_at', 'payment_at'].map(
      (c) => `CAST(${c} AS varchar)`,
    );
    const [row] = await ask(`SELECT ${times.join(', ')} FROM mart.order_life_cycle WHERE order_item_id = 'approved'`);
    expect(row).toEqual([T1, T2, T3, T2, T3].map((at) => `${at}:00+00`));
    expect(await ask(`SELECT DISTINCT sub_id FROM mart.order_life_cycle WHERE order_item_id = 'renamed'`)).toEqual([
      ['b'],
    ]);
  });

  test('mart.approval_cohort shows a week as it was known at the end of each age, and at the newest as it is now', async () => {
    const figures =
      'age_weeks, is_newest, items, approved_items, rejected_items, paid_items, commission, approved_commission';
    const more = 'rejected_commission, paid_commission, open_commission, CAST(approval_rate AS varchar)';
    const found = await ask(`SELECT ${figures}, ${more} FROM mart.approval_cohort ORDER BY order_week, age_weeks`);
    const rate = found.map((row) => Number(row.at(-1)));
    const second = ['8', '2', '0', '0', '7.800000', '2.000000', '0.000000', '0.000000', '5.800000'];
    const third = ['9', '2', '1', '2', '9.800000', '2.000000', '0.800000', '2.000000', '7.000000'];
    expect(found.map((row) => row.slice(0, -1))).toEqual([
      ['0', false, '9', '1', '0', '0', '9.000000', '1.000000', '0.000000', '0.000000', '8.000000'],
      ['1', false, ...second],
      ['2', false, ...second],
      ['3', false, ...third],
      ['4', false, ...third],
      ['5', false, ...third],
      ['6', true, '9', '3', '1', '2', '9.800000', '3.000000', '0.800000', '2.000000', '6.000000'],
    ]);
    expect(rate).toEqual([1, 1, 1, 2 / 3, 2 / 3, 2 / 3, 3 / 4]);
    expect(await ask('SELECT DISTINCT order_week FROM mart.approval_cohort')).toEqual([[DAY]]);
  });

  test('mart.restatement parts the difference into what came late, what is gone and what changed', async () => {
    const figures = `sub_id, items_first, items_now, late_items, gone_items, quantity_now, revenue_excl_vat_first, commission_first, commission_now,
      commission_difference, late_commission, gone_commission, changed_commission`;
    const found = await ask(`SELECT ${figures} FROM mart.restatement WHERE order_date = DATE '${DAY}' ORDER BY sub_id`);
    expect(found).toEqual([
      ...[['a', '8', '6', '1', '2', '12', '160.000000', '8.000000', '6.800000']].map((row) => [
        ...row,
        ...['-1.200000', '1.000000', '-2.000000', '-0.200000'],
      ]),
      ...[['b', '0', '1', '0', '0', '2', '0.000000', '0.000000', '1.000000']].map((row) => [
        ...row,
        ...['1.000000', '0.000000', '0.000000', '1.000000'],
      ]),
    ]);
    const times =
      'SELECT order_date, CAST(min(first_fetch_at) AS varchar) FROM mart.restatement GROUP BY order_date ORDER BY 1';
    expect(await ask(times)).toEqual([
      [DAY, `${T1}:00+00`],
      [NEXT, `${T1_NEXT}:00+00`],
    ]);
  });
}
