import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { commissionRates } from '../../pipelines/commission-rates.ts';
import { LIMITS } from '../../src/core/limits.ts';
import { receiveLookup } from '../../src/extract/lookup-answer.ts';
import { countRecords } from '../../src/sources/reader.ts';
import { FakeClock } from '../support/clock.ts';
import { emptyRawStore, fetchOf, gathered } from './lookup-scene.ts';

const PIPELINE = 'commission-rates';
const FETCH = fetchOf(1).fetch_id;
const QUESTIONS = [{ ean: '8712626055143', condition: 'NEW', price: '1.5' }];

async function* inPieces(bytes: Uint8Array) {
  for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
}

async function received(bytes: Uint8Array, contentEncoding: string | null, status = 200) {
  const place = await emptyRawStore();
  const gatherer = place.raw.gather(PIPELINE, new FakeClock());
  const incoming = { fetchId: FETCH, status, contentEncoding, body: bytes.length > 1e6 ? [bytes] : inPieces(bytes) };
  const consumed = receiveLookup(
    { ...incoming, body: incoming.body as AsyncIterable<Uint8Array> },
    QUESTIONS,
    (document) => countRecords(commissionRates, document),
    { pipeline: PIPELINE, raw: place.raw, gatherer },
  );
  await consumed.catch(() => undefined);
  return { ...place, gatherer, consumed };
}

describe('the answer of a look-up', () => {
  test.each([
    ['gzip', (text: string) => gzipSync(text)],
    [null, (text: string) => Buffer.from(text)],
  ])('encoded as %s is kept decoded, with its questions', async (encoding, encode) => {
    const text = '{"commissions":[{"ean":"1"},{"ean":"2"}]}';
    const { raw, gatherer, consumed } = await received(encode(text), encoding);
    const { value, sha256, rawPath, bytesDecoded, items } = await consumed;
    const fetch = fetchOf(1, { sha256, raw_path: rawPath });
    await gatherer.record(fetch);
    await gatherer.close();
    expect([value.status, value.body.toString(), bytesDecoded, items]).toEqual([200, text, text.length, 2]);
    expect((await gathered(raw.readAnswers([fetch])))[0]?.asked).toEqual(QUESTIONS);
    expect(Buffer.concat(await gathered(raw.answer(fetch, true))).toString()).toBe(text);
  });

  test('that says why there is none is kept too, whatever it is', async () => {
    const { consumed } = await received(Buffer.from('<html>no'), null, 404);
    expect(await consumed).toMatchObject({ items: null, rawPath: expect.stringMatching(/\.ndjson\.gz#0$/) });
  });

  test.each([
    ['<html>maintenance</html>', 'retry', 'not_json'],
    ['{"commissions":null}', 'failed', 'no_commissions'],
    ['[]', 'failed', 'not_an_object'],
  ])('%s is set aside and refused', async (text, kind, code) => {
    const { home, consumed } = await received(gzipSync(text), 'gzip');
    const file = path.join(home, 'raw', PIPELINE, 'refused', `${FETCH}.json.gz`);
    await expect(consumed).rejects.toMatchObject({ kind, code, hint: `what was received lies in ${file}` });
    expect(gunzipSync(await readFile(file)).toString()).toBe(text);
  });

  test.each<[string, Uint8Array, string | null, string, string]>([
    ['cut gzip', gzipSync('{"commissions":[]}').subarray(0, 20), 'gzip', 'retry', 'damaged_gzip'],
    ['another encoding', Buffer.from('x'), 'br', 'failed', 'content_encoding'],
    ['a body beyond the limit', Buffer.alloc(LIMITS.lookupAnswerBytes + 1, 0x20), null, 'failed', 'answer_too_large'],
    [
      'gzip that unpacks beyond the limit',
      gzipSync(Buffer.alloc(LIMITS.lookupAnswerBytes + 1)),
      'gzip',
      'failed',
      'answer_too_large',
    ],
  ])('with %s is refused', async (_, bytes, encoding, kind, code) => {
    const { consumed } = await received(bytes, encoding);
    await expect(consumed).rejects.toMatchObject({ kind, code });
  });
});
