import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { pushLinks } from '../../pipelines/push-links.ts';
import { LIMITS } from '../../src/core/limits.ts';
import type { FetchRecord } from '../../src/core/records.ts';
import { receiveAnything } from '../../src/extract/lookup-answer.ts';
import { answerOf, emptyRawStore, fetchOf, gathered } from '../extract/lookup-scene.ts';
import { FakeClock } from '../support/clock.ts';
import { NO_COUNTS, openReader, readAnswers, typedRows } from './reading.ts';

const HREF = 'https://api.example.org/retailer/shipments/1';
const ASKED = { href: HREF, resource: 'SHIPMENT', resourceId: '1' };

type Told = readonly [body: unknown, fields?: Partial<FetchRecord>, more?: Readonly<Record<string, string>>];

const linesOf = (...answers: readonly Told[]) =>
  readAnswers(
    pushLinks,
    [],
    answers.map(([body, fields, more]) => answerOf({ ...ASKED, ...more }, body, fields)),
  );

describe('what lies behind a link', () => {
  test('becomes a line with all of it, members in alphabetical order and numbers to the digit', async () => {
    const body = '{ "b": 9007199254740993.10, "a": [ {"d":1e2, "c":null} ] }';
    const { lines, counts, drift } = await linesOf([body, { fetch_id: 'f7' }]);
    expect(lines).toEqual([
      {
        _i: '0',
        _f: 'f7',
        observedOn: '2026-03-20',
        observedFrom: '2026-03-20T02:00:00.123Z',
        href: HREF,
        resource: 'SHIPMENT',
        resourceId: '1',
        outcome: 'found',
        payload: '{"a":[{"c":null,"d":1e2}],"b":9007199254740993.10}',
        _raw: body,
      },
    ]);
    expect([counts, drift]).toEqual([{ ...NO_COUNTS, keys: 1, records: 1, found: 1 }, []]);
  });

  test.each(['[]', '"text"', '7', 'null', 'true'])('may be any JSON: %s', async (body) => {
    expect((await linesOf([body])).lines).toMatchObject([{ outcome: 'found', payload: body }]);
  });

  test.each([
    [404, 'not_found'],
    [410, 'not_found'],
    [400, 'refused'],
    [406, 'refused'],
    [451, 'refused'],
  ])('and is answered with %s is a line with the reason', async (status, outcome) => {
    const { lines, counts } = await linesOf([{ title: 'No', detail: 'there is none' }, { status }]);
    expect(lines).toMatchObject([{ outcome, reason: 'No; there is none' }]);
    expect(lines[0]).not.toHaveProperty('payload');
    expect(counts).toMatchObject({ refused: 1 });
  });

  test.each([
    ['a page', '<html>\0</html>', '<html></html>'],
    ['JSON that breaks off', '{"a":', '{"a":'],
    ['two documents', '{}{}', '{}{}'],
    ['nothing', '', ''],
    ['what is too deep', '['.repeat(100_000), '['.repeat(64 * 1024)],
  ])('and is %s is a line that says why it is none', async (_, body, raw) => {
    const { lines, counts } = await linesOf([body]);
    expect(lines).toEqual([expect.objectContaining({ outcome: 'found', _b: 'not_json:payload', _raw: raw })]);
    expect(counts).toMatchObject({ rejects: 1 });
  });

  test('in damaged text is fixed, and told', async () => {
    const { lines, drift } = await linesOf(['{"a":"x\\u0000\\udc00"}']);
    expect(lines).toMatchObject([{ payload: '{"a":"x\ufffd"}' }]);
    expect(drift.map(({ kind, field }) => `${kind} ${field}`).sort()).toEqual(['lone_surrogate a', 'nul_removed a']);
  });

  test('without its question is refused', async () => {
    const { reader } = await openReader(pushLinks);
    for (const asked of [null, {}, { href: HREF }, { ...ASKED, href: 1 }])
      await expect(reader.take(answerOf(asked, '{}'))).rejects.toMatchObject({
        kind: 'failed',
        code: 'damaged_answer',
      });
    await reader.close();
    expect(reader.counts).toEqual(NO_COUNTS);
  });

  test('is typed as the pipeline declares it; what is none is a reject of its day, and counts as looked at', async () => {
    const { folder, rows: file } = await linesOf(
      ['{"a":1}'],
      ['<html>', {}, { href: `${HREF}2` }],
      ['', {}, { href: `${HREF}3`, unread: 'answer_too_large:it is larger than 1048576 bytes' }],
    );
    const rows = await typedRows(
      folder,
      pushLinks,
      file,
      `href, payload, replace(_reject, chr(31), ' ') AS reject, observed_on::VARCHAR AS day, valid_from IS NULL AS never`,
    );
    const day = '2026-03-20';
    expect(rows).toEqual([
      { href: HREF, payload: '{"a":1}', reject: null, day, never: false },
      { href: `${HREF}2`, payload: null, reject: 'not_json payload', day, never: false },
      {
        href: `${HREF}3`,
        payload: null,
        reject: 'answer_too_large it is larger than 1048576 bytes',
        day,
        never: false,
      },
    ]);
  });
});

describe('an answer on its way in', () => {
  async function received(body: Uint8Array, contentEncoding: string | null = null, status = 200) {
    const place = await emptyRawStore();
    const gatherer = place.raw.gather('push-links', new FakeClock());
    async function* chunks() {
      for (let at = 0; at < body.length; at += 65_536) yield body.subarray(at, at + 65_536);
    }
    const fetchId = fetchOf(1).fetch_id;
    const incoming = { fetchId, status, contentType: null, contentEncoding, body: chunks() };
    try {
      const { sha256, rawPath, bytesDecoded, items } = await receiveAnything(incoming, ASKED, LIMITS.linkAnswerBytes, {
        pipeline: 'push-links',
        raw: place.raw,
        gatherer,
      });
      const fetch = fetchOf(1, { pipeline: 'push-links', run_id: 'r1', sha256, raw_path: rawPath, status });
      await gatherer.record(fetch);
      await gatherer.close();
      const [stored] = await gathered(place.raw.readAnswers([fetch]));
      return { asked: stored?.asked, body: stored?.body.toString(), bytesDecoded, items };
    } finally {
      await gatherer.close();
    }
  }

  test('is kept as received with its question, whatever it is', async () => {
    expect(await received(Buffer.from('<html>'))).toEqual({ asked: ASKED, body: '<html>', bytesDecoded: 6, items: 1 });
    expect(await received(gzipSync('{"a":1}'), 'gzip')).toMatchObject({ asked: ASKED, body: '{"a":1}' });
    expect(await received(Buffer.from('no'), null, 404)).toMatchObject({ asked: ASKED, body: 'no', items: null });
  });

  test.each([
    ['larger than it may be', Buffer.alloc(1024 * 1024 + 1, 32), null, 'answer_too_large'],
    ['larger than anything may be', Buffer.alloc(9 * 1024 * 1024, 32), null, 'answer_too_large'],
    ['small only as gzip', gzipSync(Buffer.alloc(64 * 1024 * 1024)), 'gzip', 'answer_too_large'],
    ['in an encoding that nobody asked for', Buffer.from('x'), 'br', 'content_encoding'],
  ])('that is %s is kept as such, without its body', async (_, body, encoding, code) => {
    const stored = await received(body, encoding);
    expect(stored).toMatchObject({
      body: '',
      asked: { ...ASKED, unread: expect.stringMatching(new RegExp(`^${code}:`)) },
    });
  });

  test('that came damaged is asked for again', async () => {
    await expect(received(gzipSync('{}').subarray(0, 10), 'gzip')).rejects.toMatchObject({ kind: 'retry' });
  });
});
