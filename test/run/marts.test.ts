import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { addDays, type Day } from '../../src/core/days.ts';
import { openWorld, type World } from '../support/nights.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
  const night = await world.night();
  expect(night.errors).toEqual([]);
});
afterAll(() => world.close());
beforeEach(() => world.clock.set(world.clock.now() + 60_000));

const ask = (sql: string) => world.within(async ({ targets }) => (await targets[0]!.query(sql, 10_000)).rows);
const CLASSES = 'SELECT class, count(*) > 0 FROM mart.reconciliation GROUP BY class ORDER BY class';
const yesterday = (): Day => addDays(world.today(), -1);

it('the three reports are equal in every group', async () => {
  expect(await ask(CLASSES)).toEqual([['equal', true]]);
  const [totals] = await ask(`SELECT sum(orders_orders) > 100, sum(promotions_commission) = sum(orders_commission),
    sum(commissions_revenue_excl_vat) = sum(orders_revenue_excl_vat), sum(commissions_open) > 0 FROM mart.reconciliation`);
  expect(totals).toEqual([true, true, true, true]);
});

it('a report that leaves something out is found in its groups and its day', async () => {
  const day = yesterday();
  const rows = [...world.sandbox.truth('commissions', day, day)].length;
  world.sandbox.change({ kind: 'shrink-day', report: 'commissions', day, items: rows - 3 });
  const night = await world.night();
  expect(night.errors).toEqual([]);
  const found = await ask(`SELECT day, class, promotions_class FROM mart.reconciliation WHERE class <> 'equal'`);
  expect(found.length).toBeGreaterThan(0);
  for (const row of found) expect(row).toEqual([day, 'unexplained', 'equal']);
});
