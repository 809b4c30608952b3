/** What a night says it changed, against what was changed at the service. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addDays, type Day } from '../../../src/core/days.ts';
import { runRebuild } from '../../../src/run/again.ts';
import type { RunChanges } from '../../../src/run/window/what-changed.ts';
import { openWorld, type World } from '../../support/nights.ts';

let world: World;
let from: Day;
let to: Day;
beforeAll(async () => {
  world = await openWorld();
  ({ from, to } = world.lookback());
});
afterAll(() => world.close());

const NOTHING: RunChanges = {
  ...{ new_orders: 0, new_items: 0, vanished_items: 0, approved_items: 0, approved_commission: '0.00' },
  ...{ paid_items: 0, paid_commission: '0.00', restated_days: {} },
};

const night = async (...names: string[]) => {
  world.clock.set(world.clock.now() + 60_000);
  return (await world.night({ names: ['orders', ...names] })).changes;
};

it('days that are loaded for the first time bring new orders and items, and nothing else is news', async () => {
  const items = [...world.sandbox.truth('orders', from, to)] as { orderId: string }[];
  const orders = new Set(items.map(({ orderId }) => orderId)).size;
  expect(items.length).toBeGreaterThan(100);
  expect(items.length).toBeGreaterThan(orders);
  expect(await night()).toEqual({ ...NOTHING, new_orders: orders, new_items: items.length });
});

it('the same again brings nothing', async () => {
  expect(await night()).toEqual(NOTHING);
});

/** An item of that day that is still open. */
function openItem(day: Day): { orderId: string; orderItemId: string } {
  const items = [...world.sandbox.truth('orders', day, day)] as Record<string, unknown>[];
  const item = items.find(({ status, approvedForPayment }) => status === 'Open' && !approvedForPayment);
  return { orderId: String(item?.orderId), orderItemId: String(item?.orderItemId) };
}

it('approvals, payments, vanished items and restated days are counted to the last digit', async () => {
  const item = openItem(to);
  const values = { commission: '1234567.25', status: 'Geaccepteerd' };
  world.sandbox.change({ kind: 'restate-item', ...item, values });
  world.sandbox.change({ kind: 'vanish-item', ...world.itemOn(from) });
  expect(await night()).toEqual({
    ...NOTHING,
    vanished_items: 1,
    ...{ approved_items: 1, approved_commission: '1234567.25' },
    restated_days: { orders: 2 },
  });
  world.sandbox.change({ kind: 'restate-item', ...item, values: { ...values, approvedForPayment: true } });
  expect(await night()).toEqual({
    ...NOTHING,
    ...{ paid_items: 1, paid_commission: '1234567.25' },
    restated_days: { orders: 1 },
  });
});

it('an item that moves to another day of the same answer is neither new nor gone', async () => {
  world.sandbox.change({ kind: 'move-item', ...world.itemOn(from), toDay: addDays(from, 1) });
  expect(await night()).toEqual({ ...NOTHING, restated_days: { orders: 2 } });
});

it('restated days are told by report, and first days of a report are none', async () => {
  expect(await night('promotions')).toEqual(NOTHING);
  world.sandbox.change({ kind: 'restate-item', ...world.itemOn(to), values: { commission: '77.77' } });
  expect(await night('promotions')).toEqual({ ...NOTHING, restated_days: { orders: 1, promotions: 1 } });
});

it('on a day that was known, items that were not there are new, and an order when it is seen first', async () => {
  // The day before was not loaded: what comes from there was never seen.
  const day = addDays(from, -1);
  const items = [...world.sandbox.truth('orders', day, day)] as { orderId: string; orderItemId: string }[];
  const [one, other] = items.filter(({ orderId }, i) => items.some((item, j) => j !== i && item.orderId === orderId));
  expect(one?.orderId).toBe(other?.orderId);
  world.sandbox.change({ kind: 'move-item', orderId: one!.orderId, orderItemId: one!.orderItemId, toDay: to });
  expect(await night()).toEqual({ ...NOTHING, new_orders: 1, new_items: 1, restated_days: { orders: 1 } });
  world.sandbox.change({ kind: 'move-item', orderId: other!.orderId, orderItemId: other!.orderItemId, toDay: to });
  expect(await night()).toEqual({ ...NOTHING, new_items: 1, restated_days: { orders: 1 } });
});

it('a warehouse that is made afresh brings no news', async () => {
  const { changes } = await world.within((context) => runRebuild(context, 'duckdb'));
  expect(changes).toEqual(NOTHING);
});
