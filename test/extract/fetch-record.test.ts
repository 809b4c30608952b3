import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { Day } from '../../src/core/days.ts';
import type { FetchRecord } from '../../src/core/records.ts';
import { recordIn, recordText } from '../../src/extract/fetch-record.ts';

const RECORD: FetchRecord = {
  fetch_id: 'f01km75bnzvrnztx2np',
  run_id: 'r01km75bnzvrnztx2np',
  pipeline: 'orders',
  endpoint: 'orders-report',
  window_from: '2026-03-01' as Day,
  window_to: '2026-03-31' as Day,
  method: 'GET',
  url: 'http://127.0.0.1/orders?startDate=2026-03-01',
  attempt: 1,
  started_at: '2026-04-01T02:00:01.500Z',
  finished_at: '2026-04-01T02:00:02.500Z',
  status: 200,
  content_type: 'application/json',
  bytes_received: 123,
  bytes_decoded: 4567,
  sha256: 'ab12'.repeat(16),
  vault_path: `vault/orders/answers/ab/${'ab12'.repeat(16)}.json.gz`,
  items: 12,
  outcome: 'ok',
  error_code: null,
  error_message: null,
};
const LAYOUTS = ['line', 'file'] as const;

describe.each(LAYOUTS)('as a %s', (layout) => {
  it('a record is what was written, whatever its texts hold', () => {
    const text = fc.string({ unit: 'binary' });
    const members = fc.record({ url: text, error_message: fc.option(text), notes: fc.dictionary(text, text) });
    fc.assert(
      fc.property(members, (some) => {
        const record = { ...RECORD, ...some };
        const written = Buffer.from(recordText(record, layout)).toString('utf8');
        // A lone surrogate cannot be told in UTF-8, so JSON has it escaped.
        expect(JSON.stringify(recordIn(written))).toBe(JSON.stringify(record));
      }),
    );
  });

  it('no bit can turn over in it that makes another record of it', () => {
    const bytes = Buffer.from(recordText(RECORD, layout));
    let refused = 0;
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      const record = recordIn(flipped.toString('utf8'));
      if (record === null) refused++;
      else expect([bit, record]).toEqual([bit, RECORD]);
    }
    expect(refused).toBeGreaterThan(bytes.length * 7);
  });

  it('one whose end is cut off is none', () => {
    const text = recordText(RECORD, layout);
    for (let length = 0; length < text.length; length++) expect(recordIn(text.slice(0, length))).toBeNull();
  });

  it('with blanks behind it is the same', () => {
    expect(recordIn(`${recordText(RECORD, layout)}   `)).toEqual(RECORD);
  });
});

test('a line has no line feed, and can be read as any JSON', () => {
  const line = recordText({ ...RECORD, error_message: 'one\ntwo' }, 'line');
  expect(line).not.toContain('\n');
  expect(JSON.parse(line)).toEqual({
    ...RECORD,
    error_message: 'one\ntwo',
    crc32: expect.stringMatching(/^[0-9a-f]{8}$/),
  });
});

test('records of before there were checksums are believed', () => {
  expect(recordIn(JSON.stringify(RECORD))).toEqual(RECORD);
  expect(recordIn(JSON.stringify({ ...RECORD, pruned_at: '2026-05-01T02:00:00.000Z' }, null, 1))).toMatchObject(RECORD);
});

test('what is no record is none', () => {
  for (const text of ['', '{}', 'null', '[]', '"text"', '{"fetch_id":1}', '\0\0\0\0'])
    expect(recordIn(text)).toBeNull();
});
