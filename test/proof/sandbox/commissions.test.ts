import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { catalogueOf } from '../../../src/sandbox/catalogue/catalogue.ts';
import { type Client, exact, media, openSandbox, type Reply, retailer } from './client.ts';

const { products } = catalogueOf(1);
const EAN = products[0]!.ean;
const UNKNOWN_EAN = '8712626055143';

describe('a commission', () => {
  const bulk = (client: Client, queries: unknown, version = 10) =>
    retailer(
      client,
      '/retailer/commission',
      { method: 'POST', body: JSON.stringify({ commissionQueries: queries }) },
      version,
    );
  const commissionsOf = (reply: Reply) => (exact(reply.text) as { commissions: Record<string, string>[] }).commissions;

  test('is said for a price, whose name hangs on the version', async () => {
    const client = await openSandbox();
    const newer = await retailer(client, `/retailer/commission/${EAN}?unit-price=24.5&condition=GOOD`);
    expect(newer.headers['content-type']).toBe(media(10));
    expect(exact(newer.text)).toMatchObject({ ean: EAN, condition: 'GOOD', unitPrice: '24.5' });
    const older = await retailer(client, `/retailer/commission/${EAN}?price=24.5`, {}, 3);
    expect(exact(older.text)).toMatchObject({ ean: EAN, condition: 'NEW', price: '24.5' });
  });

  test('without a price has neither price nor total', async () => {
    const client = await openSandbox();
    const commission = exact((await retailer(client, `/retailer/commission/${EAN}`)).text) as object;
    expect(Object.keys(commission).slice(0, 4)).toEqual(['ean', 'condition', 'fixedAmount', 'percentage']);
  });

  test('comes singly as it comes in bulk, in the order of the questions', async () => {
    const client = await openSandbox();
    const eans = products
      .slice(0, 100)
      .map((product) => product.ean)
      .reverse();
    const reply = await bulk(
      client,
      eans.map((ean) => ({ ean, condition: 'NEW', unitPrice: 12.34 })),
    );
    expect(reply.status).toBe(200);
    const commissions = commissionsOf(reply);
    expect(commissions.map((commission) => commission.ean)).toEqual(eans);
    const single = await retailer(client, `/retailer/commission/${eans[7]}?unit-price=12.34`);
    expect(exact(single.text)).toEqual(commissions[7]);
  });

  test('has reductions for some EANs, which lower the total up to their price', async () => {
    const client = await openSandbox();
    const queries = products.slice(0, 100).flatMap(({ ean }) => [
      { ean, condition: 'NEW', unitPrice: 5 },
      { ean, condition: 'NEW', unitPrice: 5000 },
    ]);
    const all = [];
    for (const half of [queries.slice(0, 100), queries.slice(100)])
      all.push(...commissionsOf(await bulk(client, half)));
    const withReductions = all.filter((commission) => 'reductions' in commission);
    expect(withReductions.length).toBeGreaterThan(10);
    expect(withReductions.length).toBeLessThan(100);
    for (const commission of all) {
      const reduced = 'totalCostWithoutReduction' in commission;
      expect(reduced).toBe('reductions' in commission && commission.unitPrice === '5');
      if (!reduced) continue;
      expect(Number(commission.totalCost)).toBeLessThan(Number(commission.totalCostWithoutReduction));
    }
  });

  const valid = { ean: EAN, condition: 'NEW', unitPrice: 5 };
  test.each([
    ['an EAN that is none', [valid, { ...valid, ean: '0' }], 'ean'],
    ['an unknown EAN', [{ ...valid, ean: UNKNOWN_EAN }], 'ean'],
    ['an unknown condition', [{ ...valid, condition: 'OLD' }], 'condition'],
    ['a price with three decimals', [{ ...valid, unitPrice: 1.234 }], 'unitPrice'],
    ['a price below nothing', [{ ...valid, unitPrice: -1 }], 'unitPrice'],
    ['no question', [], 'commissionQueries'],
    ['101 questions', Array(101).fill(valid), 'commissionQueries'],
    ['no list', 'x', 'commissionQueries'],
  ])('in bulk is refused for %s', async (_, queries, name) => {
    const reply = await bulk(await openSandbox(), queries);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text)).toMatchObject({ status: 400, violations: [{ name, reason: expect.any(String) }] });
  });

  const INVALID = 'Request contains invalid value(s)';
  const NAMED = { name: 'ean', reason: `${INVALID}: '${UNKNOWN_EAN}'.` };
  const UNNAMED = { name: 'commissionQueries', reason: `${INVALID}.` };
  test.each([
    ['refuse', 400, { violations: [NAMED] }],
    ['refuse', 404, { detail: `No product with EAN ${UNKNOWN_EAN}.` }],
    ['refuse-unnamed', 400, { violations: [UNNAMED] }],
    ['refuse-unnamed', 404, { detail: 'Not Found' }],
  ] as const)('in bulk is refused for an unknown EAN, among others and alone: %s %d', async (as, status, reason) => {
    const client = await openSandbox({ unknownEan: as, unknownEanStatus: status });
    const unknown = { ...valid, ean: UNKNOWN_EAN };
    for (const queries of [[valid, unknown, valid], [unknown]]) {
      const reply = await bulk(client, queries);
      expect([reply.status, JSON.parse(reply.text)]).toEqual([status, expect.objectContaining({ status, ...reason })]);
      expect(reply.text.includes(UNKNOWN_EAN)).toBe(as === 'refuse');
    }
    expect((await bulk(client, [valid])).status).toBe(200);
  });

  test('in bulk comes to another end for an unknown EAN after a change', async () => {
    const client = await openSandbox();
    const statuses = [];
    for (const change of [{ as: 'leave-out' }, { as: 'refuse', status: 404 }, { status: 400 }] as const) {
      client.sandbox.change({ kind: 'unknown-ean', ...change });
      statuses.push((await bulk(client, [valid, { ...valid, ean: UNKNOWN_EAN }])).status);
    }
    expect(statuses).toEqual([200, 404, 400]);
  });

  test('in bulk names what is no question whatever unknown EANs come to', async () => {
    const client = await openSandbox({ unknownEan: 'leave-out', unknownEanStatus: 404 });
    const reply = await bulk(client, [
      { ...valid, ean: UNKNOWN_EAN },
      { ...valid, condition: 'OLD' },
    ]);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text).violations).toEqual([{ name: 'condition', reason: `${INVALID}: 'OLD'.` }]);
  });

  test('is as the truth says, with and without a price, for catalogue and series', async () => {
    const client = await openSandbox({ seriesLength: 300 });
    const eans = [...client.sandbox.eans(60), ...client.sandbox.eans(4300).slice(-40)];
    for (const price of ['12.34', null]) {
      const queries = eans.map((ean) => ({ ean, condition: 'GOOD', ...(price && { unitPrice: Number(price) }) }));
      const truth = eans.map((ean) => client.sandbox.truthOfCommission(ean, 'GOOD', price));
      expect(commissionsOf(await bulk(client, queries))).toEqual(truth);
    }
    expect(client.sandbox.truthOfCommission(UNKNOWN_EAN, 'NEW', null)).toBeUndefined();
    expect(() => client.sandbox.truthOfCommission(EAN, 'NEW', '1.234')).toThrow(
      expect.objectContaining({ kind: 'usage', code: 'bad_control' }),
    );
  });

  test('comes as gzip when that is asked for and the answer is long', async () => {
    const client = await openSandbox();
    const eans = client.sandbox.eans(100);
    const body = JSON.stringify({ commissionQueries: eans.map((ean) => ({ ean })) });
    const headers = { 'accept-encoding': 'gzip' };
    const reply = await retailer(client, '/retailer/commission', { method: 'POST', headers, body });
    expect(reply.headers['content-encoding']).toBe('gzip');
    expect(JSON.parse(gunzipSync(reply.body).toString()).commissions).toHaveLength(100);
    const single = await retailer(client, `/retailer/commission/${EAN}`, { headers });
    expect(single.headers['content-encoding']).toBeUndefined();
  });

  test('in bulk leaves an unknown EAN out where that is set', async () => {
    const client = await openSandbox({ unknownEan: 'leave-out' });
    const reply = await bulk(client, [{ ...valid, ean: UNKNOWN_EAN }, valid]);
    expect(commissionsOf(reply).map((commission) => commission.ean)).toEqual([EAN]);
  });

  test.each([
    [`/retailer/commission/${UNKNOWN_EAN}`, 404],
    ['/retailer/commission/0', 400],
    [`/retailer/commission/${EAN}?condition=OLD`, 400],
    [`/retailer/commission/${EAN}?unit-price=1,5`, 400],
  ])('%s is refused', async (path, status) => {
    expect((await retailer(await openSandbox(), path)).status).toBe(status);
  });

  test('is refused in a media type that there is not', async () => {
    const { call } = await openSandbox();
    const path = `/retailer/commission/${EAN}`;
    for (const accept of ['application/json', media(2), media(11), 'application/vnd.retailer.v10+csv'])
      expect((await call(path, { headers: { accept } })).status).toBe(406);
    const headers = { accept: media(10), 'content-type': 'application/json' };
    expect((await call('/retailer/commission', { method: 'POST', headers, body: '{}' })).status).toBe(415);
  });
});
