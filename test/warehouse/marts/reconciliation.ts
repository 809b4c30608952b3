/** The three reports side by side: where they differ, by how much, and why. Every case has a day of its own. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RowText } from '../../support/slices.ts';
import type { NewWarehouse } from '../bench.ts';
import { useScene } from './order-scenes.ts';
import { CASES, dayOf, slicesOf, type Told } from './reconciliation-cases.ts';

/** From the lightest to the gravest. */
const GRAVITY = ['equal', 'timing', 'vanished', 'missing_sub_id', 'vat', 'rate', 'unexplained', 'not_loaded'];
const PROMOTIONS = [
  'orders_difference',
  'commission_promotions_orders',
  'excl_vat_promotions_orders',
  'incl_vat_promotions_orders',
];
const COMMISSIONS = [
  'commission_commissions_orders',
  'approved_difference',
  'open_difference',
  'excl_vat_commissions_orders',
  'incl_vat_commissions_orders',
];
const zero = (columns: readonly string[]) => columns.map((column) => `${column} = 0`).join(' AND ');

function byCases(newWarehouse: NewWarehouse): void {
  const scene = useScene(newWarehouse, async ({ maker, publish }) => {
    await publish(await Promise.all(CASES.flatMap(([, , , told], i) => slicesOf(maker, dayOf(i), told))));
  });

  test.each(CASES.map((one, i) => [one[0], one, dayOf(i)] as const))(
    '%s',
    async (_, [, ofPromotions, ofCommissions], on) => {
      const rows = await scene.ask(
        `SELECT promotions_class, commissions_class, class FROM mart.reconciliation WHERE day = DATE '${on}'`,
      );
      expect(rows.length).toBeGreaterThan(0);
      const said = (at: 0 | 1) => [...new Set(rows.map((row) => row[at]))].filter((one) => one !== 'equal');
      expect([said(0), said(1)]).toEqual([ofPromotions, ofCommissions].map((one) => (one === 'equal' ? [] : [one])));
      for (const [one, other, both] of rows) {
        const gravest = Math.max(GRAVITY.indexOf(String(one)), GRAVITY.indexOf(String(other)));
        expect(both).toBe(GRAVITY[gravest]);
      }
    },
  );

  test('every class is found, in either pair', async () => {
    for (const pair of ['promotions_class', 'commissions_class']) {
      const found = await scene.ask(`SELECT DISTINCT ${pair} FROM mart.reconciliation ORDER BY 1`);
      expect(found.flat()).toEqual([...GRAVITY].sort());
    }
  });

  test('a row shows every figure beside the others, with the differences', async () => {
    const on = dayOf(CASES.findIndex(([name]) => name === 'restated since'));
    const figures = `in_promotions, in_orders, in_commissions, promotions_orders, orders_orders, orders_difference,
      promotions_commission, orders_commission, commissions_original, commission_promotions_orders, commission_commissions_orders,
      orders_approved, commissions_approved, approved_difference, orders_open, commissions_open, open_difference,
      promotions_revenue_excl_vat, orders_revenue_excl_vat, commissions_revenue_excl_vat, excl_vat_promotions_orders, excl_vat_commissions_orders,
      promotions_revenue_incl_vat, orders_revenue_incl_vat, commissions_revenue_incl_vat, incl_vat_promotions_orders, incl_vat_commissions_orders`;
    expect(await scene.ask(`SELECT ${figures} FROM mart.reconciliation WHERE day = DATE '${on}'`)).toEqual([
      [
        ...[true, true, true, '1', '1', '0', '1.650000', '1.500000', '1.650000', '0.150000', '0.150000'],
        ...['0.750000', '0.750000', '0.000000', '0.750000', '0.900000', '0.150000'],
        ...['22.000000', '20.000000', '22.000000', '2.000000', '2.000000'],
        ...['26.620000', '24.200000', '26.620000', '2.420000', '2.420000'],
      ],
    ]);
  });

  test('mart.reconciliation_difference has a row for each measure that differs', async () => {
    const of = async (name: string) => {
      const on = dayOf(CASES.findIndex((one) => one[0] === name));
      const figures = 'pair, measure, told, orders_say, difference, class';
      return await scene.ask(
        `SELECT ${figures} FROM mart.reconciliation_difference WHERE day = DATE '${on}' ORDER BY 1, 2, 3`,
      );
    };
    expect(await of('three that agree')).toEqual([]);
    expect(await of('promotions with another order')).toEqual([
      ['promotions', 'orders', '2.000000', '1.000000', '1.000000', 'unexplained'],
    ]);
    expect(await of('restated since')).toEqual([
      ['commissions', 'commission', '1.650000', '1.500000', '0.150000', 'timing'],
      ['commissions', 'open', '0.900000', '0.750000', '0.150000', 'timing'],
      ['commissions', 'revenue_excl_vat', '22.000000', '20.000000', '2.000000', 'timing'],
      ['commissions', 'revenue_incl_vat', '26.620000', '24.200000', '2.420000', 'timing'],
      ['promotions', 'commission', '1.650000', '1.500000', '0.150000', 'timing'],
      ['promotions', 'revenue_excl_vat', '22.000000', '20.000000', '2.000000', 'timing'],
      ['promotions', 'revenue_incl_vat', '26.620000', '24.200000', '2.420000', 'timing'],
    ]);
    expect((await of('approved since')).map((row) => row.slice(0, 2))).toEqual([
      ['commissions', 'approved'],
      ['commissions', 'open'],
    ]);
  });
}

const someRow = fc.record({
  sub_id: fc.constantFrom('a', 'b', null),
  name: fc.constantFrom('x', null),
  commission: fc.constantFrom('0', '1', '1.000001', '-2', null),
  revenue: fc.constantFrom('0', '10', '10.000001', null),
  incl: fc.constantFrom('0', '12.1'),
});
const someSight = fc.record({
  from: fc.constantFrom('01:00', '03:00', '05:00'),
  row: fc.option(someRow),
  status: fc.constantFrom('open', 'approved', 'rejected', null),
});
const someDay = fc.record({
  items: fc.array(fc.uniqueArray(someSight, { minLength: 1, maxLength: 3, selector: ({ from }) => from }), {
    maxLength: 5,
  }),
  isTold: fc.boolean(),
  others: fc.array(someRow, { maxLength: 2 }),
  at: fc.constantFrom('02:00', '04:00', '06:00'),
});
type SomeRow = typeof someRow extends fc.Arbitrary<infer T> ? T : never;
type SomeDay = typeof someDay extends fc.Arbitrary<infer T> ? T : never;

const placeOf = ({ sub_id, name }: SomeRow) => ({ site_code: '1', frame_type: null, name, sub_id });

/** A day on which the two reports tell what the items said at some hour, and perhaps something else. */
function toldOf({ items, isTold, others, at }: SomeDay): Told {
  const sights = items.map((seen) => [...seen].sort((one, other) => (one.from < other.from ? -1 : 1)));
  const says = (row: SomeRow, status: string | null): RowText => ({
    ...{
      ...placeOf(row),
      quantity: '1',
      price_excl_vat: row.revenue,
      price_incl_vat: row.incl,
      commission: row.commission,
      status_group: status,
    },
  });
  const then = sights.flatMap((seen) => {
    const last = seen.findLast(({ from }) => from <= at);
    return isTold && last?.row ? [{ row: last.row, status: last.status }] : [];
  });
  const alone = others.map((row) => ({ row, status: 'open' }));
  return {
    items: Object.fromEntries(
      sights.map((seen, i) => [
        `o${i} i`,
        seen.map(({ from, row, status }) => ({ from, says: row && says(row, status) })),
      ]),
    ),
    promotions: [...then, ...alone].map(({ row }) => ({
      ...{
        ...placeOf(row),
        orders: '1',
        commission: row.commission,
        revenue_excl_vat: row.revenue,
        revenue_incl_vat: row.incl,
      },
    })),
    commissions: [...then, ...alone].map(({ row, status }) => ({
      ...{
        ...placeOf(row),
        commission_original: row.commission,
        revenue_original_excl_vat: row.revenue,
        revenue_original_incl_vat: row.incl,
      },
      commission_approved: status === 'approved' ? row.commission : null,
      commission_open: status === 'approved' || status === 'rejected' ? null : row.commission,
    })),
    promotionsAt: at,
    commissionsAt: at,
  };
}

const DAYS = fc.sample(someDay, { numRuns: 120, seed: 11 });

function byChance(newWarehouse: NewWarehouse): void {
  const scene = useScene(newWarehouse, async ({ maker, publish }) => {
    await publish(await Promise.all(DAYS.flatMap((some, i) => slicesOf(maker, dayOf(i), toldOf(some)))));
  });

  test('a row is equal when nothing differs, and of another class when anything does', async () => {
    const wrong =
      await scene.ask(`SELECT * FROM mart.reconciliation WHERE (promotions_class = 'equal') <> (${zero(PROMOTIONS)})
      OR (commissions_class = 'equal') <> (${zero(COMMISSIONS)}) OR (class = 'equal') <> (${zero([...PROMOTIONS, ...COMMISSIONS])})`);
    expect(wrong).toEqual([]);
    const found = await scene.ask('SELECT DISTINCT class FROM mart.reconciliation ORDER BY 1');
    expect(found.flat()).toEqual(GRAVITY.filter((name) => name !== 'not_loaded').sort());
  });

  test('a day that tells what the items said at its hour has no difference without a reason', async () => {
    const days = DAYS.flatMap(({ isTold, others, items, at }, i) => {
      const isKnown = items.flat().some(({ from }) => from <= at);
      return isTold && others.length === 0 && isKnown ? [`DATE '${dayOf(i)}'`] : [];
    });
    expect(days.length).toBeGreaterThan(10);
    const found = await scene.ask(
      `SELECT * FROM mart.reconciliation WHERE class = 'unexplained' AND day IN (${days.join(', ')})`,
    );
    expect(found).toEqual([]);
  });

  test('the figures are those of the reports, group by group', async () => {
    const keys = 'site_code, frame_type, name, sub_id';
    const figures: readonly (readonly [mart: string, fact: string])[] = [
      [
        `SELECT day, ${keys}, orders_orders, orders_commission, orders_approved, orders_revenue_excl_vat FROM mart.reconciliation WHERE in_orders`,
        `SELECT order_date, ${keys}, count(DISTINCT order_id), coalesce(sum(commission), 0), coalesce(sum(CASE WHEN status_group = 'approved' THEN commission END), 0),
          coalesce(sum(price_excl_vat * quantity), 0) FROM warehouse.fact_order_item GROUP BY order_date, ${keys}`,
      ],
      [
        `SELECT day, ${keys}, promotions_orders, promotions_commission, promotions_revenue_incl_vat FROM mart.reconciliation WHERE in_promotions`,
        `SELECT promotion_date, ${keys}, coalesce(sum(orders), 0), coalesce(sum(commission), 0), coalesce(sum(revenue_incl_vat), 0)
          FROM warehouse.fact_promotion_day GROUP BY promotion_date, ${keys}`,
      ],
      [
        `SELECT day, ${keys}, commissions_original, commissions_open, commissions_revenue_excl_vat FROM mart.reconciliation WHERE in_commissions`,
        `SELECT order_date, ${keys}, coalesce(sum(commission_original), 0), coalesce(sum(commission_open), 0), coalesce(sum(revenue_original_excl_vat), 0)
          FROM warehouse.fact_commission_day GROUP BY order_date, ${keys}`,
      ],
    ];
    for (const [mart, fact] of figures) {
      expect(await scene.ask(`${mart} EXCEPT ${fact}`)).toEqual([]);
      expect(await scene.ask(`${fact} EXCEPT (${mart})`)).toEqual([]);
    }
  });

  test('mart.reconciliation_difference has a row for every difference that is not zero', async () => {
    const count = [...PROMOTIONS, ...COMMISSIONS]
      .map((column) => `CASE WHEN ${column} <> 0 THEN 1 ELSE 0 END`)
      .join(' + ');
    const [wide] = await scene.ask(`SELECT sum(${count}) FROM mart.reconciliation`);
    expect(await scene.ask('SELECT count(*) FROM mart.reconciliation_difference')).toEqual([wide]);
  });
}

export function reconciliation(newWarehouse: NewWarehouse): void {
  describe('mart.reconciliation finds', () => byCases(newWarehouse));
  describe('mart.reconciliation by chance', () => byChance(newWarehouse));
}
