import { describe, expect, test } from 'vitest';
import type { CommissionTruth } from '../../../src/sandbox/sandbox.ts';
import { ask, type Client, DAY_MS, exact, NOON, openSandbox, retailer } from './client.ts';

const UNKNOWN_EAN = '8712626055143';
const TODAY = '2026-06-10';
const REDUCTION = { maximumPrice: '25.99', costReduction: '0.92', startDate: '2026-06-10', endDate: '2026-06-12' };

/** The answer about an EAN at 20 euro, which must be what the truth says. */
async function commission(client: Client, ean: string): Promise<CommissionTruth | undefined> {
  const reply = await retailer(client, `/retailer/commission/${ean}?unit-price=20`);
  const said = reply.status === 404 ? undefined : (exact(reply.text) as CommissionTruth);
  expect(said).toEqual(client.sandbox.truthOfCommission(ean, 'NEW', '20'));
  return said;
}

/** The answer about a product in the Netherlands with all its parts, which must be what the truth says. */
async function product(client: Client, ean: string, country = 'NL') {
  const parts = ['specifications', 'image', 'offer', 'rating'].map((part) => `&include-${part}=true`).join('');
  const reply = await client.call(`/marketing/catalog/v1/products/${ean}?country-code=${country}${parts}`);
  const truth = client.sandbox.truthOfProduct(ean, country, 'nl');
  expect([200, 404]).toContain(reply.status);
  if (reply.status === 404) expect(truth).toBeUndefined();
  else expect(exact(reply.text)).toEqual(exact(JSON.stringify(truth)));
  return truth as Record<string, never> | undefined;
}

const offeredEan = ({ sandbox }: Client) => sandbox.eans(10).find((ean) => sandbox.truthOfProduct(ean, 'NL', 'nl'))!;

describe('an EAN', () => {
  test('gets another rate, a part at a time, and others keep theirs', async () => {
    const client = await openSandbox();
    const [ean, other] = client.sandbox.eans(2) as [string, string];
    const before = await commission(client, other);
    client.sandbox.change({ kind: 'commission-reductions', ean, reductions: [] });
    client.sandbox.change({ kind: 'commission-rate', ean, fixedAmount: '1.25' });
    client.sandbox.change({ kind: 'commission-rate', ean, percentage: '12.5' });
    expect(await commission(client, ean)).toMatchObject({ fixedAmount: '1.25', percentage: '12.5', totalCost: '3.75' });
    expect(await commission(client, other)).toEqual(before);
  });

  test('gets a reduction, loses it, and gets that of its campaign again', async () => {
    const client = await openSandbox();
    const [ean] = client.sandbox.eans(1) as [string];
    const before = await commission(client, ean);
    client.sandbox.change({ kind: 'commission-rate', ean, fixedAmount: '1', percentage: '10' });
    client.sandbox.change({ kind: 'commission-reductions', ean, reductions: [REDUCTION] });
    const reduced = { totalCost: '2.08', totalCostWithoutReduction: '3', reductions: [REDUCTION] };
    expect(await commission(client, ean)).toMatchObject(reduced);
    client.sandbox.setNow(NOON + 3 * DAY_MS);
    expect((await commission(client, ean))?.reductions).toBeUndefined();
    client.sandbox.setNow(NOON);
    client.sandbox.change({ kind: 'commission-reductions', ean, reductions: [] });
    const none = await commission(client, ean);
    expect([none?.totalCost, none?.totalCostWithoutReduction, none?.reductions]).toEqual(['3', undefined, undefined]);
    client.sandbox.change({ kind: 'commission-reductions', ean, reductions: null });
    expect((await commission(client, ean))?.reductions).toEqual(before?.reductions);
  });

  test('is forgotten, and known again; one that nobody knew becomes known', async () => {
    const client = await openSandbox();
    const [ean] = client.sandbox.eans(1) as [string];
    const before = await commission(client, ean);
    client.sandbox.change({ kind: 'ean-known', ean, known: false });
    expect(await commission(client, ean)).toBeUndefined();
    client.sandbox.change({ kind: 'ean-known', ean, known: true });
    expect(await commission(client, ean)).toEqual(before);
    expect(await commission(client, UNKNOWN_EAN)).toBeUndefined();
    client.sandbox.change({ kind: 'ean-known', ean: UNKNOWN_EAN, known: true });
    expect(await commission(client, UNKNOWN_EAN)).toMatchObject({ ean: UNKNOWN_EAN });
  });
});

describe('a product', () => {
  test('gets another title and another offer', async () => {
    const client = await openSandbox();
    const ean = offeredEan(client);
    const before = await product(client, ean);
    const title = 'Nieuwe "titel" 🎁';
    client.sandbox.change({ kind: 'product', ean, title });
    client.sandbox.change({ kind: 'product', ean, price: '9.5', strikethroughPrice: '12' });
    client.sandbox.change({ kind: 'product', ean, deliveryDescription: 'Morgen' });
    const offer = { price: '9.5', strikethroughPrice: '12', deliveryDescription: 'Morgen' };
    const after = await product(client, ean);
    expect(after).toMatchObject({ title, offer, description: expect.stringContaining(title) });
    expect(after?.specificationGroups).toEqual(before?.specificationGroups);
    client.sandbox.change({ kind: 'product', ean, strikethroughPrice: null });
    expect((await product(client, ean))?.offer).toEqual({ price: '9.5', deliveryDescription: 'Morgen' });
  });

  test('is no longer offered in one country, and is again', async () => {
    const client = await openSandbox();
    const ean = offeredEan(client);
    const inBelgium = await product(client, ean, 'BE');
    client.sandbox.change({ kind: 'product-offered', ean, country: 'NL', offered: false });
    expect(await product(client, ean)).toBeUndefined();
    expect(await product(client, ean, 'BE')).toEqual(inBelgium);
    client.sandbox.change({ kind: 'product-offered', ean, country: 'NL', offered: true });
    expect(await product(client, ean)).toBeDefined();
  });
});

describe('the reductions file', () => {
  const CSV = { accept: 'application/vnd.retailer.v3+csv' };
  const NAMED = 'Verlaging_Bemiddelingsbijdrage_';

  /** Name and text as both calls tell them, which must be what the truth says. */
  async function said(client: Client) {
    const name = (await client.call('/retailer/reductions/latest', { headers: CSV })).text;
    const file = await client.call('/retailer/reductions', { headers: CSV });
    expect(file.headers['content-disposition']).toBe(`attachment; filename=${name}`);
    expect(client.sandbox.reductionsFile()).toEqual({ name, text: file.text });
    return { name, text: file.text };
  }

  test('gets a new name at another time of the day, with the same content', async () => {
    const client = await openSandbox({ seriesLength: 20 });
    const { text } = await said(client);
    const names = [];
    for (const name of [undefined, undefined, 'other.csv']) {
      client.sandbox.change({ kind: 'reductions-file', ...(name === undefined ? {} : { name }) });
      const file = await said(client);
      expect(file.text).toBe(text);
      names.push(file.name);
    }
    expect(names).toEqual([`${NAMED}10062026_1200.csv`, `${NAMED}10062026_1201.csv`, 'other.csv']);
    client.sandbox.setNow(NOON + DAY_MS);
    expect((await said(client)).name).toBe(`${NAMED}11062026_0005.csv`);
  });

  test('of the next day has other content, unless it is ordered with that of the day before', async () => {
    const client = await openSandbox();
    const before = await said(client);
    client.sandbox.setNow(NOON + DAY_MS);
    expect((await said(client)).text).not.toBe(before.text);
    client.sandbox.change({ kind: 'reductions-file', contentOf: TODAY as never });
    expect(await said(client)).toEqual({ name: `${NAMED}11062026_1200.csv`, text: before.text });
  });

  test('loses and gains lines under its name, and keeps them so under the next one', async () => {
    const client = await openSandbox({ seriesLength: 20 });
    const before = await said(client);
    const [header, ...lines] = before.text.trimEnd().split('\n');
    const [ean, maximumPrice, costReduction] = lines[1]!.split(',') as [string, string, string];
    const added = { ean: '0000000000055', ...REDUCTION };
    const remove = [{ ean, maximumPrice, costReduction }];
    client.sandbox.change({ kind: 'reductions-lines', remove, add: [added] });
    const expected = [header, ...lines.toSpliced(1, 1), '0000000000055,25.99,0.92,2026-06-10,2026-06-12', ''];
    const after = await said(client);
    expect(after).toEqual({ name: before.name, text: expected.join('\n') });
    client.sandbox.change({ kind: 'reductions-file' });
    expect((await said(client)).text).toBe(after.text);
    client.sandbox.change({ kind: 'reductions-lines', remove: [added] });
    expect((await said(client)).text).toBe(expected.toSpliced(-2, 1).join('\n'));
  });

  test('loses all lines of an EAN', async () => {
    const client = await openSandbox({ seriesLength: 20 });
    const eans = (text: string) => text.split('\n').map((line) => line.slice(0, 13));
    const before = eans((await said(client)).text);
    const twice = before.find((ean, at) => at > 0 && before[at + 1] === ean)!;
    client.sandbox.change({ kind: 'reductions-lines', remove: [{ ean: twice }] });
    expect(eans((await said(client)).text)).toEqual(before.filter((ean) => ean !== twice));
  });
});

test.each([
  [{ kind: 'commission-rate', ean: '123', percentage: '10' }],
  [{ kind: 'commission-rate', ean: UNKNOWN_EAN, percentage: '101' }],
  [{ kind: 'commission-rate', ean: UNKNOWN_EAN, fixedAmount: '-1' }],
  [{ kind: 'commission-reductions', ean: UNKNOWN_EAN, reductions: [{ ...REDUCTION, startDate: 'soon' }] }],
  [{ kind: 'commission-reductions', ean: UNKNOWN_EAN, reductions: [{ ...REDUCTION, costReduction: '1.234' }] }],
  [{ kind: 'unknown-ean', as: 'shrug' }],
  [{ kind: 'unknown-ean', status: 500 }],
  [{ kind: 'product', ean: UNKNOWN_EAN, title: 'x' }],
  [{ kind: 'product-offered', ean: UNKNOWN_EAN, country: 'NL', offered: false }],
  [{ kind: 'reductions-file', name: '../x' }],
  [{ kind: 'reductions-file', contentOf: 'yesterday' }],
  [{ kind: 'reductions-lines', remove: [{ ean: UNKNOWN_EAN }] }],
  [{ kind: 'reductions-lines', add: [{ ean: '123', ...REDUCTION }] }],
])('an impossible change is refused: %j', async (impossible) => {
  const { sandbox } = await openSandbox({ seriesLength: 5 });
  expect(() => sandbox.change(impossible as never)).toThrow(
    expect.objectContaining({ kind: 'usage', code: 'bad_change', hint: expect.any(String) }),
  );
});

test('a product is changed only within its countries and with amounts', async () => {
  const { sandbox } = await openSandbox();
  const [ean] = sandbox.eans(1) as [string];
  for (const change of [
    { kind: 'product-offered', ean, country: 'DE', offered: true },
    { kind: 'product', ean, price: 'free' },
  ])
    expect(() => sandbox.change(change as never)).toThrow(expect.objectContaining({ code: 'bad_change' }));
});

describe('the truth', () => {
  test('names the EANs of the catalogue, then those of the series, and no more than there are', async () => {
    const { sandbox } = await openSandbox({ seriesLength: 3 });
    expect(sandbox.eans()).toHaveLength(4000);
    expect(sandbox.eans(4003).slice(-3)).toEqual(['8720000000009', '8720000000016', '8720000000023']);
    for (const count of [4004, -1, 1.5])
      expect(() => sandbox.eans(count)).toThrow(expect.objectContaining({ kind: 'usage', code: 'bad_control' }));
    expect(() => sandbox.truthOfProduct(sandbox.eans(1)[0]!, 'DE', 'nl')).toThrow(
      expect.objectContaining({ kind: 'usage', code: 'bad_control' }),
    );
  });

  test('is said over HTTP', async () => {
    const { sandbox } = await openSandbox({ seriesLength: 3 });
    const get = async (path: string) => JSON.parse((await ask(`${sandbox.baseUrl}/sandbox/${path}`)).text);
    const ean = sandbox.eans(10).find((one) => sandbox.truthOfProduct(one, 'NL', 'fr'))!;
    expect(await get('eans')).toEqual(sandbox.eans());
    expect(await get('eans?count=4002')).toEqual(sandbox.eans(4002));
    expect(await get('eans?count=x')).toMatchObject({ code: 'bad_control' });
    expect(await get(`commission-truth?ean=${ean}&condition=GOOD&price=20`)).toEqual(
      sandbox.truthOfCommission(ean, 'GOOD', '20'),
    );
    expect(await get(`commission-truth?ean=${ean}`)).toEqual(sandbox.truthOfCommission(ean, 'NEW', null));
    expect(await get(`commission-truth?ean=${UNKNOWN_EAN}`)).toBeNull();
    expect(await get(`product-truth?ean=${ean}&country=NL&language=fr`)).toEqual(
      sandbox.truthOfProduct(ean, 'NL', 'fr'),
    );
    expect(await get(`product-truth?ean=${UNKNOWN_EAN}&country=NL&language=nl`)).toBeNull();
    expect(await get('reductions-file')).toEqual(sandbox.reductionsFile());
  });

  test('changes are ordered over HTTP too', async () => {
    const client = await openSandbox();
    const [ean] = client.sandbox.eans(1) as [string];
    const body = JSON.stringify([
      { kind: 'commission-rate', ean, percentage: '1' },
      { kind: 'unknown-ean', as: 'leave-out' },
    ]);
    expect((await ask(`${client.sandbox.baseUrl}/sandbox/changes`, { method: 'POST', body })).status).toBe(204);
    expect(await commission(client, ean)).toMatchObject({ percentage: '1' });
  });
});
