import { expect, test } from 'vitest';
import { NOON, openSandbox, reportPath } from './client.ts';

const CSV = { accept: 'application/vnd.retailer.v3+csv' };
const JSON_TYPE = { accept: 'application/vnd.retailer.v10+json' };
const LATEST = '/retailer/reductions/latest';

test('ten calls an hour for the name of the reductions file, then 429 with the seconds to wait', async () => {
  const { sandbox, call } = await openSandbox();
  const allowed = [];
  for (let i = 0; i < 10; i++) allowed.push(await call(LATEST, { headers: CSV }));
  expect(allowed.map((reply) => reply.status)).toEqual(Array(10).fill(200));
  expect(allowed.map((reply) => reply.headers['x-ratelimit-remaining'])).toEqual([...'9876543210']);
  expect(allowed[0]?.headers).toMatchObject({
    'x-ratelimit-limit': '10',
    'x-ratelimit-reset': String(NOON / 1000 + 3600),
  });
  sandbox.setNow(NOON + 60_500);
  const refused = await call(LATEST, { headers: CSV });
  expect(refused.status).toBe(429);
  expect(refused.headers['retry-after']).toBe('3540');
  expect(JSON.parse(refused.text)).toEqual({
    title: 'Too Many Requests',
    status: 429,
    detail: 'Too many requests, retry in 3540 seconds.',
  });
  expect((await call('/reductions', { headers: CSV })).status).toBe(200);
  sandbox.setNow(NOON + 3_600_000);
  expect((await call(LATEST, { headers: CSV })).status).toBe(200);
});

test('single and bulk commissions share 28 calls a second', async () => {
  const { sandbox, call } = await openSandbox();
  const single = () => call('/retailer/commission/8712626055143', { headers: JSON_TYPE });
  for (let i = 0; i < 27; i++) await single();
  const headers = { ...JSON_TYPE, 'content-type': JSON_TYPE.accept };
  const bulk = await call('/retailer/commission', { method: 'POST', headers, body: '{}' });
  expect([bulk.status, bulk.headers['x-ratelimit-remaining']]).toEqual([400, '0']);
  expect((await single()).status).toBe(429);
  sandbox.setNow(NOON + 1000);
  expect((await single()).status).toBe(404);
});

test('a raised commission budget is kept to the call, and calls over it are counted', async () => {
  const { sandbox, call, token } = await openSandbox({ limits: { calls: { commission: { calls: 200, seconds: 1 } } } });
  const { eans, stats } = sandbox;
  const [ean] = eans(1);
  await token();
  const replies = [];
  for (let i = 0; i < 203; i++) replies.push(call(`/retailer/commission/${ean}`, { headers: JSON_TYPE }));
  const statuses = (await Promise.all(replies)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 429)).toHaveLength(3);
  expect([stats.calls.commission, stats.overBudget]).toEqual([203, { commission: 3 }]);
  sandbox.addFault({ endpoint: 'commission', kind: 'status', status: 429 });
  sandbox.setNow(NOON + 1000);
  expect((await call(`/retailer/commission/${ean}`, { headers: JSON_TYPE })).status).toBe(429);
  expect(stats.overBudget).toEqual({ commission: 3 });
  stats.reset();
  expect(stats.overBudget).toEqual({});
});

test('budgets can be set', async () => {
  const { report } = await openSandbox({ limits: { calls: { reports: { calls: 2, seconds: 10 } } } });
  const statuses = [];
  for (const name of ['orders', 'promotions', 'commissions'] as const)
    statuses.push((await report(name, '2026-06-01', '2026-06-01')).status);
  expect(statuses).toEqual([200, 200, 429]);
});

test('calls are counted by endpoint and status, those that were refused too', async () => {
  const { sandbox, call } = await openSandbox();
  await call(reportPath('orders', '2026-06-01', '2026-06-01'));
  await call(reportPath('orders', 'x', 'y'));
  await call(reportPath('orders', 'x', 'y'), { headers: { authorization: 'Bearer no' } });
  await call('/nowhere');
  expect(sandbox.stats).toMatchObject({
    calls: { token: 1, orders: 3 },
    tokenRequests: 1,
    statuses: { 200: 2, 400: 1, 401: 1 },
  });
  sandbox.stats.reset();
  expect(sandbox.stats).toMatchObject({ calls: {}, tokenRequests: 0, statuses: {} });
});

test('a path that there is not is not found, and a method that there is not is not allowed', async () => {
  const client = await openSandbox();
  expect((await client.call('/retailer/orders')).status).toBe(404);
  expect((await client.call('/retailer/commission', { method: 'DELETE' })).status).toBe(405);
});

test('a body that no question needs is refused', async () => {
  const client = await openSandbox();
  const ask = { method: 'POST', body: 'x'.repeat(2_000_000) };
  expect((await client.call('/retailer/commission', ask)).status).toBe(413);
});
