import { describe, expect, test } from 'vitest';
import type { Fault } from '../../../src/sandbox/sandbox.ts';
import { type Client, exact, openSandbox, type Reply, retailer } from './client.ts';

const EANS = 4;

/** A fault of a bulk commission call, without its aim. */
type Struck = Omit<Fault, 'endpoint'> & Record<string, unknown>;
type Answer = { commissions: (Record<string, unknown> | null | string)[] };

const bulk = (client: Client, eans: readonly string[]): Promise<Reply> => {
  const body = JSON.stringify({ commissionQueries: eans.map((ean) => ({ ean, unitPrice: 20 })) });
  return retailer(client, '/retailer/commission', { method: 'POST', body });
};

const productPath = (ean: string) => `/marketing/catalog/v1/products/${ean}?country-code=NL&include-offer=true`;

/** The first four EANs, their sound answer, and the answer under the faults. */
async function under(...faults: readonly Struck[]) {
  const client = await openSandbox();
  const eans = client.sandbox.eans(EANS);
  const sound = await bulk(client, eans);
  for (const fault of faults) client.sandbox.addFault({ endpoint: 'commission-bulk', ...fault } as Fault);
  const struck = await bulk(client, eans);
  return { client, eans, sound, struck };
}

const recordsOf = (reply: Reply) => (exact(reply.text) as Answer).commissions;

describe('of the records of a bulk answer', () => {
  test('one is left out', async () => {
    const { sound, struck } = await under({ kind: 'left-out', item: 1 });
    expect(recordsOf(struck)).toEqual(recordsOf(sound).toSpliced(1, 1));
  });

  test('all are left out', async () => {
    const { struck } = await under({ kind: 'left-out', item: 'all' });
    expect(struck.text).toBe('{"commissions":[]}');
  });

  test('one comes twice, equal', async () => {
    const { sound, struck } = await under({ kind: 'duplicate', item: 1 });
    const records = recordsOf(sound);
    expect(recordsOf(struck)).toEqual(records.toSpliced(1, 0, records[1]!));
  });

  test('one comes twice, first with another percentage', async () => {
    const { sound, struck } = await under({ kind: 'conflicting-duplicate', item: 1 });
    const records = recordsOf(sound);
    const other = { ...(records[1] as object), percentage: '0.01' };
    expect(recordsOf(struck)).toEqual(records.toSpliced(1, 0, other));
  });

  test('one is of an EAN that was not asked for', async () => {
    const { eans, sound, struck } = await under({ kind: 'unasked' });
    const [extra, ...others] = recordsOf(struck) as Record<string, string>[];
    expect(others).toEqual(recordsOf(sound));
    expect(extra?.ean).toMatch(/^\d{13}$/);
    expect(eans).not.toContain(extra?.ean);
  });

  test.each([
    ['a number as text', { kind: 'number-as-text' }, /"percentage":"[\d.]+"/],
    ['a field that nobody knows', { kind: 'unknown-field', field: 'vat', json: '[1]' }, /"vat":\[1\]\}/],
    ['an amount that is no number', { kind: 'raw-value', field: 'totalCost', json: '"n/a"' }, /"totalCost":"n\/a"/],
    ['an amount that is an object', { kind: 'raw-value', field: 'totalCost', json: '{}' }, /"totalCost":\{\}/],
    ['no EAN', { kind: 'missing-field' }, /\[\{"condition"/],
    ['nothing but null', { kind: 'null-item', as: 'instead' }, /\[null,\{/],
    ['an amount of many decimals', { kind: 'many-decimals', field: 'totalCost' }, /"totalCost":\d+\.\d{8}\b/],
    ['a NUL', { kind: 'nul-escape' }, /"condition":"NEW\\u0000"/],
  ])('the first has %s', async (_, fault, pattern) => {
    const { sound, struck } = await under(fault as Struck);
    expect(struck.text).toMatch(pattern);
    expect(recordsOf(struck).slice(-EANS + 1)).toEqual(recordsOf(sound).slice(1));
  });

  test('one has bytes that are no UTF-8', async () => {
    const { struck } = await under({ kind: 'invalid-utf8' });
    expect(struck.body.includes(0xff)).toBe(true);
  });

  test('several are struck at once, and the next call meets none of it', async () => {
    const { client, eans, sound, struck } = await under(
      { kind: 'left-out', item: 0 },
      { kind: 'duplicate', item: 2 },
      { kind: 'unknown-field', item: 3 },
    );
    expect(recordsOf(struck).map((record) => (record as { ean: string }).ean)).toEqual(
      [1, 2, 2, 3].map((at) => eans[at]),
    );
    expect((await bulk(client, eans)).text).toBe(sound.text);
  });
});

describe('the frame of a bulk answer', () => {
  const list = (text: string) => text.slice('{"commissions":'.length, -1);
  test.each([
    ['array', list],
    ['no-items', () => '{}'],
    ['null-items', () => '{"commissions":null}'],
    ['text-items', () => '{"commissions":"none"}'],
    ['empty', () => ''],
    ['trailing-text', (text: string) => `${text}\nOK`],
    ['second-document', (text: string) => `${text}{"commissions":[]}`],
    ['trailing-comma', (text: string) => `${text.slice(0, -2)},]}`],
  ])('is wrong: %s', async (shape, expected) => {
    const { sound, struck } = await under({ kind: 'shape', shape });
    expect([struck.status, struck.text]).toEqual([200, expected(sound.text)]);
  });

  test('is cut in the middle', async () => {
    const { sound, struck } = await under({ kind: 'truncate', bytes: 100 });
    expect([struck.status, struck.broken, struck.text]).toEqual([200, false, sound.text.slice(0, 100)]);
  });

  test('is a page of HTML', async () => {
    const { struck } = await under({ kind: 'html' });
    expect([struck.status, struck.headers['content-type']]).toEqual([200, 'text/html; charset=UTF-8']);
  });
});

describe('a fault that is aimed at an EAN', () => {
  test('waits for a call that asks for it, and strikes its records wherever they stand', async () => {
    const client = await openSandbox();
    const [a, b, c] = client.sandbox.eans(3) as [string, string, string];
    client.sandbox.addFault({ endpoint: 'commission-bulk', kind: 'left-out', ean: b });
    client.sandbox.addFault({ endpoint: 'commission-bulk', kind: 'status', status: 503, ean: c });
    const said = async (eans: string[]) => {
      const reply = await bulk(client, eans);
      return reply.status === 200 ? recordsOf(reply).map((record) => (record as { ean: string }).ean) : reply.status;
    };
    expect(await said([a])).toEqual([a]);
    expect(await said([a, b, a, b])).toEqual([a, a]);
    expect(await said([c])).toBe(503);
    expect(await said([a, b, c])).toEqual([a, b, c]);
  });

  test('strikes single calls too', async () => {
    const client = await openSandbox();
    const [a, b] = client.sandbox.eans(2) as [string, string];
    client.sandbox.addFault({ endpoint: 'commission', kind: 'unasked', otherEan: a, ean: b });
    const said = [];
    for (const ean of [a, b, b]) {
      const reply = await retailer(client, `/retailer/commission/${ean}`);
      said.push((exact(reply.text) as { ean: string }).ean);
    }
    expect(said).toEqual([a, a, b]);
  });
});

describe('a look-up of one EAN', () => {
  test.each([
    ['array', (text: string) => `[${text}]`],
    ['no-items', () => '{}'],
    ['null-items', () => 'null'],
    ['text-items', () => '"none"'],
    ['empty', () => ''],
    ['trailing-text', (text: string) => `${text}\nOK`],
    ['second-document', (text: string) => `${text}{}`],
    ['trailing-comma', (text: string) => `${text.slice(0, -1)},}`],
  ] as const)('has the wrong frame %s', async (shape, expected) => {
    const client = await openSandbox();
    const ean = client.sandbox.eans(4).find((one) => client.sandbox.truthOfProduct(one, 'NL', 'nl'))!;
    const ask = { commission: `/retailer/commission/${ean}`, product: productPath(ean) };
    for (const endpoint of ['commission', 'product'] as const) {
      const sound = await retailer(client, ask[endpoint]);
      client.sandbox.addFault({ endpoint, kind: 'shape', shape });
      const struck = await retailer(client, ask[endpoint]);
      expect([struck.status, struck.text]).toEqual([200, expected(sound.text)]);
    }
  });

  test.each([
    ['a number as text', { kind: 'number-as-text', field: 'price' }, /"price":"[\d.]+"/],
    ['an unknown field', { kind: 'unknown-field' }, /,"surprise":"new"\}$/],
    ['a price that is no number', { kind: 'raw-value', field: 'price', json: '"free"' }, /"price":"free"/],
    ['no EAN', { kind: 'missing-field' }, /^\{"bolProductId"/],
    ['another EAN', { kind: 'unasked', otherEan: '0000000000017' }, /^\{"ean":"0000000000017"/],
    ['no record', { kind: 'null-item' }, /^null$/],
    ['a text in which half a character stands', { kind: 'lone-surrogate' }, /"title":"[^}]*\\ud800"/],
  ])('has %s', async (_, fault, pattern) => {
    const client = await openSandbox();
    const ean = client.sandbox.eans(4).find((one) => client.sandbox.truthOfProduct(one, 'NL', 'nl'))!;
    client.sandbox.addFault({ endpoint: 'product', ...fault } as Fault);
    expect((await client.call(productPath(ean))).text).toMatch(pattern);
  });
});

test.each([
  [{ endpoint: 'commission', kind: 'left-out' }],
  [{ endpoint: 'product', kind: 'duplicate' }],
  [{ endpoint: 'commission', kind: 'conflicting-duplicate' }],
  [{ endpoint: 'commission-bulk', kind: 'other-day', day: '2026-06-01' }],
  [{ endpoint: 'orders', kind: 'unasked' }],
  [{ endpoint: 'orders', kind: 'null-item', ean: '0000000000017' }],
  [{ endpoint: 'commission-bulk', kind: 'left-out', ean: '123' }],
  [{ endpoint: 'commission-bulk', kind: 'shape', shape: 'round' }],
])('a fault that could never strike is refused: %j', async (fault) => {
  const { sandbox } = await openSandbox();
  expect(() => sandbox.addFault(fault as never)).toThrow(
    expect.objectContaining({ kind: 'usage', code: 'bad_fault', hint: expect.any(String) }),
  );
});
