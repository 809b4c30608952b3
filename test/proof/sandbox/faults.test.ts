import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Fault } from '../../../src/sandbox/sandbox.ts';
import { type Client, exact, type Item, openSandbox, type Reply, requestToken } from './client.ts';

const DAY = '2026-06-01';
const orders = (client: Client, headers: Record<string, string> = {}): Promise<Reply> =>
  client.report('orders', DAY, DAY, { headers });

/** The answer under one fault, and the one that it should have been. */
async function under(fault: Fault, headers: Record<string, string> = {}): Promise<{ sound: Reply; struck: Reply }> {
  const client = await openSandbox();
  const sound = await orders(client);
  client.sandbox.addFault(fault);
  return { sound, struck: await orders(client, headers) };
}

describe('instead of an answer', () => {
  test.each([
    [401, undefined, ''],
    [403, 'application/json', 'Account is not active'],
    [404, 'application/json', 'Not Found'],
    [429, 'application/json', 'Too many requests, retry in 4 seconds.'],
    [500, 'text/html; charset=UTF-8', 'Internal Server Error'],
    [503, 'text/html; charset=UTF-8', '<html>'],
    [418, 'application/json', 'Status 418'],
  ])('status %d', async (status, type, text) => {
    const { struck } = await under({ endpoint: 'orders', kind: 'status', status });
    expect([struck.status, struck.headers['content-type']]).toEqual([status, type]);
    expect(struck.text).toContain(text);
    expect(struck.headers['retry-after']).toBeUndefined();
  });

  test.each(['7', 'Wed, 10 Jun 2026 10:00:09 GMT'])('status 429 with Retry-After %s', async (retryAfter) => {
    const { struck } = await under({ endpoint: 'orders', kind: 'status', status: 429, retryAfter });
    expect(struck.headers['retry-after']).toBe(retryAfter);
  });

  test('HTML with status 200', async () => {
    const { struck } = await under({ endpoint: 'orders', kind: 'html' });
    expect([struck.status, struck.headers['content-type']]).toEqual([200, 'text/html; charset=UTF-8']);
  });

  test('something that is called JSON and is none', async () => {
    const { struck } = await under({ endpoint: 'orders', kind: 'garbage' });
    expect([struck.status, struck.headers['content-type']]).toEqual([200, 'application/json']);
    expect(() => JSON.parse(struck.text)).toThrow(SyntaxError);
  });

  test('a connection that is reset before the headers', async () => {
    const client = await openSandbox();
    client.sandbox.addFault({ endpoint: 'orders', kind: 'reset' });
    await expect(orders(client)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect((await orders(client)).status).toBe(200);
  });
});

describe('the token service', () => {
  test.each([401, 404, 500])('answers status %d', async (status) => {
    const { sandbox } = await openSandbox();
    sandbox.addFault({ endpoint: 'token', kind: 'status', status });
    expect((await requestToken(sandbox)).status).toBe(status);
    expect((await requestToken(sandbox)).status).toBe(200);
  });

  test('answers garbage', async () => {
    const { sandbox } = await openSandbox();
    sandbox.addFault({ endpoint: 'token', kind: 'garbage' });
    const reply = await requestToken(sandbox);
    expect(reply.status).toBe(200);
    expect(() => JSON.parse(reply.text)).toThrow(SyntaxError);
  });
});

describe('an answer that is sent badly', () => {
  test('breaks off after so many bytes', async () => {
    const { sound, struck } = await under({ endpoint: 'orders', kind: 'cut', bytes: 1000 });
    expect([struck.status, struck.broken]).toEqual([200, true]);
    expect(struck.text).toBe(sound.text.slice(0, struck.text.length));
    expect(struck.body.length).toBe(1000);
  });

  test('breaks off as gzip too', async () => {
    const fault: Fault = { endpoint: 'orders', kind: 'cut', bytes: 1000 };
    const { struck } = await under(fault, { 'accept-encoding': 'gzip' });
    expect(struck.broken).toBe(true);
    expect(() => gunzipSync(struck.body)).toThrow('unexpected end of file');
  });

  test('ends in good order although it is not whole', async () => {
    const { sound, struck } = await under({ endpoint: 'orders', kind: 'truncate', bytes: 2000 });
    expect(struck.broken).toBe(false);
    expect(struck.body.equals(sound.body.subarray(0, 2000))).toBe(true);
    const packed = await under({ endpoint: 'orders', kind: 'truncate', bytes: 2000 }, { 'accept-encoding': 'gzip' });
    expect(gunzipSync(packed.struck.body).equals(sound.body.subarray(0, 2000))).toBe(true);
  });

  test('stops coming and stays open', async () => {
    const client = await openSandbox();
    client.sandbox.addFault({ endpoint: 'orders', kind: 'stall', bytes: 1000 });
    const stopped = await client.report('orders', DAY, DAY, { stopAfterBytes: 1000 });
    expect([stopped.broken, stopped.body.length]).toEqual([true, 1000]);
  });

  test('comes with late headers', async () => {
    const { sound, struck } = await under({ endpoint: 'orders', kind: 'slow-headers', delayMs: 20 });
    expect(struck.body.equals(sound.body)).toBe(true);
  });

  test('has a gzip checksum that is not its own', async () => {
    const { struck } = await under({ endpoint: 'orders', kind: 'gzip-checksum' }, { 'accept-encoding': 'gzip' });
    expect(() => gunzipSync(struck.body)).toThrow('incorrect data check');
  });

  test.each([
    ['array', (sound: string) => sound.slice('{"items":'.length, -1)],
    ['no-items', () => '{}'],
    ['null-items', () => '{"items":null}'],
    ['text-items', () => '{"items":"none"}'],
    ['empty', () => ''],
    ['trailing-text', (sound: string) => `${sound}\nOK`],
    ['second-document', (sound: string) => `${sound}{"items":[]}`],
    ['trailing-comma', (sound: string) => `${sound.slice(0, -2)},]}`],
  ] as const)('has the shape %s', async (shape, expected) => {
    const { sound, struck } = await under({ endpoint: 'reports', kind: 'shape', shape });
    expect(struck.status).toBe(200);
    expect(struck.text === expected(sound.text)).toBe(true);
  });
});

describe('an item', () => {
  type Kinds = Fault extends infer F ? (F extends { readonly item?: unknown } ? Omit<F, 'endpoint'> : never) : never;

  /** The items of an answer under an item fault at the second item, beside those without it. */
  async function damage(fault: Kinds): Promise<{ sound: Item[]; struck: Item[]; text: string; bytes: Buffer }> {
    const reply = await under({ endpoint: 'orders', item: 1, ...fault } as Fault);
    const items = (text: string) => (exact(text) as { items: Item[] }).items;
    const { text, body: bytes } = reply.struck;
    return { sound: items(reply.sound.text), struck: isJson(text) ? items(text) : [], text, bytes };
  }

  test('has an unknown field', async () => {
    const { sound, struck } = await damage({ kind: 'unknown-field', field: 'margin', json: '{"a":[1]}' });
    expect(struck[1]).toEqual({ ...sound[1], margin: { a: ['1'] } });
    expect(struck.toSpliced(1, 1)).toEqual(sound.toSpliced(1, 1));
  });

  test('has unknown fields everywhere', async () => {
    const { sound, struck } = await damage({ kind: 'unknown-field', item: 'all' });
    expect(struck).toEqual(sound.map((item) => ({ ...item, surprise: 'new' })));
  });

  test('has a number as text', async () => {
    const { sound, struck, text } = await damage({ kind: 'number-as-text' });
    expect(struck).toEqual(sound);
    expect(text).toContain(`"commission":"${sound[1]?.commission}"`);
  });

  test('has a number with an exponent and the same value', async () => {
    const { sound, struck } = await damage({ kind: 'exponent-number' });
    expect(struck[1]?.commission).toMatch(/^\d+e(-[12]|0)$/);
    expect(Number(struck[1]?.commission)).toBe(Number(sound[1]?.commission));
  });

  test('has a number with eight decimals that round to its value', async () => {
    const { sound, struck } = await damage({ kind: 'many-decimals', field: 'priceExclVat' });
    expect(struck[1]?.priceExclVat).toMatch(/\.\d{6}49$/);
    expect(Number(struck[1]?.priceExclVat).toFixed(6)).toBe(Number(sound[1]?.priceExclVat).toFixed(6));
  });

  test('has any value in a field', async () => {
    const { sound, struck } = await damage({ kind: 'raw-value', field: 'quantity', json: '99999999999999999999' });
    expect(struck[1]).toEqual({ ...sound[1], quantity: '99999999999999999999' });
  });

  test('has a NUL or half a surrogate pair as an escape', async () => {
    const nul = await damage({ kind: 'nul-escape' });
    expect(nul.struck[1]?.productTitle).toBe(`${nul.sound[1]?.productTitle}\0`);
    expect(nul.text).toContain('\\u0000"');
    const lone = await damage({ kind: 'lone-surrogate', field: 'siteName' });
    expect(lone.struck[1]?.siteName).toBe(`${lone.sound[1]?.siteName}\ud800`);
  });

  test.each([
    ['without its key', { kind: 'missing-field' }, ({ orderItemId: _, ...rest }: Item) => rest],
    [
      'without any field that is named',
      { kind: 'missing-field', field: 'orderDate' },
      ({ orderDate: _, ...rest }: Item) => rest,
    ],
    [
      'of another day',
      { kind: 'other-day', day: '2020-02-02' },
      (item: Item) => ({ ...item, orderDate: '2020-02-02' }),
    ],
    ['that is an exact duplicate', { kind: 'duplicate' }, (item: Item) => item],
    ['with another amount', { kind: 'conflicting-duplicate' }, (item: Item) => ({ ...item, commission: '0.01' })],
    ['that is null', { kind: 'null-item' }, () => null],
    ['that is a text', { kind: 'text-item' }, () => 'not an item'],
  ] as const)('is followed by its true self after one %s', async (_, fault, extra) => {
    const { sound, struck } = await damage(fault);
    expect(struck).toEqual(sound.toSpliced(1, 0, extra(sound[1]!) as Item));
  });

  test('is gone where the damaged one stands instead of it', async () => {
    const { sound, struck } = await damage({ kind: 'null-item', as: 'instead' });
    expect(struck).toEqual(sound.with(1, null as never));
  });

  test('comes after one with a field twice', async () => {
    const { sound, struck, text } = await damage({ kind: 'duplicate-key' });
    expect(struck).toHaveLength(sound.length + 1);
    expect(text.match(/"commission":[^}]*"commission":[\d.]+}/g)).toHaveLength(1);
  });

  test('comes after one with a raw control character', async () => {
    const { text } = await damage({ kind: 'raw-control' });
    expect(text.split('\x01')).toHaveLength(2);
    expect(isJson(text)).toBe(false);
  });

  test('comes after one with a byte that is no UTF-8', async () => {
    const { bytes } = await damage({ kind: 'invalid-utf8' });
    expect([...bytes].filter((byte) => byte === 0xff)).toHaveLength(1);
    expect(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes)).toThrow(TypeError);
  });

  test('comes after one that is larger than any limit', async () => {
    const { sound, struck } = await damage({ kind: 'huge-item', bytes: 300_000 });
    expect(struck[1]).toEqual({ ...sound[1], huge: 'x'.repeat(300_000) });
    expect(struck.toSpliced(1, 1)).toEqual(sound);
  });

  test.each(['promotions', 'commissions'] as const)('of %s can be damaged too', async (report) => {
    const client = await openSandbox();
    const sound = await client.items(report, DAY, DAY);
    client.sandbox.addFault({ endpoint: report, kind: 'missing-field' });
    client.sandbox.addFault({ endpoint: report, kind: 'unknown-field', item: 2 });
    const struck = await client.items(report, DAY, DAY);
    expect(struck).toHaveLength(sound.length + 1);
    expect(Object.keys(struck[0]!)).toEqual(Object.keys(sound[0]!).slice(1));
    expect(struck[3]).toEqual({ ...sound[2], surprise: 'new' });
  });

  test('can have several faults at once, and the truth has none of them', async () => {
    const client = await openSandbox();
    const truth = client.truth('orders', DAY, DAY);
    for (const kind of ['unknown-field', 'nul-escape', 'null-item', 'duplicate'] as const)
      client.sandbox.addFault({ endpoint: 'orders', kind, item: 3 });
    const struck = await client.items('orders', DAY, DAY);
    expect(struck).toHaveLength(truth.length + 2);
    expect(struck.slice(3, 5)).toEqual([null, truth[3]]);
    expect(struck[5]).toEqual({ ...truth[3], productTitle: `${truth[3]?.productTitle}\0`, surprise: 'new' });
    expect(client.truth('orders', DAY, DAY)).toEqual(truth);
  });
});

describe('a fault', () => {
  const fail = (aim: object = {}): Fault => ({ endpoint: 'orders', kind: 'status', status: 503, ...aim });

  async function statuses(client: Client, calls: number): Promise<number[]> {
    const found = [];
    for (let i = 0; i < calls; i++) found.push((await orders(client)).status);
    return found;
  }

  test('strikes once unless given', async () => {
    const client = await openSandbox();
    client.sandbox.addFault(fail());
    expect(await statuses(client, 3)).toEqual([503, 200, 200]);
  });

  test('lets as many calls pass as it is set to, and strikes as often', async () => {
    const client = await openSandbox();
    client.sandbox.addFault(fail({ after: 2, times: 2 }));
    expect(await statuses(client, 6)).toEqual([200, 200, 503, 503, 200, 200]);
  });

  test('waits for the next call when another one strikes this one', async () => {
    const client = await openSandbox();
    client.sandbox.addFault(fail());
    client.sandbox.addFault(fail({ status: 500 }));
    client.sandbox.addFault({ endpoint: 'orders', kind: 'null-item' });
    expect(await statuses(client, 2)).toEqual([503, 500]);
    expect((await client.items('orders', DAY, DAY))[0]).toBeNull();
    expect(await statuses(client, 1)).toEqual([200]);
  });

  test('strikes only the endpoints that it is aimed at', async () => {
    const client = await openSandbox();
    client.sandbox.addFault(fail({ endpoint: 'commissions' }));
    client.sandbox.addFault(fail({ endpoint: 'any', status: 500 }));
    expect(await statuses(client, 2)).toEqual([500, 200]);
    expect((await client.report('commissions', DAY, DAY)).status).toBe(503);
  });

  test('does not strike a call that has no valid token', async () => {
    const client = await openSandbox();
    client.sandbox.addFault(fail());
    expect((await orders(client, { authorization: 'Bearer no' })).status).toBe(401);
    expect(await statuses(client, 2)).toEqual([503, 200]);
  });

  test('is gone after all are cleared', async () => {
    const client = await openSandbox();
    client.sandbox.addFault(fail({ times: 100 }));
    client.sandbox.clearFaults();
    expect(await statuses(client, 1)).toEqual([200]);
  });

  test.each([
    [{ endpoint: 'orders', kind: 'nonsense' }],
    [{ endpoint: 'nowhere', kind: 'reset' }],
    [{ endpoint: 'token', kind: 'null-item' }],
    [{ endpoint: 'any', kind: 'shape', shape: 'array' }],
    [{ endpoint: 'orders', kind: 'cut' }],
    [{ endpoint: 'orders', kind: 'raw-value', json: '1' }],
    [{ endpoint: 'orders', kind: 'reset', times: 0 }],
    [{ endpoint: 'orders', kind: 'reset', after: -1 }],
  ])('that could never strike is refused: %j', async (fault) => {
    const { sandbox } = await openSandbox();
    expect(() => sandbox.addFault(fault as never)).toThrow(
      expect.objectContaining({ kind: 'usage', code: 'bad_fault', hint: expect.any(String) }),
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
