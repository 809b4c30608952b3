import { describe, expect, test } from 'vitest';
import { type Change, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { ask, type Client, cents, firstDifference, type Item, NOON, openSandbox } from './client.ts';

const DAY = '2026-06-01';
const NEXT = '2026-06-02';
const REPORTS = ['promotions', 'orders', 'commissions'] as const;

const nameOf = (item: Item | undefined) => ({
  orderId: String(item?.orderId),
  orderItemId: String(item?.orderItemId),
});

/** Changes the world, and proves that answer and truth are still the same over both days. */
async function change(client: Client, ...changes: Change[]): Promise<void> {
  for (const one of changes) client.sandbox.change(one);
  for (const report of REPORTS) {
    const answered = await client.items(report, DAY, NEXT);
    expect(firstDifference(answered, client.truth(report, DAY, NEXT))).toBeUndefined();
  }
}

const total = (items: readonly Item[], field: string) => items.reduce((sum, item) => sum + cents(item[field]), 0n);

describe('a day', () => {
  test.each(REPORTS)('of %s can be emptied alone', async (report) => {
    const client = await openSandbox();
    const before = new Map<string, Item[]>();
    for (const name of REPORTS) before.set(name, await client.items(name, DAY, DAY));
    await change(client, { kind: 'empty-day', report, day: DAY as never });
    for (const name of REPORTS) {
      const expected = name === report ? [] : before.get(name)!;
      expect(firstDifference(await client.items(name, DAY, DAY), expected)).toBeUndefined();
    }
    expect(await client.items(report, NEXT, NEXT)).not.toEqual([]);
  });

  test('can be emptied in all reports at once', async () => {
    const client = await openSandbox();
    await change(client, { kind: 'empty-day', report: 'all', day: DAY as never });
    for (const name of REPORTS) expect(await client.items(name, DAY, DAY)).toEqual([]);
  });

  test('can shrink to its first rows, and grow again', async () => {
    const client = await openSandbox();
    const before = await client.items('orders', DAY, DAY);
    await change(client, { kind: 'shrink-day', report: 'orders', day: DAY as never, items: 5 });
    expect(await client.items('orders', DAY, DAY)).toEqual(before.slice(0, 5));
    await change(client, { kind: 'shrink-day', report: 'orders', day: DAY as never, items: 1_000_000 });
    expect(await client.items('orders', DAY, DAY)).toEqual(before);
  });

  test('that shrinks in all reports still tells one story', async () => {
    const client = await openSandbox();
    await change(client, { kind: 'shrink-day', report: 'all', day: DAY as never, items: 5 });
    const orders = await client.items('orders', DAY, DAY);
    expect(orders).toHaveLength(5);
    const commission = total(orders, 'commission');
    expect(total(await client.items('commissions', DAY, DAY), 'commissionOriginal')).toBe(commission);
    expect(total(await client.items('promotions', DAY, DAY), 'commission')).toBe(commission);
  });
});

describe('an item', () => {
  test('moves to another day in all reports, and home again', async () => {
    const client = await openSandbox();
    const [home, away] = [await client.items('orders', DAY, DAY), await client.items('orders', NEXT, NEXT)];
    const moved = home[3]!;
    await change(client, { kind: 'move-item', ...nameOf(moved), toDay: NEXT as never });
    expect(await client.items('orders', DAY, DAY)).toEqual(home.toSpliced(3, 1));
    const shown = { ...moved, orderDate: NEXT, orderDateTime: String(moved.orderDateTime).replace(DAY, NEXT) };
    expect((await client.items('orders', NEXT, NEXT)).map(identity)).toEqual([...away, shown].map(identity));
    const commission = total([...away, moved], 'commission');
    expect(total(await client.items('commissions', NEXT, NEXT), 'commissionOriginal')).toBe(commission);
    expect(total(await client.items('promotions', NEXT, NEXT), 'commission')).toBe(commission);
    await change(client, { kind: 'move-item', ...nameOf(moved), toDay: DAY as never });
    expect(await client.items('orders', DAY, DAY)).toEqual(home);
    expect(await client.items('orders', NEXT, NEXT)).toEqual(away);
  });

  test('that moves twice is shown once', async () => {
    const client = await openSandbox();
    const [moved] = await client.items('orders', DAY, DAY);
    for (const toDay of [NEXT, '2026-06-03', '2026-05-30'])
      await change(client, { kind: 'move-item', ...nameOf(moved), toDay: toDay as never });
    const shown = (await client.items('orders', '2026-05-20', '2026-06-10')).filter(
      (item) => item.orderItemId === moved?.orderItemId,
    );
    expect(shown.map((item) => item.orderDate)).toEqual(['2026-05-30']);
  });

  test('vanishes', async () => {
    const client = await openSandbox();
    const before = await client.items('orders', DAY, DAY);
    await change(client, { kind: 'vanish-item', ...nameOf(before[2]) });
    expect(await client.items('orders', DAY, DAY)).toEqual(before.toSpliced(2, 1));
    const left = total(before.toSpliced(2, 1), 'commission');
    expect(total(await client.items('commissions', DAY, DAY), 'commissionOriginal')).toBe(left);
  });

  test('gets another price, and with it another commission', async () => {
    const client = await openSandbox();
    const before = await client.items('orders', DAY, DAY);
    const values = { priceExclVat: '100', priceInclVat: '121', quantity: 2, commissionPercentage: '7.25' };
    await change(client, { kind: 'restate-item', ...nameOf(before[0]), values });
    const [item] = await client.items('orders', DAY, DAY);
    expect(item).toEqual({ ...before[0], ...values, quantity: '2', commission: '14.5' });
  });

  test('gets a commission and a state of its own, one change after the other', async () => {
    const client = await openSandbox();
    const before = await client.items('orders', DAY, DAY);
    const restate = (values: object): Change => ({ kind: 'restate-item', ...nameOf(before[0]), values });
    await change(client, restate({ commission: '-1.05' }));
    await change(client, restate({ status: 'In behandeling', statusFinal: true, productTitle: 'Né "x"' }));
    const expected = { commission: '-1.05', status: 'In behandeling', statusFinal: true, productTitle: 'Né "x"' };
    expect((await client.items('orders', DAY, DAY))[0]).toEqual({ ...before[0], ...expected });
    await change(client, { kind: 'move-item', ...nameOf(before[0]), toDay: NEXT as never });
    expect((await client.items('orders', NEXT, NEXT)).at(-1)).toMatchObject(expected);
  });
});

test('a field that is added stands in every row and in the truth', async () => {
  const client = await openSandbox();
  await change(client, { kind: 'add-field', report: 'orders', field: 'margin', value: 'één "nieuw" veld' });
  await change(client, { kind: 'add-field', report: 'commissions', field: 'final', value: false });
  await change(client, { kind: 'add-field', report: 'orders', field: 'weight', value: 3 });
  const rows = await client.items('orders', DAY, DAY);
  expect(rows.every((row) => row.margin === 'één "nieuw" veld' && row.weight === '3')).toBe(true);
  expect((await client.items('commissions', DAY, DAY)).every((row) => row.final === false)).toBe(true);
  await change(client, { kind: 'add-field', report: 'orders', field: 'long', value: 'é'.repeat(5_000) });
});

test.each([
  [{ kind: 'nonsense' }],
  [{ kind: 'empty-day', report: 'nothing', day: DAY }],
  [{ kind: 'empty-day', report: 'orders', day: '1 June' }],
  [{ kind: 'shrink-day', report: 'orders', day: DAY, items: 1.5 }],
  [{ kind: 'vanish-item', orderId: 'x', orderItemId: 'y' }],
  [{ kind: 'vanish-item', orderId: '206050000000', orderItemId: '72060599999991' }],
  [{ kind: 'move-item', orderId: '206050000000', orderItemId: '72060500000001', toDay: 'never' }],
  [{ kind: 'restate-item', orderId: '206050000000', orderItemId: '72060500000001', values: { commission: '1e3' } }],
  [{ kind: 'add-field', report: 'all', field: 'x', value: 1 }],
  [{ kind: 'next-process', status: 'SUCCESS' }],
])('an impossible change is refused: %j', async (impossible) => {
  const { sandbox } = await openSandbox();
  expect(() => sandbox.change(impossible as never)).toThrow(
    expect.objectContaining({ kind: 'usage', code: 'bad_change' }),
  );
});

describe('over HTTP', () => {
  const post = (client: Client, path: string, value: unknown) =>
    ask(`${client.sandbox.baseUrl}/sandbox/${path}`, { method: 'POST', body: JSON.stringify(value) });
  const get = (client: Client, path: string) => ask(`${client.sandbox.baseUrl}/sandbox/${path}`);

  test('faults are added, singly or as a list, and cleared', async () => {
    const client = await openSandbox();
    const fault = { endpoint: 'orders', kind: 'status', status: 503 };
    expect((await post(client, 'faults', [fault, fault])).status).toBe(204);
    expect((await post(client, 'faults', fault)).status).toBe(204);
    expect((await client.report('orders', DAY, DAY)).status).toBe(503);
    expect((await ask(`${client.sandbox.baseUrl}/sandbox/faults`, { method: 'DELETE' })).status).toBe(204);
    expect((await client.report('orders', DAY, DAY)).status).toBe(200);
  });

  test('the world is changed, and its clock set', async () => {
    const client = await openSandbox();
    await post(client, 'changes', { kind: 'empty-day', report: 'orders', day: DAY });
    expect(await client.items('orders', DAY, DAY)).toEqual([]);
    await post(client, 'clock', { now: '2026-06-10T12:00:00Z' });
    const reply = await client.report('orders', DAY, DAY);
    expect(reply.headers.date).toBe('Wed, 10 Jun 2026 12:00:00 GMT');
    await post(client, 'clock', { now: NOON });
    expect((await client.report('orders', DAY, DAY)).headers.date).toBe(new Date(NOON).toUTCString());
  });

  test('counts and the truth are said', async () => {
    const client = await openSandbox();
    await client.report('orders', DAY, DAY);
    expect(JSON.parse((await get(client, 'stats')).text)).toEqual({
      calls: { token: 1, orders: 1 },
      tokenRequests: 1,
      statuses: { 200: 2 },
      overBudget: {},
      failures: [],
    });
    const lines = (await get(client, `truth?report=orders&from=${DAY}&to=${DAY}`)).text.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      ...client.sandbox.truth('orders', DAY as never, DAY as never),
    ]);
  });

  test.each([
    ['faults', { kind: 'nonsense' }, 'bad_fault'],
    ['changes', { kind: 'nonsense' }, 'bad_change'],
    ['clock', { now: 'tomorrow' }, 'bad_control'],
    ['faults', 'text', 'bad_control'],
  ])('what cannot be is refused with its reason: %s %j', async (path, value, code) => {
    const client = await openSandbox();
    const reply = await post(client, path, value);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text)).toMatchObject({ code, error: expect.any(String) });
  });

  test.each(['truth?report=x&from=2026-06-01&to=2026-06-01', 'truth?report=orders&from=x&to=2026-06-01'])(
    '%s is refused',
    async (path) => {
      expect((await get(await openSandbox(), path)).status).toBe(400);
    },
  );

  test('what there is not is not found', async () => {
    expect((await get(await openSandbox(), 'nothing')).status).toBe(404);
  });
});

describe('starting', () => {
  test.each([
    [{ ordersPerDay: 0 }],
    [{ ordersPerDay: 2_000_000 }],
    [{ ordersPerDay: Number.NaN }],
    [{ unknownEan: 'shrug' }],
    [{ unknownEanStatus: 500 }],
    [{ seriesLength: -1 }],
    [{ seriesLength: 1e9 }],
  ])('with %j is refused', async (options) => {
    await expect(openSandbox(options as never)).rejects.toMatchObject({ kind: 'usage', code: 'bad_sandbox' });
  });

  test('on a port that is taken is refused', async () => {
    const { sandbox } = await openSandbox();
    const port = Number(new URL(sandbox.baseUrl).port);
    const second = startSandbox({ seed: 1, ordersPerDay: 60, now: () => NOON, port });
    await expect(second).rejects.toMatchObject({ kind: 'usage', code: 'port_taken' });
  });
});

/** What a moved item keeps; its state may differ from that of a neighbour of the same day. */
function identity(item: Item): unknown {
  return [item.orderDate, item.orderDateTime, item.orderItemId, item.commission, item.status];
}
