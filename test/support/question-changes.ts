/** What becomes different in the sandbox before each night of the scene that the questions are answered on. */
import type { Day } from '../../src/core/days.ts';
import type { Change, TruthRow } from '../../src/sandbox/sandbox.ts';
import type { World } from './nights.ts';
import { HELD, LAST_MONTH } from './question-days.ts';
import { cents, millionths } from './question-truth.ts';

/** What is looked up: EANs with their products as the catalogue tells them. */
export type Offers = ReadonlyMap<string, Offer>;

interface Offer {
  readonly productId: string;
  readonly title: string;
  readonly price: string;
}

interface Name {
  readonly orderId: string;
  readonly orderItemId: string;
}

type Values = Extract<Change, { kind: 'restate-item' }>['values'];

export function changesBefore(night: Day, world: World, offers: Offers): Change[] {
  const changes: Readonly<Record<string, () => Change[]>> = {
    '2026-02-05': () => pendingOnes(world),
    '2026-02-27': () => [
      restated(itemOn(world, '2026-02-02', 2), { priceExclVat: '99.95', priceInclVat: '120.94', quantity: 3 }),
      { kind: 'commission-rate', ean: eanAt(offers, 3), percentage: '21.5' },
    ],
    '2026-03-06': () => [...changesOfFebruary(world, offers), ...changesOfRates(offers)],
    '2026-03-13': () => changesOfTheLastWeek(world),
  };
  return changes[night]?.() ?? [];
}

function pendingOnes(world: World): Change[] {
  const open = { status: 'Open', statusFinal: false, approvedForPayment: false };
  return [restated(itemOn(world, '2025-12-20', 1), open), restated(itemOn(world, '2025-12-28', 0), open)];
}

function changesOfFebruary(world: World, offers: Offers): Change[] {
  const day = '2026-02-08' as Day;
  const rows = [...world.sandbox.truth('commissions', day, day)].length;
  return [
    { kind: 'vanish-item', ...itemOn(world, '2026-02-10') },
    { kind: 'move-item', ...itemOn(world, '2026-02-12', 3), toDay: '2026-02-15' as Day },
    { kind: 'vanish-item', ...itemOn(world, '2026-02-21', 1) },
    restated(itemOn(world, '2026-02-06', 4), { commission: '77.41' }),
    restated(lookedUp(world, '2026-02-17', offers), { commission: '0.13' }),
    { kind: 'shrink-day', report: 'commissions', day, items: rows - 2 },
  ];
}

function changesOfRates(offers: Offers): Change[] {
  const line = (position: number, maximumPrice: string, costReduction: string) => ({
    ...{ ean: eanAt(offers, position), maximumPrice, costReduction },
    ...{ startDate: '2026-02-20', endDate: '2026-04-30' },
  });
  /** Half a euro below the price of the offer. */
  const below = (position: number) => cents(millionths(offers.get(eanAt(offers, position))?.price) - 500_000n);
  const close = [10, 11, 12, 13, 14, 15].map((position) => line(position, below(position), '1.75'));
  return [
    { kind: 'commission-rate', ean: eanAt(offers, 3), percentage: '5' },
    { kind: 'commission-rate', ean: eanAt(offers, 5), percentage: '3', fixedAmount: '0.1' },
    { kind: 'reductions-lines', add: [line(0, '5000', '0.4'), line(1, '1', '1.2'), ...close] },
  ];
}

function changesOfTheLastWeek(world: World): Change[] {
  return [
    restated(itemOn(world, '2026-02-16', 0), { status: 'Geweigerd', statusFinal: true }),
    { kind: 'vanish-item', ...itemOn(world, '2026-03-02') },
    { kind: 'move-item', ...itemOn(world, '2026-03-03', 1), toDay: '2026-03-05' as Day },
    restated(itemOn(world, '2026-03-03', 5), { commission: '31.07' }),
    restated(itemOn(world, '2026-03-04', 2), { quantity: 9 }),
    { kind: 'empty-day', report: 'promotions', day: HELD },
  ];
}

function restated(name: Name, values: Values): Change {
  return { kind: 'restate-item', ...name, values };
}

function itemOn(world: World, day: string, position = 0): Name {
  return nameOf([...world.sandbox.truth('orders', day as Day, day as Day)][position]);
}

/** The first item of a day or a later one whose product is looked up. */
function lookedUp(world: World, from: string, offers: Offers): Name {
  const products = new Set([...offers.values()].map(({ productId }) => productId));
  const rows = [...world.sandbox.truth('orders', from as Day, LAST_MONTH.to)];
  return nameOf(rows.find(({ productId }) => products.has(String(productId))));
}

function nameOf(row: TruthRow | undefined): Name {
  if (!row) throw new Error('the scene has no such item');
  return { orderId: String(row.orderId), orderItemId: String(row.orderItemId) };
}

function eanAt(offers: Offers, position: number): string {
  const ean = [...offers.keys()][position];
  if (!ean) throw new Error('the scene has no such EAN');
  return ean;
}
