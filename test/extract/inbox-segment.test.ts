import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Delivery,
  encode,
  FORMAT_LINE,
  FRAME_BYTES,
  framesOf,
  readSegment,
} from '../../src/extract/inbox-segment.ts';
import { delivery, deliveryOf, segmentOf } from './inbox-scene.ts';
import { gathered } from './lookup-scene.ts';

/** What a reader pulled from its source. */
interface Pulled {
  bytes: number;
  isClosed: boolean;
}

async function* inChunks(bytes: Uint8Array, size: number, pulled: Pulled = { bytes: 0, isClosed: false }) {
  try {
    for (let at = 0; at < bytes.length; at += size) {
      const chunk = Uint8Array.from(bytes.subarray(at, at + size));
      pulled.bytes += chunk.length;
      yield chunk;
      chunk.fill(0xee); // as a source does that uses its memory again
    }
  } finally {
    pulled.isClosed = true;
  }
}

/** The segment's beginning, and then the same byte without end. */
async function* endless(start: Uint8Array, byte: number, pulled: Pulled) {
  try {
    yield start;
    for (;;) {
      pulled.bytes += 65_536;
      yield new Uint8Array(65_536).fill(byte);
    }
  } finally {
    pulled.isClosed = true;
  }
}

const read = (bytes: Uint8Array, size = 65_536) => gathered(readSegment(inChunks(bytes, size), 'a.segment'));

const damage = (about: string | RegExp) =>
  expect.objectContaining({ kind: 'failed', code: 'damaged_segment', message: expect.stringMatching(about) });

const deliveries = fc.array(
  fc.record({
    receivedAtMs: fc.integer({ min: 0, max: Date.UTC(9999, 0, 1) }),
    sourceAddress: fc.string({ unit: 'binary', maxLength: 20 }),
    keyId: fc.string({ unit: 'binary', maxLength: 20 }),
    method: fc.constantFrom('POST', 'PUT'),
    body: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  }),
  { maxLength: 8 },
);

describe('a segment', () => {
  test('gives back what was written, in order, however it is cut into chunks', async () => {
    await fc.assert(
      fc.asyncProperty(deliveries, fc.integer({ min: 1, max: 700 }), async (given, size) => {
        const expected = given.map((one, position) => ({ ...one, position }));
        expect(await read(segmentOf(...given).bytes, size)).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });

  test('can be written in several parts', async () => {
    const parts = [framesOf([encode(delivery(0))], true), framesOf([encode(delivery(1)), encode(delivery(2))], false)];
    expect((await read(Buffer.concat(parts))).map(({ receivedAtMs }) => receivedAtMs)).toEqual(
      [0, 1, 2].map((n) => delivery(n).receivedAtMs),
    );
  });

  test('without a delivery is sound', async () => {
    expect(await read(FORMAT_LINE)).toEqual([]);
  });

  test('has frames as they are described', () => {
    const given: Delivery = {
      receivedAtMs: 5,
      sourceAddress: '::1',
      keyId: '0',
      method: 'PUT',
      body: Buffer.from('ab'),
    };
    const head = '{"at":5,"from":"::1","key":"0","method":"PUT"}';
    const frame = segmentOf(given).bytes.subarray(FORMAT_LINE.length);
    expect(frame.readUInt32BE(0)).toBe(4 + head.length + 2);
    expect(frame.readUInt32BE(8)).toBe(head.length);
    expect(frame.subarray(12).toString()).toBe(`${head}ab`);
  });

  test('takes deliveries up to the largest frame and no larger', async () => {
    const overhead = segmentOf(deliveryOf('')).bytes.length - FORMAT_LINE.length;
    const largest = deliveryOf(Buffer.alloc(FRAME_BYTES - overhead, 'x'));
    const [found] = await read(segmentOf(largest, delivery(1)).bytes);
    expect(found?.body.length).toBe(largest.body.length);
    expect(() => encode(deliveryOf(Buffer.alloc(FRAME_BYTES - overhead + 1)))).toThrow(
      expect.objectContaining({ kind: 'failed', code: 'delivery_too_large' }),
    );
  });
});

describe('damage', () => {
  const { bytes, starts } = segmentOf(delivery(0), delivery(1), delivery(2));

  test('is told with file, position and byte, after what is sound before it', async () => {
    const flipped = Buffer.from(bytes);
    flipped[starts[1]! + 30]! ^= 1;
    const seen: number[] = [];
    const reading = async () => {
      for await (const { position } of readSegment(inChunks(flipped, 50), 'inbox/ready/f1.segment'))
        seen.push(position);
    };
    await expect(reading()).rejects.toThrow(
      damage(`^inbox/ready/f1.segment is damaged at delivery 1, byte ${starts[1]}:`),
    );
    expect(seen).toEqual([0]);
  });

  test('is found wherever one bit is another', async () => {
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      await expect(read(flipped)).rejects.toThrow(damage('is damaged at delivery [012]'));
    }
  });

  test('is a segment that ends in the middle of a frame', async () => {
    const ends = [...starts, bytes.length];
    for (let length = 0; length < bytes.length; length++) {
      const part = read(bytes.subarray(0, length));
      if (ends.includes(length)) expect(await part).toHaveLength(ends.indexOf(length));
      else await expect(part).rejects.toThrow(damage(''));
    }
  });

  test.each([
    ['no format line', Buffer.from('{"a":1}\n'.repeat(10))],
    ['the format line of another version', Buffer.from(FORMAT_LINE.toString().replace('1', '2'))],
    ['zeros behind a sound frame', Buffer.concat([bytes, Buffer.alloc(4096)])],
    ['a frame with nothing in it', Buffer.concat([FORMAT_LINE, frame(Buffer.alloc(0))])],
    ['a head that is longer than the frame', Buffer.concat([FORMAT_LINE, frame(Buffer.from([0, 0, 0, 9, 1]))])],
    ...['', '{', 'null', '1', '[]', '{}', '{"at":1}', head({ at: -1 }), head({ at: 1.5 }), head({ at: '1' })].map(
      (text): [string, Buffer] => [`the head ${text}`, Buffer.concat([FORMAT_LINE, frame(rest(text))])],
    ),
    ...[{ at: 1e300 }, { at: Date.UTC(10_000, 0, 1) }, { from: 1 }, { key: null }, { method: {} }].map(
      (members): [string, Buffer] => [
        `the head ${head(members)}`,
        Buffer.concat([FORMAT_LINE, frame(rest(head(members)))]),
      ],
    ),
  ])('is %s', async (_, hostile) => {
    await expect(read(hostile)).rejects.toThrow(damage(''));
  });

  test('is any other bytes, and reading them ends', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1, maxLength: 2000 }),
        fc.integer({ min: 1, max: 100 }),
        async (tail, size) => {
          await expect(read(Buffer.concat([FORMAT_LINE, tail]), size)).rejects.toThrow(damage(''));
        },
      ),
      { numRuns: 200 },
    );
  });

  test.each([
    ['a length that no frame has', 0xff, 1],
    ['zeros', 0, 1],
    ['the length of the largest frame', null, FRAME_BYTES / 65_536 + 1],
  ])('%s: no more is read of an endless source than a frame can have', async (_, byte, mostChunks) => {
    const pulled = { bytes: 0, isClosed: false };
    const length = Buffer.alloc(8);
    length.writeUInt32BE(FRAME_BYTES - 8);
    const start = byte === null ? Buffer.concat([FORMAT_LINE, length]) : FORMAT_LINE;
    await expect(gathered(readSegment(endless(start, byte ?? 7, pulled), 'x'))).rejects.toThrow(damage(''));
    expect(pulled.bytes / 65_536).toBeLessThanOrEqual(mostChunks);
    expect(pulled.isClosed).toBe(true);
  });
});

test('a reader that has enough lets go of the source', async () => {
  const pulled = { bytes: 0, isClosed: false };
  const { bytes } = segmentOf(...Array.from({ length: 100 }, (_, i) => delivery(i)));
  for await (const { position } of readSegment(inChunks(bytes, 1000, pulled), 'x')) if (position === 3) break;
  expect(pulled.isClosed).toBe(true);
  expect(pulled.bytes).toBeLessThanOrEqual(2000);
});

/** A frame around any rest, with the right length and CRC. */
function frame(inside: Buffer): Buffer {
  const whole = Buffer.alloc(8 + inside.length);
  whole.writeUInt32BE(inside.length);
  whole.writeUInt32BE(crc32(inside), 4);
  whole.set(inside, 8);
  return whole;
}

function rest(headText: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(headText.length);
  return Buffer.concat([length, Buffer.from(headText), Buffer.from('body')]);
}

function head(members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ at: 1, from: '::1', key: '0', method: 'POST', ...members });
}
