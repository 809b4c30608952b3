/** Carries out the changes of a scenario in the service's world, whatever that happens to hold. */

import { DAY_MS, type Place } from './place.ts';
import type { PlannedChange } from './scenario.ts';

export const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** Items that were taken out of the world; they do not come back. */
export type Gone = Set<string>;

/** What was done, in words. */
export function carryOut(place: Place, change: PlannedChange, todayMs: number, gone: Gone): string {
  const { sandbox } = place;
  const day = dayOf(todayMs - change.daysAgo * DAY_MS);
  const items = [...sandbox.truth('orders', day as never, day as never)].filter(
    (row) => !gone.has(String(row.orderItemId)),
  );
  const item = items[Math.floor(change.pick * items.length)];
  const name = item && { orderId: String(item.orderId), orderItemId: String(item.orderItemId) };
  switch (change.kind) {
    case 'restate-item':
    case 'dear-item': {
      if (!name) return 'there was no item to restate';
      const cents = Math.floor(change.other * 100);
      // So many digits that a double does not hold six more behind the point, and so few that sums of some still fit.
      const priceExclVat =
        change.kind === 'dear-item' ? `152345678901.${(10 + (cents % 90)) | 1}` : `${10 + cents}.${10 + (cents % 90)}`;
      const values = { priceExclVat, status: change.other < 0.5 ? 'Geaccepteerd' : 'Geweigerd', commission: '1.07' };
      sandbox.change({ kind: 'restate-item', ...name, values });
      return `item ${name.orderItemId} of ${day} is restated to ${priceExclVat}`;
    }
    case 'vanish-item':
      if (!name) return 'there was no item to vanish';
      gone.add(name.orderItemId);
      sandbox.change({ kind: 'vanish-item', ...name });
      return `item ${name.orderItemId} of ${day} vanishes`;
    case 'move-item': {
      if (!name) return 'there was no item to move';
      const to = dayOf(todayMs - (1 + Math.floor(change.other * 5)) * DAY_MS);
      sandbox.change({ kind: 'move-item', ...name, toDay: to as never });
      return `item ${name.orderItemId} moves from ${day} to ${to}`;
    }
    case 'empty-day': {
      const report = (['all', 'orders', 'promotions', 'commissions'] as const)[Math.floor(change.other * 4)]!;
      sandbox.change({ kind: 'empty-day', report, day: day as never });
      return `${day} is emptied in ${report}`;
    }
    case 'shrink-day': {
      const left = Math.floor(change.other * 6);
      sandbox.change({ kind: 'shrink-day', report: 'orders', day: day as never, items: left });
      return `${day} has at most ${left} orders`;
    }
    case 'add-field':
      sandbox.change({
        kind: 'add-field',
        report: 'orders',
        field: 'colour',
        value: change.other < 0.5 ? 'red' : 'blue',
      });
      return 'orders have a field "colour"';
    default:
      return carryOutElsewhere(place, change);
  }
}

function carryOutElsewhere({ sandbox, eans }: Place, change: PlannedChange): string {
  const ean = eans[Math.floor(change.pick * eans.length)]!;
  const cents = Math.floor(change.other * 90) + 10;
  switch (change.kind) {
    case 'reductions-renamed':
      sandbox.change({ kind: 'reductions-file' });
      return 'the reductions file has a new name';
    case 'reductions-changed': {
      const [, first] = sandbox.reductionsFile().text.split('\n');
      const added = {
        ean,
        maximumPrice: `3${cents}.50`,
        costReduction: `1.${cents}`,
        startDate: '2026-03-01',
        endDate: '2026-05-01',
      };
      sandbox.change({
        kind: 'reductions-lines',
        add: [added as never],
        remove: first ? [{ ean: first.split(',')[0]! }] : [],
      });
      sandbox.change({ kind: 'reductions-file' });
      return `the reductions of ${first?.split(',')[0]} go, and one of ${ean} comes`;
    }
    case 'commission-rate':
      sandbox.change({ kind: 'commission-rate', ean, percentage: `1${cents % 10}.${cents}` });
      return `the commission of ${ean} changes`;
    case 'revoke-tokens':
      sandbox.change({ kind: 'revoke-tokens' });
      return 'all tokens are revoked';
    case 'rotate-keys':
      sandbox.change({ kind: 'rotate-keys' });
      return 'pushes are signed with a new key';
    default:
      sandbox.change({ kind: 'shipment', count: 1 + Math.floor(change.other * 4) });
      return 'shipments move';
  }
}
