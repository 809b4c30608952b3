import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { SETTLED_AFTER_DAYS } from '../../../src/sandbox/orders/life-cycle.ts';
import type { ReportName } from '../../../src/sandbox/report-name.ts';
import { cents, firstDifference, groupBy, type Item, NOON, openSandbox, reportPath } from './client.ts';

const REPORTS: readonly ReportName[] = ['promotions', 'orders', 'commissions'];
const FROM = '2026-05-01';
const TO = '2026-06-10';

const PLACEMENT = ['siteName', 'siteCode', 'frameType', 'name', 'subId'];

function keyOf(item: Item, fields: readonly string[]): string {
  return JSON.stringify(fields.map((field) => item[field] ?? null));
}

type Sums = Record<string, bigint>;

/** Exact sums by group, sorted; `fields` are functions from an item to cents or counts. */
function sums(items: readonly Item[], key: readonly string[], fields: Record<string, (item: Item) => bigint>) {
  const groups = groupBy(items, (item) => keyOf(item, key));
  const sum = (group: readonly Item[]): Sums =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [name, group.reduce((total, item) => total + value(item), 0n)]),
    );
  return [...groups].map(([group, members]): [string, Sums] => [String(group), sum(members)]).sort();
}

const amount = (field: string) => (item: Item) => cents(item[field]);
const count = (field: string) => (item: Item) => BigInt(String(item[field]));
const revenue = (field: string) => (item: Item) => cents(item[field]) * BigInt(String(item.quantity));
const when = (status: string, value: (item: Item) => bigint) => (item: Item) =>
  item.status === status ? value(item) : 0n;

describe('the three reports tell one story', () => {
  test('commissions are the sums of order items by state, to the cent', async () => {
    const { items } = await openSandbox({ ordersPerDay: 150 });
    const [orders, commissions] = [await items('orders', FROM, TO), await items('commissions', FROM, TO)];
    const key = ['orderDate', ...PLACEMENT, 'commissionPercentage'];
    const byState = {
      commissionOriginal: amount('commission'),
      commissionApproved: when('Geaccepteerd', amount('commission')),
      commissionOpen: when('Open', amount('commission')),
      revenueOriginalExclVat: revenue('priceExclVat'),
      revenueOriginalInclVat: revenue('priceInclVat'),
      revenueApprovedExclVat: when('Geaccepteerd', revenue('priceExclVat')),
      revenueApprovedInclVat: when('Geaccepteerd', revenue('priceInclVat')),
      revenueOpenExclVat: when('Open', revenue('priceExclVat')),
      revenueOpenInclVat: when('Open', revenue('priceInclVat')),
      quantityPayable: when('Geaccepteerd', count('quantity')),
    };
    const reported = Object.fromEntries(Object.keys(byState).map((field) => [field, amount(field)]));
    const summed = sums(commissions, key, { ...reported, quantityPayable: count('quantityPayable') });
    expect(summed).toHaveLength(commissions.length);
    expect(firstDifference(summed, sums(orders, key, byState))).toBeUndefined();
    const states = new Set(orders.map((item) => item.status));
    expect(states).toEqual(new Set(['Open', 'Geaccepteerd', 'Geweigerd', 'Geweigerd: klik te oud']));
  });

  test('promotions have the same commission, revenue and orders, to the cent', async () => {
    const { items } = await openSandbox({ ordersPerDay: 150 });
    const [orders, promotions] = [await items('orders', FROM, TO), await items('promotions', FROM, TO)];
    const dated: Item[] = promotions.map((row) => ({ ...row, orderDate: row.date! }));
    const key = ['orderDate', ...PLACEMENT];
    const reported = sums(dated, key, {
      commission: amount('commission'),
      revenueExclVat: amount('revenueExclVat'),
      revenueInclVat: amount('revenueInclVat'),
      orders: count('orders'),
    });
    // The first item of every order counts the order.
    const first = new Set([...groupBy(orders, (item) => item.orderId).values()].map(([item]) => item));
    const expected = sums(orders, key, {
      commission: amount('commission'),
      revenueExclVat: revenue('priceExclVat'),
      revenueInclVat: revenue('priceInclVat'),
      orders: (item) => (first.has(item) ? 1n : 0n),
    });
    expect(reported).toHaveLength(dated.length);
    const sold = reported.filter(([, sum]) => Object.values(sum).some((value) => value !== 0n));
    expect(firstDifference(sold, expected)).toBeUndefined();
  });

  test('promotions have at least as many clicks as orders, and ratios of what they show', async () => {
    const { items } = await openSandbox();
    const rows = await items('promotions', '2026-06-01', '2026-06-10');
    const wrong = rows.filter((row) => {
      const [clicks = 0, impressions = 0, orders = 0] = ['clicks', 'impressions', 'orders'].map((f) => Number(row[f]));
      const rateFits = Math.abs(Number(row.clickThroughRate) - clicks / impressions) < 0.000001;
      const absentFit = 'conversion' in row === clicks > 0 && 'averageOrderValue' in row === orders > 0;
      return clicks < orders || impressions < clicks || !rateFits || !absentFit;
    });
    expect(wrong).toEqual([]);
    expect(rows.some((row) => !('averageOrderValue' in row))).toBe(true);
  });
});

describe('an answer', () => {
  test.each(REPORTS)('of %s is the truth, field by field and in its order', async (report) => {
    const { items, truth } = await openSandbox();
    const answered = await items(report, '2026-05-20', TO);
    expect(answered.length).toBeGreaterThan(800);
    expect(firstDifference(answered, truth(report, '2026-05-20', TO))).toBeUndefined();
  });

  test('of orders has the same bytes on its fast way as on the way through the cells of each row', async () => {
    const { sandbox, report } = await openSandbox({ ordersPerDay: 3000 });
    const fast = await report('orders', '2026-05-01', '2026-05-03');
    sandbox.addFault({ endpoint: 'orders', kind: 'duplicate', item: 1_000_000_000 });
    const slow = await report('orders', '2026-05-01', '2026-05-03');
    expect(slow.body.equals(fast.body)).toBe(true);
    expect(fast.body.length).toBeGreaterThan(1_000_000);
  });

  test.each(REPORTS)('of %s is the same as gzip', async (report) => {
    const client = await openSandbox();
    const plain = await client.report(report, '2026-05-01', '2026-05-03');
    const packed = await client.report(report, '2026-05-01', '2026-05-03', { headers: { 'accept-encoding': 'gzip' } });
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(packed.body).equals(plain.body)).toBe(true);
  });

  test('is never gzip where that is switched off', async () => {
    const { report } = await openSandbox({ gzip: false });
    const reply = await report('orders', FROM, FROM, { headers: { 'accept-encoding': 'gzip' } });
    expect(reply.headers['content-encoding']).toBeUndefined();
  });

  test('without rows is an empty list', async () => {
    const { report } = await openSandbox();
    for (const name of REPORTS) expect((await report(name, '2019-01-01', '2019-12-31')).text).toBe('{"items":[]}');
  });

  test('stops being made when nobody reads it any more, and the next call is served', async () => {
    const { report, items } = await openSandbox({ ordersPerDay: 100_000 });
    const stopped = await report('orders', '2026-01-01', '2026-05-31', { stopAfterBytes: 100_000 });
    expect(stopped.broken).toBe(true);
    expect(await items('promotions', '2019-01-01', '2019-01-01')).toEqual([]);
  });
});

describe('a range', () => {
  test.each([
    ['startDate=2026-05-01', ['endDate']],
    ['endDate=2026-05-01', ['startDate']],
    ['', ['startDate', 'endDate']],
    ['startDate=2026-5-1&endDate=2026-05-01', ['startDate']],
    ['startDate=2026-02-30&endDate=2026-05-01', ['startDate']],
    ['startDate=2026-05-02&endDate=2026-05-01', ['endDate']],
  ])('"%s" is refused and names what is wrong', async (query, names) => {
    const { call } = await openSandbox();
    const reply = await call(`/marketing/affiliate/reports/v2/order-report?${query}`);
    expect(reply.status).toBe(400);
    const problem = JSON.parse(reply.text);
    expect(problem).toMatchObject({ type: '/problems', status: 400 });
    expect(problem.violations.map((violation: { name: string }) => violation.name)).toEqual(names);
  });

  test('of one day and of ten thousand years are both fine', async () => {
    const { report } = await openSandbox({ firstDay: '2026-06-09' as never });
    expect((await report('orders', '2026-06-09', '2026-06-09')).status).toBe(200);
    expect((await report('commissions', '0001-01-01', '9999-12-31')).status).toBe(200);
  });
});

describe('the life of an item', () => {
  test('goes from open over a decision to its end, never back, and is settled after eighty days', async () => {
    const { sandbox, items } = await openSandbox({ ordersPerDay: 500 });
    const ordered = '2026-06-01';
    const stages = { Open: 0, Geaccepteerd: 1, Geweigerd: 1, 'Geweigerd: klik te oud': 1 } as Record<string, number>;
    const stage = (item: Item) =>
      stages[String(item.status)]! + (item.statusFinal ? 1 : 0) + (item.approvedForPayment ? 1 : 0);
    let before: Item[] = [];
    for (const age of [1, 6, 8, 15, 31, 40, 55, 70, SETTLED_AFTER_DAYS]) {
      sandbox.setNow(NOON + (age - 9) * 86_400_000);
      const now = await items('orders', ordered, ordered);
      expect(before.filter((item, i) => stage(item) > stage(now[i]!))).toEqual([]);
      const decided = before.filter((item, i) => item.status !== 'Open' && item.status !== now[i]!.status);
      expect(decided).toEqual([]);
      if (age <= 6) expect(now.every((item) => item.status === 'Open')).toBe(true);
      before = now;
    }
    const accepted = (item: Item) => item.status === 'Geaccepteerd';
    const settled = before.filter((i) => i.statusFinal && i.approvedForPayment === accepted(i));
    expect(settled).toHaveLength(before.length);
    expect(before.filter(accepted).length).toBeGreaterThan(before.length * 0.75);
    const [row] = await items('commissions', ordered, ordered);
    expect(row).toMatchObject({ commissionOpen: '0', revenueOpenExclVat: '0' });
  });

  test('changes nothing within a day', async () => {
    const { sandbox, report } = await openSandbox();
    const morning = await report('orders', FROM, '2026-06-09');
    sandbox.setNow(NOON + 11 * 3_600_000);
    const night = await report('orders', FROM, '2026-06-09');
    expect(night.body.equals(morning.body)).toBe(true);
  });
});

test('every answer dates itself by the clock of the sandbox', async () => {
  const { call } = await openSandbox();
  const reply = await call(reportPath('orders', FROM, FROM));
  expect(reply.headers.date).toBe(new Date(NOON).toUTCString());
  expect(reply.headers['content-type']).toBe('application/json');
});
