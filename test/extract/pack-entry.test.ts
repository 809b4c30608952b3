import { createHash } from 'node:crypto';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import type { FetchRecord } from '../../src/core/records.ts';
import { entryHead } from '../../src/extract/pack.ts';
import { entryOf, isBodyOf, packPlace } from '../../src/extract/pack-entry.ts';

const ASKED = [{ ean: '8710000072830', price: '20.50' }, { ean: '8710000072847' }];
const BODY = Buffer.from('{"commissions":[{"ean":"8710000072830","percentage":7.5}]}');
const FETCH = { sha256: createHash('sha256').update(BODY).digest('hex') } as FetchRecord;

const placeOf = (bytes: Buffer, isGzip: boolean) => packPlace(`some.pack@0+${bytes.length}${isGzip ? '.gz' : ''}`)!;

it.each([false, true])(
  'no bit can turn over in an entry that makes other questions or another body of it (gzip: %s)',
  (isGzip) => {
    const bytes = Buffer.concat([entryHead(ASKED), isGzip ? gzipSync(BODY) : BODY]);
    const place = placeOf(bytes, isGzip);
    let refused = 0;
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      const entry = entryIn(flipped, place);
      if (entry === null || !isBodyOf(FETCH, entry.body)) refused++;
      else expect([bit, entry]).toEqual([bit, { asked: ASKED, body: BODY }]);
    }
    expect(refused).toBeGreaterThan((bytes.length - 20) * 8);
  },
);

it('questions of before there were checksums are read', () => {
  const asked = deflateRawSync(JSON.stringify(ASKED), { level: 1, windowBits: 12, memLevel: 5 });
  const length = Buffer.alloc(4);
  length.writeUInt32BE(asked.length);
  const bytes = Buffer.concat([length, asked, BODY]);
  expect(entryOf(bytes, placeOf(bytes, false))).toEqual({ asked: ASKED, body: BODY });
});

function entryIn(bytes: Buffer, place: ReturnType<typeof placeOf>) {
  try {
    return entryOf(bytes, place);
  } catch {
    return null;
  }
}
