/** Histories of order items made up at random: what the marts say of them adds up to the facts, at any instant. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addDays, type Day } from '../../../src/core/days.ts';
import type { Sight } from '../../support/order-sights.ts';
import type { NewWarehouse } from '../bench.ts';
import { DAY, emptyDays, type Histories, OPEN, slicesAt, useScene } from './order-scenes.ts';

/** States that a fetch may show: nothing new, gone, or an item on one of two days. */
const SIGHTS = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.constant('gone' as const) },
  {
    weight: 4,
    arbitrary: fc.record({
      on: fc.nat({ max: 1 }),
      status_group: fc.constantFrom('open', 'approved', 'rejected', null),
      approved_for_payment: fc.constantFrom('true', 'false', null),
      status_final: fc.constantFrom('true', 'false', null),
      commission: fc.constantFrom('0.01', '1.234567', '-3', '999999.99', null),
      sub_id: fc.constantFrom('a', 'b', null),
    }),
  },
);

/** Some items on two neighbouring days each, told by six fetches over five weeks. */
function madeUp(): Histories {
  const groups = fc.sample(fc.array(fc.array(SIGHTS, { minLength: 6, maxLength: 6 }), { minLength: 6, maxLength: 6 }), {
    numRuns: 10,
    seed: 9,
  });
  const fetches = ['02 03:00', '05 03:00', '08 00:00', '15 23:59', '22 03:00', '36 12:30'];
  return Object.fromEntries(
    groups.flatMap((items, g) =>
      items.map((told, i): [string, Sight[]] => {
        const first = addDays(DAY, 5 * g);
        const sights: Sight[] = [];
        told.forEach((what, f) => {
          const [after, time] = fetches[f]!.split(' ');
          const at = `${addDays(first, Number(after))} ${time}`;
          const last = sights.at(-1);
          if (what === 'gone') {
            if (last?.values) sights.push({ at, on: last.on, values: null });
          } else if (what) {
            const { on, ...values } = what;
            sights.push({ at, on: addDays(first, on), values: { ...OPEN, ...values } });
          }
        });
        return [`g${g}i${i}`, sights];
      }),
    ),
  );
}

export function orderHistories(newWarehouse: NewWarehouse): void {
  const asOf = addDays(DAY, 70);
  const scene = useScene(newWarehouse, async ({ publish, maker }) => {
    await publish([
      ...(await emptyDays(maker, addDays(DAY, 60), asOf)),
      ...(await slicesAt(maker, madeUp(), '2026-12-31')),
    ]);
  });
  const ask = (sql: string) => scene.ask(sql);
  const apart = async (one: string, other: string) => [
    ...(await ask(`${one} EXCEPT ${other}`)),
    ...(await ask(`${other} EXCEPT ${one}`)),
  ];
  const total = 'CAST(coalesce(sum(commission), 0) AS decimal(38,6))';

  test('the parts of a restatement are its difference, and what it says of now is the facts', async () => {
    const flawed = 'commission_difference <> late_commission + gone_commission + changed_commission';
    const odd = 'commission_difference <> commission_now - commission_first';
    expect(await ask(`SELECT * FROM mart.restatement WHERE ${flawed} OR ${odd}`)).toEqual([]);
    const group = 'order_date, site_code, frame_type, name, sub_id';
    expect(
      await apart(
        `SELECT ${group}, items_now, commission_now FROM mart.restatement WHERE items_now > 0`,
        `SELECT ${group}, count(*), ${total} FROM warehouse.fact_order_item GROUP BY ${group}`,
      ),
    ).toEqual([]);
    const parts = ['late', 'gone', 'changed'].map((part) => `count(CASE WHEN ${part}_commission <> 0 THEN 1 END) > 5`);
    expect(await ask(`SELECT ${parts.join(', ')} FROM mart.restatement`)).toEqual([[true, true, true]]);
  });

  test('the changes of a day add up to what the day has now', async () => {
    expect(
      await apart(
        `SELECT order_date, sum(commission_difference), sum(revenue_excl_vat_difference) FROM mart.order_change
           GROUP BY order_date HAVING sum(revenue_excl_vat_difference) <> 0`,
        `SELECT order_date, ${total}, sum(price_excl_vat * quantity) FROM warehouse.fact_order_item GROUP BY order_date`,
      ),
    ).toEqual([]);
    const [[changes, kinds] = []] = await ask('SELECT count(*), count(DISTINCT change) FROM mart.order_change');
    expect([Number(changes) > 100, Number(kinds) > 5]).toEqual([true, true]);
  });

  test('the life cycle has every item that is there, as it is, and no time before it was first seen', async () => {
    const item = 'order_date, order_id, order_item_id, sub_id, status_group, commission';
    expect(
      await apart(`SELECT ${item} FROM mart.order_life_cycle`, `SELECT ${item} FROM warehouse.fact_order_item`),
    ).toEqual([]);
    expect(await ask('SELECT * FROM mart.order_life_cycle WHERE least(decided_at, final_at) <= first_seen_at')).toEqual(
      [],
    );
    expect(
      await ask(`SELECT * FROM mart.order_life_cycle WHERE decided_at IS NOT NULL AND approved_at < decided_at
        OR (approved_at IS NOT NULL AND coalesce(status_group, '') <> 'approved') OR payment_at < approved_at`),
    ).toEqual([]);
  });

  const standing = `count(*), count(CASE WHEN status_group = 'approved' THEN 1 END), count(CASE WHEN status_group = 'rejected' THEN 1 END),
    count(CASE WHEN status_group = 'approved' AND approved_for_payment THEN 1 END), ${total}`;
  const cohort = 'items, approved_items, rejected_items, paid_items, commission';
  const week = `CAST(date_trunc('week', order_date) AS date)`;

  test('a cohort at its newest age is the facts', async () => {
    expect(
      await apart(
        `SELECT order_week, ${cohort} FROM mart.approval_cohort WHERE is_newest AND items > 0`,
        `SELECT ${week}, ${standing} FROM warehouse.fact_order_item GROUP BY 1`,
      ),
    ).toEqual([]);
  });

  test('a cohort at every other age is the orders as of its end', async () => {
    const end = 'order_week + CAST(7 * age_weeks + 7 AS integer)';
    const ends = await ask(`SELECT DISTINCT ${end} FROM mart.approval_cohort WHERE NOT is_newest`);
    expect(ends.length).toBeGreaterThan(8);
    const asOfEnds = ends.map(
      ([on]) => `SELECT DATE '${on}', ${week}, ${standing}
        FROM warehouse.orders_as_of('${addDays(on as Day, -1)} 23:59:59.999999+00') WHERE ${week} < DATE '${on}' GROUP BY 2`,
    );
    expect(
      await apart(
        `SELECT ${end}, order_week, ${cohort} FROM mart.approval_cohort WHERE NOT is_newest AND items > 0`,
        `SELECT * FROM (${asOfEnds.join(' UNION ALL ')}) AS every_end`,
      ),
    ).toEqual([]);
  });

  test('a forecast is never below nothing and never more than is owed', async () => {
    const [row] = await ask(
      'SELECT count(*), count(CASE WHEN expected_commission >= 0 THEN 1 END), sum(expected_commission) <= min(of_commission) FROM mart.payment_forecast',
    );
    expect(row).toEqual(['26', '26', true]);
  });
}
