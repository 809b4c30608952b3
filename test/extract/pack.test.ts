import { appendFile, mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { PackWriter } from '../../src/extract/pack.ts';
import { packPlace } from '../../src/extract/pack-entry.ts';
import { FakeClock } from '../support/clock.ts';
import { emptyVault, fetchOf, gathered, type Place, pack } from './lookup-scene.ts';

const PIPELINE = 'commission-rates';
const MONTH = '2026-03';

function writerOf({ vault }: Place, runId = 'r0', month = MONTH): PackWriter {
  return PackWriter.open(vault, PIPELINE, runId, month, new FakeClock());
}

async function idsIn({ vault }: Place, since?: string): Promise<string[]> {
  return (await gathered(vault.fetches(PIPELINE, since))).map(({ fetch_id }) => fetch_id);
}

async function bodiesIn({ vault }: Place): Promise<[unknown, string][]> {
  const answers = await gathered(vault.readAnswers(vault.fetches(PIPELINE)));
  return answers.map(({ asked, body }) => [asked, body.toString()]);
}

const packFile = ({ home }: Place) => path.join(home, 'vault', PIPELINE, 'packs', MONTH, 'r0.pack');
const recordsFile = ({ home }: Place) => path.join(home, 'vault', PIPELINE, 'fetches', MONTH, 'r0.ndjson');

describe('a pack', () => {
  test('gives back questions and bodies, gzip and plain, one by one and all together', async () => {
    const place = await emptyVault();
    const writer = writerOf(place);
    const bodies = Array.from({ length: 40 }, (_, i) => JSON.stringify({ n: i, text: 'é'.repeat(i * 20) }));
    const fetches = await Promise.all(
      bodies.map((body, i) => pack(writer, i, [{ ean: String(i), price: '0.10' }], body, i % 2 === 0)),
    );
    await writer.close();
    expect(await bodiesIn(place)).toEqual(bodies.map((body, i) => [[{ ean: String(i), price: '0.10' }], body]));
    for (const [i, fetch] of fetches.entries()) {
      expect(await place.vault.asked(fetch)).toEqual([{ ean: String(i), price: '0.10' }]);
      expect(Buffer.concat(await gathered(place.vault.answer(fetch, true))).toString()).toBe(bodies[i]);
    }
    expect(place.warnings).toEqual([]);
  });

  test('is named by the path of its fetch', async () => {
    const place = await emptyVault();
    const writer = writerOf(place);
    const first = await pack(writer, 1, [], 'body', true);
    const second = await pack(writer, 2, [], 'body');
    await writer.close();
    const pack1 = packPlace(first.vault_path!)!;
    expect(pack1).toMatchObject({ pack: `vault/${PIPELINE}/packs/${MONTH}/r0.pack`, offset: 0, isGzip: true });
    expect(packPlace(second.vault_path!)).toMatchObject({ offset: pack1.length, isGzip: false });
    expect((await readFile(packFile(place))).length).toBe(pack1.length + packPlace(second.vault_path!)!.length);
  });

  test('makes nothing on the disk before the first entry', async () => {
    const place = await emptyVault();
    await writerOf(place).close();
    expect(await readdir(place.home)).toEqual([]);
  });

  test('is with the operating system when a record resolves: a killed run loses nothing', async () => {
    const place = await emptyVault();
    const writer = writerOf(place);
    await Promise.all([1, 2, 3].map((n) => pack(writer, n, [n], `body ${n}`)));
    expect(await bodiesIn(place)).toEqual([1, 2, 3].map((n) => [[n], `body ${n}`]));
    await writer.close();
  });

  test('keeps an entry whose record never came, and tells nothing of it', async () => {
    const place = await emptyVault();
    const writer = writerOf(place);
    await writer.add([], Buffer.from('unrecorded'), false);
    await pack(writer, 2, [], 'recorded');
    await writer.close();
    expect(await bodiesIn(place)).toEqual([[[], 'recorded']]);
  });

  test('holds records of failed fetches, which have no answer', async () => {
    const place = await emptyVault();
    const writer = writerOf(place);
    await writer.record(fetchOf(1, { status: 429, outcome: 'failed' }));
    await writer.close();
    expect(await idsIn(place)).toEqual([fetchOf(1).fetch_id]);
    expect(await bodiesIn(place)).toEqual([]);
  });

  test('is never written over: another run of the same name fails and goes on failing', async () => {
    const place = await emptyVault();
    const writer = writerOf(place);
    await pack(writer, 1, [], 'first');
    await writer.close();
    const second = writerOf(place);
    await expect(pack(second, 2, [], 'second')).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(pack(second, 3, [], 'third')).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(second.close()).rejects.toMatchObject({ code: 'EEXIST' });
    expect(await bodiesIn(place)).toEqual([[[], 'first']]);
  });

  test('takes nothing after its end', async () => {
    const writer = writerOf(await emptyVault());
    await writer.close();
    await expect(writer.add([], Buffer.from('x'), false)).rejects.toMatchObject({ kind: 'bug' });
  });
});

describe('after a power cut', () => {
  test('a torn last record is left out with a warning', async () => {
    const place = await emptyVault();
    const writer = writerOf(place);
    for (const n of [1, 2]) await pack(writer, n, [n], `body ${n}`);
    await writer.close();
    await appendFile(recordsFile(place), '{"fetch_id":"f9","vault');
    expect(await bodiesIn(place)).toEqual([
      [[1], 'body 1'],
      [[2], 'body 2'],
    ]);
    expect(place.warnings).toEqual([expect.stringContaining('line 3 is torn')]);
  });

  test('records that are zeros are left out with a warning', async () => {
    const place = await emptyVault();
    const writer = writerOf(place);
    await pack(writer, 1, [1], 'body 1');
    await writer.close();
    await appendFile(recordsFile(place), Buffer.alloc(100));
    expect(await idsIn(place)).toEqual([fetchOf(1).fetch_id]);
    expect(place.warnings).toHaveLength(1);
  });

  test('a record whose bytes are missing is left out with a warning', async () => {
    const place = await emptyVault();
    const writer = writerOf(place);
    for (const n of [1, 2]) await pack(writer, n, [n], `body ${n}`);
    await writer.close();
    await truncate(packFile(place), (await readFile(packFile(place))).length - 1);
    expect(await idsIn(place)).toEqual([fetchOf(1).fetch_id]);
    expect(place.warnings).toEqual([expect.stringContaining(fetchOf(2).fetch_id)]);
  });

  test('a record whose bytes are others is left out of the answers, and verifying it says so', async () => {
    const place = await emptyVault();
    const writer = writerOf(place);
    const fetches = [];
    for (const n of [1, 2, 3]) fetches.push(await pack(writer, n, [n], `body ${n}`));
    await writer.close();
    const bytes = await readFile(packFile(place));
    await writeFile(
      packFile(place),
      bytes.fill(0, packPlace(fetches[1]!.vault_path!)!.offset, packPlace(fetches[2]!.vault_path!)!.offset),
    );
    expect(await bodiesIn(place)).toEqual([
      [[1], 'body 1'],
      [[3], 'body 3'],
    ]);
    expect(place.warnings).toEqual([expect.stringContaining(fetchOf(2).fetch_id)]);
    const damaged = {
      kind: 'failed',
      code: 'damaged_answer',
      hint: 'fetch it again: partner-etl run commission-rates',
    };
    await expect(gathered(place.vault.answer(fetches[1]!, true))).rejects.toMatchObject(damaged);
    await expect(place.vault.asked(fetches[1]!)).rejects.toMatchObject(damaged);
  });

  test('a pack that is gone is told', async () => {
    const place = await emptyVault();
    const fetch = fetchOf(1, { vault_path: `vault/${PIPELINE}/packs/${MONTH}/r0.pack@0+10`, sha256: 'x' });
    expect(await gathered(place.vault.readAnswers([fetch]))).toEqual([]);
    expect(place.warnings).toHaveLength(1);
    await expect(gathered(place.vault.answer(fetch))).rejects.toMatchObject({ code: 'damaged_answer' });
  });
});

describe('fetch records', () => {
  test('of runs and of single fetches come oldest first', async () => {
    const place = await emptyVault();
    const run = async (runId: string, month: string, numbers: number[]) => {
      const writer = writerOf(place, runId, month);
      for (const n of numbers) await writer.record(fetchOf(n));
      await writer.close();
    };
    const idOf = (letter: string, n: number) => letter + fetchOf(n).fetch_id.slice(1);
    await run(idOf('r', 10), MONTH, [13, 11, 15, 12]);
    await run(idOf('r', 14), MONTH, [17, 16]);
    await run(idOf('r', 1), '2026-02', [3, 2]);
    for (const n of [9, 14, 20]) await place.vault.record(fetchOf(n));
    const ids = (numbers: number[]) => numbers.map((n) => fetchOf(n).fetch_id);
    expect(await idsIn(place)).toEqual(ids([2, 3, 9, 11, 12, 13, 14, 15, 16, 17, 20]));
    expect(await idsIn(place, MONTH)).toEqual(ids([9, 11, 12, 13, 14, 15, 16, 17, 20]));
  });

  test('of a large run come in order though calls overtake each other', async () => {
    const place = await emptyVault();
    await mkdir(path.dirname(recordsFile(place)), { recursive: true });
    const order = Array.from({ length: 6400 }, (_, i) => i ^ 63);
    await writeFile(recordsFile(place), order.map((n) => `${JSON.stringify(fetchOf(n))}\n`).join(''));
    expect(await idsIn(place)).toEqual(Array.from({ length: 6400 }, (_, i) => fetchOf(i).fetch_id));
  });

  test('large answers of several packs are read in bounded groups', async () => {
    const place = await emptyVault();
    const body = 'x'.repeat(1_500_000);
    const writers = ['r', 'r0'].map((runId) => writerOf(place, runId));
    for (const n of [1, 2, 3, 4, 5, 6, 7, 8]) await pack(writers[n % 2]!, n, [n], `${n}${body}`);
    for (const writer of writers) await writer.close();
    const answers = await gathered(place.vault.readAnswers(place.vault.fetches(PIPELINE)));
    expect(answers.map(({ asked }) => asked)).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((n) => [n]));
  });
});
