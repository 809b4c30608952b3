import { describe, expect, test } from 'vitest';
import { deliveryLine, readDeliveries } from '../../src/extract/stored-deliveries.ts';
import type { StoredDelivery } from '../../src/store/tables/inbox.ts';
import { deliveryOf } from '../support/inbox.ts';

const stored = (body: string | Uint8Array, i = 0): StoredDelivery => {
  const { resource: _, resourceId: __, ...kept } = deliveryOf(body, i);
  return { ...kept, deliveryId: `d${i}` };
};

async function read(bytes: Uint8Array, chunk = bytes.length): Promise<StoredDelivery[]> {
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk);
  }
  const found: StoredDelivery[] = [];
  for await (const one of readDeliveries(chunks(), 'raw/x')) found.push(one);
  return found;
}

describe('deliveries in the raw store', () => {
  const BODIES = [
    '{"a":"é\u2028\\n"}',
    'with\na line break and \u0000',
    '',
    '\ufeff{}',
    new Uint8Array([0xff, 0xfe, 0x0a, 0]),
    'x'.repeat(5000),
  ];

  test.each([1, 7, 4096, 1e6])('come back byte for byte, read in pieces of %i', async (chunk) => {
    const given = BODIES.map(stored);
    expect(await read(Buffer.from(given.map(deliveryLine).join('')), chunk)).toEqual(given);
  });

  test('are readable as they stand where they are text', () => {
    expect(deliveryLine(stored('{"n":1.50}'))).toContain('"body":"{\\"n\\":1.50}"}\n');
  });

  test.each([
    ['is cut off', (text: string) => text.slice(0, -20)],
    ['is no JSON', (text: string) => `${text}x\n`],
    ['is of another shape', (text: string) => `${text}{"delivery_id":7}\n`],
  ])('a line that %s is told by the name of the object', async (_, change) => {
    const text = change([stored('a'), stored('b', 1)].map(deliveryLine).join(''));
    await expect(read(Buffer.from(text))).rejects.toMatchObject({
      code: 'damaged_answer',
      message: expect.stringContaining('raw/x'),
    });
  });
});
