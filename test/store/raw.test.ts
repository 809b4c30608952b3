/** The raw store: bodies alone and gathered, in a folder. */
import { createHash } from 'node:crypto';
import { readdir, rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it, test } from 'vitest';
import type { FetchRecord } from '../../src/core/records.ts';
import { gatheredLines } from '../../src/store/raw/gather.ts';
import { emptyRawStore, fetchOf, gather, gathered, type Place } from '../extract/lookup-scene.ts';
import { FakeClock } from '../support/clock.ts';

const PIPELINE = 'commission-rates';

const sha256Of = (body: string | Uint8Array) => createHash('sha256').update(body).digest('hex');
const objectsIn = async ({ raw }: Place) => (await gathered(raw.place.list('raw/'))).map(({ name }) => name);
const gathererIn = ({ raw }: Place, most?: number, clock = new FakeClock()) => raw.gather(PIPELINE, clock, most);

async function answersIn({ raw }: Place): Promise<[unknown, string][]> {
  const answers = await gathered(raw.readAnswers(raw.fetches(PIPELINE)));
  return answers.map(({ asked, body }) => [asked, body.toString()]);
}

describe('gathered responses', () => {
  test('come back with their requests, many to an object, one by one and all together', async () => {
    const place = await emptyRawStore();
    const gatherer = gathererIn(place, 16);
    const bodies = Array.from({ length: 40 }, (_, i) => JSON.stringify({ n: i, text: '\ufeffé\n"'.repeat(i * 20) }));
    const asked = (i: number) => [{ ean: String(i), price: '0.10' }];
    const fetches = await Promise.all(bodies.map((body, i) => gather(gatherer, i, asked(i), body)));
    await gatherer.close();
    expect(await objectsIn(place)).toHaveLength(3);
    expect(await answersIn(place)).toEqual(bodies.map((body, i) => [asked(i), body]));
    for (const [i, fetch] of fetches.entries())
      expect(Buffer.concat(await gathered(place.raw.answer(fetch, true))).toString()).toBe(bodies[i]);
    expect(place.warnings).toEqual([]);
  });

  test('that are no UTF-8 come back byte for byte', async () => {
    const place = await emptyRawStore();
    const gatherer = gathererIn(place);
    const body = Buffer.from([0xff, 0x00, 0x22, 0xc3]);
    const raw_path = gatherer.add({ fetchId: fetchOf(1).fetch_id, request: null, body });
    await gatherer.record(fetchOf(1, { sha256: sha256Of(body), raw_path }));
    await gatherer.close();
    const [answer] = await gathered(place.raw.readAnswers(place.raw.fetches(PIPELINE)));
    expect([answer?.asked, answer?.body]).toEqual([null, body]);
  });

  test('leave nothing before the first one, and rows of requests that failed need no object', async () => {
    const place = await emptyRawStore();
    await gathererIn(place).close();
    const gatherer = gathererIn(place);
    await gatherer.record(fetchOf(1, { status: 429, outcome: 'failed' }));
    await gatherer.close();
    expect(await objectsIn(place)).toEqual([]);
    expect(await gathered(place.raw.fetches(PIPELINE))).toEqual([fetchOf(1, { status: 429, outcome: 'failed' })]);
  });

  test('are written when an object is full, or ten seconds old; what is in hand until then is named by nothing', async () => {
    const place = await emptyRawStore();
    const clock = new FakeClock();
    const gatherer = gathererIn(place, 3, clock);
    const names = async () => (await answersIn(place)).map(([, body]) => body);
    for (const n of [1, 2, 3, 4]) await gather(gatherer, n, [], String(n));
    expect(await names()).toEqual(['1', '2', '3']);
    clock.set(clock.now() + 10_000);
    await gather(gatherer, 5, [], '5');
    expect(await names()).toEqual(['1', '2', '3', '4']);
    await gather(gatherer, 6, [], '6');
    await gatherer.close();
    expect(await names()).toEqual(['1', '2', '3', '4', '5', '6']);
  });

  test('whose records never come are not told of', async () => {
    const place = await emptyRawStore();
    const gatherer = gathererIn(place);
    gatherer.add({ fetchId: 'f-lost', request: [], body: Buffer.from('unrecorded') });
    await gather(gatherer, 2, [], 'recorded');
    await gatherer.close();
    expect(await answersIn(place)).toEqual([[[], 'recorded']]);
  });

  test('an error of writing is told to who waits, and to everybody after', async () => {
    const place = await emptyRawStore();
    await writeFile(path.join(place.home, 'raw'), 'a file in the way');
    const gatherer = gathererIn(place, 1);
    await expect(gather(gatherer, 1, [], 'a')).rejects.toMatchObject({ code: 'ENOTDIR' });
    await expect(gather(gatherer, 2, [], 'b')).rejects.toMatchObject({ code: 'ENOTDIR' });
    await expect(gatherer.close()).rejects.toMatchObject({ code: 'ENOTDIR' });
    expect(await gathered(place.raw.fetches(PIPELINE))).toEqual([]);
  });

  test('take nothing after the end', async () => {
    const gatherer = gathererIn(await emptyRawStore());
    await gatherer.close();
    expect(() => gatherer.add({ fetchId: 'f1', request: [], body: Buffer.from('x') })).toThrow('after its end');
  });

  test('large ones of several objects at once are read in order', async () => {
    const place = await emptyRawStore();
    const body = 'x'.repeat(1_500_000);
    const gatherers = [gathererIn(place), gathererIn(place)];
    for (const n of [1, 2, 3, 4, 5, 6, 7, 8]) await gather(gatherers[n % 2]!, n, [n], `${n}${body}`);
    for (const gatherer of gatherers) await gatherer.close();
    expect((await answersIn(place)).map(([asked]) => asked)).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((n) => [n]));
  });
});

describe('damage', () => {
  /** Three answers in one object, which is then damaged. */
  async function damaged(damage: (file: string, lines: string[]) => Promise<void>) {
    const place = await emptyRawStore();
    const gatherer = gathererIn(place);
    const fetches: FetchRecord[] = [];
    for (const n of [1, 2, 3]) fetches.push(await gather(gatherer, n, [n], `body ${n}`));
    await gatherer.close();
    const [object] = await objectsIn(place);
    const lines = (await gatheredLines(place.raw.place, object!)).map(String);
    await damage(path.join(place.home, object!), lines);
    return { place, fetches, file: path.join(place.home, object!) };
  }
  const rewrite = (change: (lines: string[]) => string[]) => (file: string, lines: string[]) =>
    writeFile(file, gzipSync(`${change(lines).join('\n')}\n`));

  it.each<[string, Parameters<typeof damaged>[0], number[]]>([
    ['an object that is gone', (file) => rm(file), [1, 2, 3]],
    ['one that is cut off', (file) => truncate(file, 40), [1, 2, 3]],
    ['one that is something else', (file) => writeFile(file, 'no gzip'), [1, 2, 3]],
    ['another body', rewrite(([a, b, c]) => [a!, b!.replace('body 2', 'body 7'), c!]), [2]],
    ['a line that is no response', rewrite(([a, , c]) => [a!, '{"fetch":', c!]), [2]],
    ['lines that changed places', rewrite(([a, b, c]) => [b!, a!, c!]), [1, 2]],
    ['a line less', rewrite(([a, b]) => [a!, b!]), [3]],
  ])('%s: the answers concerned are told by their object, the others are there', async (_, damage, lost) => {
    const { place, fetches, file } = await damaged(damage);
    const left = [1, 2, 3].filter((n) => !lost.includes(n));
    expect(await answersIn(place)).toEqual(left.map((n) => [[n], `body ${n}`]));
    expect(place.warnings).toEqual(
      lost.map((n) => `${file} does not hold the answer of fetch ${fetchOf(n).fetch_id}, which is left out`),
    );
    const error = { kind: 'failed', code: 'damaged_answer', concern: { file } };
    const hint = 'fetch it again: partner-etl run commission-rates';
    for (const n of lost)
      await expect(gathered(place.raw.answer(fetches[n - 1]!, true))).rejects.toMatchObject({ ...error, hint });
  });
});

describe('a body of its own', () => {
  async function kept(place: Place, body: string, isGzip: boolean): Promise<FetchRecord> {
    const received = await place.raw.receive('orders', path.join(place.home, 'scratch'));
    await received.write(isGzip ? gzipSync(body) : Buffer.from(body));
    const sha256 = sha256Of(body);
    return fetchOf(1, { pipeline: 'orders', sha256, raw_path: await received.keep(sha256, isGzip) });
  }

  it.each([true, false])('is named by its content, and comes back decoded (gzip: %s)', async (isGzip) => {
    const place = await emptyRawStore();
    const fetch = await kept(place, 'the body', isGzip);
    const sha256 = sha256Of('the body');
    const end = isGzip ? '.json.gz' : '.json';
    expect(fetch.raw_path).toBe(`raw/orders/answers/${sha256.slice(0, 2)}/${sha256}${end}`);
    await kept(place, 'the body', isGzip);
    expect(await objectsIn(place)).toEqual([fetch.raw_path]);
    expect(Buffer.concat(await gathered(place.raw.answer(fetch, true))).toString()).toBe('the body');
    expect(await readdir(place.home)).toEqual(expect.not.arrayContaining(['scratch']));
  });

  it.each<[string, (file: string) => Promise<void>]>([
    ['is gone', (file) => rm(file)],
    ['is another one', (file) => writeFile(file, gzipSync('another'))],
    ['is cut off', (file) => truncate(file, 12)],
  ])('that %s is told with its object and what to do', async (_, damage) => {
    const place = await emptyRawStore();
    const window = { window_from: '2026-03-01', window_to: '2026-03-02' } as Partial<FetchRecord>;
    const fetch = { ...(await kept(place, 'the body', true)), ...window };
    const file = path.join(place.home, fetch.raw_path!);
    await damage(file);
    await expect(gathered(place.raw.answer(fetch, true))).rejects.toMatchObject({
      code: 'damaged_answer',
      concern: { file, requestId: fetch.fetch_id },
      hint: 'fetch it again: partner-etl backfill orders --from 2026-03-01 --to 2026-03-02 --refetch',
    });
  });

  test('that was pruned is told as such', async () => {
    const place = await emptyRawStore();
    const fetch = { ...(await kept(place, 'the body', true)), pruned_at: '2026-03-05T00:00:00.000Z' };
    await expect(gathered(place.raw.answer(fetch, true))).rejects.toMatchObject({
      code: 'pruned_answer',
      message: expect.stringContaining('pruned on 2026-03-05'),
    });
  });

  test('that is refused lies aside, as far as it was read', async () => {
    const place = await emptyRawStore();
    const body = await place.raw.receive('orders', path.join(place.home, 'scratch'));
    await body.write(gzipSync('<html>'));
    const file = await body.refuse('f1', true);
    expect(file).toBe(path.join(place.home, 'raw/orders/refused/f1.json.gz'));
    const chunks = await gathered(place.raw.place.get('raw/orders/refused/f1.json.gz'));
    expect(gunzipSync(Buffer.concat(chunks)).toString()).toBe('<html>');
  });
});
