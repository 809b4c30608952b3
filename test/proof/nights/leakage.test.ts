/** Nights of look-ups and orders against the sandbox: what sold items should have earned, compared with what the sandbox holds to be true. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addDays, type Day } from '../../../src/core/days.ts';
import type { TruthRow } from '../../../src/sandbox/sandbox.ts';
import { listEans, openLookupWorld, rowsOf, six } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';

/** What the service told of an EAN, in a night: its rate, and the lines of the reductions file, as text. */
interface Told {
  readonly rate: Rate | undefined;
  readonly lines: readonly Line[];
}
type Rate = NonNullable<ReturnType<World['sandbox']['truthOfCommission']>>;
type Line = readonly [ean: string, maximum: string, cost: string, first: string, last: string];

/** EANs that are looked up, of the 4,000 that are sold. */
const LISTED = 150;
const FIRST = '2026-03-20' as Day;
const SECOND = addDays(FIRST, 1);
const THIRD = addDays(FIRST, 2);

let world: World;
/** Those in the catalogue, by the id that orders have. */
let eanOf: Map<string, string>;
/** By the day of the night and the EAN. */
const told = new Map<string, Told>();
/** EANs of which something is sold on the second day: one whose rate changes, one that gets a reduction by its rate, one by the file. */
let [rising, reduced, filed, fair]: [string, string, string, string] = ['', '', '', ''];
/** One that is asked for at the price of an item of the second day. */
let priced: { readonly ean: string; readonly price: string; readonly total: string | undefined };

beforeAll(async () => {
  world = await openLookupWorld({
    ...{ ordersPerDay: 900, lookbackDays: 3, sandbox: { seriesLength: 50 } },
    ...{ rates: {}, reductions: {}, products: { markets: [{ country: 'NL', language: 'nl' }] } },
  });
  const eans = world.sandbox.eans(LISTED);
  const found = eans.map((ean) => [String(world.sandbox.truthOfProduct(ean, 'NL', 'nl')?.bolProductId), ean] as const);
  eanOf = new Map(found.filter(([id]) => id !== 'undefined'));
  const sold = soonSold(SECOND);
  [rising, reduced, filed, fair] = [...new Set(sold.map(ean))].slice(0, 4) as [string, string, string, string];
  const asked = sold.find((item) => ![rising, reduced, filed, fair].includes(ean(item)))!;
  await listEans(world, [...eans, `${ean(asked)},${asked.priceInclVat}`]);
  await night();
  world.passDays(1);
  change();
  await night();
  const price = String(asked.priceInclVat);
  priced = { ean: ean(asked), price, total: world.sandbox.truthOfCommission(ean(asked), 'NEW', price)?.totalCost };
  world.passDays(1);
  underpay();
  await night();
}, 180_000);
afterAll(() => world.close());

const ean = (item: TruthRow): string => eanOf.get(String(item.productId)) ?? '';
const itemsOf = (day: Day) => [...world.sandbox.truth('orders', day, day)].filter((item) => ean(item) !== '');

/** What will be sold on a day that has not come yet. */
function soonSold(day: Day): TruthRow[] {
  const now = world.clock.now();
  world.clock.set(Date.parse(`${addDays(day, 1)}T12:00:00Z`));
  const items = itemsOf(day);
  world.clock.set(now);
  return items;
}

/** Before the night of the second day. */
function change(): void {
  const boundary = { maximumPrice: '9999', startDate: SECOND, endDate: SECOND };
  world.sandbox.change({ kind: 'commission-rate', ean: rising, fixedAmount: '0.07', percentage: '21.35' });
  world.sandbox.change({
    ...{ kind: 'commission-reductions', ean: reduced },
    reductions: [
      { ...boundary, costReduction: '0.25' },
      { ...boundary, costReduction: '0.20', maximumPrice: '5' },
    ],
  });
  world.sandbox.change({ kind: 'reductions-lines', add: [{ ean: filed, ...boundary, costReduction: '0.31' }] });
  world.sandbox.change({ kind: 'commission-rate', ean: fair, fixedAmount: '0', percentage: '1' });
}

/** One item of the EAN whose items all earn more than the rate gives: by two cents too little now. */
function underpay(): void {
  const item = itemsOf(SECOND).find((other) => ean(other) === fair)!;
  const rest = expectedCents(item, SECOND)! - 2 * Number(item.quantity);
  const { orderId, orderItemId } = item as { orderId: string; orderItemId: string };
  world.sandbox.change({ kind: 'restate-item', orderId, orderItemId, values: { commission: (rest / 100).toFixed(2) } });
}

async function night(): Promise<void> {
  const [, ...lines] = world.sandbox.reductionsFile().text.trim().split('\n');
  const parsed = lines.map((line) => line.split(',') as unknown as Line);
  for (const listed of eanOf.values())
    told.set(`${world.today()} ${listed}`, {
      rate: world.sandbox.truthOfCommission(listed, 'NEW', null),
      lines: parsed.filter(([of]) => of === listed),
    });
  expect(await world.night()).toMatchObject({ exitCode: 0, errors: [] });
}

const cents = (amount: unknown): number => Math.round(Number(amount) * 100);

/** By what was told in the night of its day; undefined where nothing was. */
function expectedCents(item: TruthRow, day: Day): number | undefined {
  const { rate, lines } = told.get(`${day} ${ean(item)}`) ?? {};
  if (!rate || !lines) return undefined;
  const price = cents(item.priceInclVat);
  const own = (rate.reductions ?? []).map((r) => [r.maximumPrice, r.costReduction, r.startDate, r.endDate] as const);
  const fitting = [...own, ...lines.map(([, ...line]) => line)].filter(
    ([maximum, , first, last]) => cents(maximum) >= price && first <= day && last >= day,
  );
  const full = cents(rate.fixedAmount) + Math.floor((price * cents(rate.percentage) + 5000) / 10_000);
  return Number(item.quantity) * Math.max(0, full - Math.max(0, ...fitting.map(([, cost]) => cents(cost))));
}

const isSold = (item: TruthRow) => !String(item.status).toLowerCase().startsWith('geweigerd');
const isPriced = (item: TruthRow) => ean(item) === priced.ean && cents(item.priceInclVat) === cents(priced.price);

/** The rows of a day that must be there: item and expectation, sorted. */
function expectations(day: Day): (readonly [TruthRow, number])[] {
  return itemsOf(day)
    .filter(isSold)
    .map((item) => {
      const total = isPriced(item) ? Number(item.quantity) * cents(priced.total) : expectedCents(item, day);
      return [item, total ?? Number.NaN] as const;
    });
}

const spelled = ([item, total]: readonly [TruthRow, number]) =>
  `${item.orderItemId} ${ean(item)} ${six((total / 100).toFixed(2))} ${six(String(item.commission))}`;
const isBelow = ([item, total]: readonly [TruthRow, number]) => total - cents(item.commission) > Number(item.quantity);

const FIGURES = 'order_item_id, ean, expected_commission, recorded_commission';

it.each([FIRST, SECOND])(
  'every sold item of %s is judged as the sandbox told in the night of that day',
  async (day) => {
    const found = await rowsOf(
      world,
      `SELECT ${FIGURES} FROM mart.commission_expected WHERE order_date = '${day}' AND expected_commission IS NOT NULL`,
    );
    expect(found.toSorted()).toEqual(expectations(day).map(spelled).toSorted());
    expect(found.length).toBeGreaterThan(20);
  },
);

it.each([FIRST, SECOND])(
  'the leakage of %s is what earned less, by more than a cent a piece, and nothing else',
  async (day) => {
    const wanted = expectations(day).filter(isBelow).map(spelled);
    const found = await rowsOf(world, `SELECT ${FIGURES} FROM mart.commission_leakage WHERE order_date = '${day}'`);
    expect(found.toSorted()).toEqual(wanted.toSorted());
    expect(await rowsOf(world, `SELECT items_below FROM mart.leakage_coverage WHERE order_date = '${day}'`)).toEqual([
      String(wanted.length),
    ]);
  },
);

it('an item that was underpaid is found among those that earned enough', async () => {
  const found = await rowsOf(
    world,
    `SELECT shortfall / quantity = 0.02 FROM mart.commission_leakage WHERE order_date = '${SECOND}' AND ean = '${fair}'`,
  );
  expect(found).toEqual(['true']);
});

it('reductions are named with their source, and the total of a price that was asked for is the own one of the service', async () => {
  const sources = await rowsOf(
    world,
    `SELECT DISTINCT ean, reduction_source, reduction_cost_reduction FROM mart.commission_expected
     WHERE order_date = '${SECOND}' AND ean IN ('${reduced}', '${filed}')`,
  );
  expect(sources).toContain(`${reduced} rate 0.250000`);
  expect(sources).toContain(`${filed} file 0.310000`);
  const totals = await rowsOf(
    world,
    `SELECT DISTINCT asked_price, expected_commission / quantity = ${priced.total} FROM mart.commission_expected
     WHERE order_date = '${SECOND}' AND ean = '${priced.ean}' AND asked_price IS NOT NULL`,
  );
  expect(totals).toEqual([`${six(priced.price)} true`]);
});

it('what was sold before the first look-up is counted as not judged', async () => {
  const coverage = await rowsOf(
    world,
    'SELECT order_date, sold_items > judged_items, judged_items FROM mart.leakage_coverage ORDER BY order_date',
  );
  const before = [3, 2, 1].map((ago) => `${addDays(FIRST, -ago)} true 0`);
  const judged = [FIRST, SECOND].map((day) => `${day} true ${expectations(day).length}`);
  expect(coverage).toEqual([...before, ...judged]);
});

it('a change of rate stands with what it means', async () => {
  const [row, ...more] = await rowsOf(
    world,
    `SELECT changed_on, percentage_after, fixed_amount_after, sold_28_days_after > 0, effect_per_piece = commission_per_piece_after - commission_per_piece_before
     FROM mart.rate_change WHERE ean = '${rising}'`,
  );
  expect(row).toBe(`${SECOND} 21.350000 0.070000 true true`);
  expect(more).toEqual([]);
  const before = told.get(`${FIRST} ${rising}`)?.rate;
  expect(await rowsOf(world, `SELECT percentage_before FROM mart.rate_change WHERE ean = '${rising}'`)).toEqual([
    six(before?.percentage),
  ]);
});

it('a line of the reductions file is in force on its day, and no longer the day after', async () => {
  const lines = (day: Day) =>
    rowsOf(
      world,
      `SELECT maximum_price, cost_reduction FROM warehouse.reductions_in_force('${day}') WHERE ean = '${filed}' AND maximum_price = 9999`,
    );
  expect(await lines(SECOND)).toEqual(['9999.000000 0.310000']);
  expect(await lines(THIRD)).toEqual([]);
});
