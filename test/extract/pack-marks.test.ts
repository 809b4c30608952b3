/** Entries that retention takes out of a pack: what is left is where it was, and what is gone says when it went. */
import { rm, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { FetchRecord } from '../../src/core/records.ts';
import { PackWriter } from '../../src/extract/pack.ts';
import { packPlace } from '../../src/extract/pack-entry.ts';
import { punch } from '../../src/extract/pack-marks.ts';
import { FakeClock } from '../support/clock.ts';
import { emptyVault, gathered, type Place, pack } from './lookup-scene.ts';

const PIPELINE = 'commission-rates';
const AT = '2026-06-01T02:00:00.000Z';
const BIG = 'x'.repeat(300_000);

async function packed(bodies: readonly string[]): Promise<{ place: Place; file: string; fetches: FetchRecord[] }> {
  const place = await emptyVault();
  const writer = PackWriter.open(place.vault, PIPELINE, 'r0', '2026-03', new FakeClock());
  const fetches: FetchRecord[] = [];
  for (const [i, body] of bodies.entries()) fetches.push(await pack(writer, i, [i], body));
  await writer.close();
  return { place, fetches, file: path.join(place.home, packPlace(fetches[0]!.vault_path!)!.pack) };
}

const placeOf = ({ vault_path: at }: FetchRecord) => packPlace(at!)!;
const offsets = (fetches: readonly FetchRecord[]) => fetches.map((fetch) => placeOf(fetch).offset);
const extents = (fetches: readonly FetchRecord[]) => fetches.map(placeOf);
const nothing = () => undefined;

/** Of each fetch, what is told of its answer: the body's length, or when it was pruned. */
async function told({ vault }: Place): Promise<(number | string)[]> {
  const found: (number | string)[] = [];
  for (const fetch of await gathered(vault.fetches(PIPELINE)))
    found.push(fetch.pruned_at ?? Buffer.concat(await gathered(vault.answer(fetch, true))).length);
  return found;
}

describe('entries taken out of a pack', () => {
  test('say when they went; the others are there to the last byte, in a file that takes less of the disk', async () => {
    const { place, file, fetches } = await packed([BIG, 'b', BIG, 'd']);
    const before = await stat(file);
    await punch(file, offsets([fetches[0]!, fetches[2]!]), extents([fetches[1]!, fetches[3]!]), AT, nothing);
    expect(await told(place)).toEqual([AT, 1, AT, 1]);
    const after = await stat(file);
    expect(after.size).toBe(before.size);
    expect(after.blocks).toBeLessThan(before.blocks / 4);
    expect(place.warnings).toEqual([]);
  });

  test('twice are told each with its own time', async () => {
    const { place, file, fetches } = await packed(['a', 'b', 'c']);
    await punch(file, offsets([fetches[1]!]), extents([fetches[0]!, fetches[2]!]), AT, nothing);
    await punch(file, offsets([fetches[0]!]), extents([fetches[2]!]), '2026-07-01T02:00:00.000Z', nothing);
    expect(await told(place)).toEqual(['2026-07-01T02:00:00.000Z', AT, 1]);
  });

  test('all of them take the pack with them', async () => {
    const { place, file, fetches } = await packed(['a', 'b']);
    await punch(file, offsets(fetches), [], AT, nothing);
    expect(await told(place)).toEqual([AT, AT]);
    await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('are refused by name of what happened, and left out where many are read', async () => {
    const { place, file, fetches } = await packed(['a', 'b']);
    await punch(file, offsets([fetches[0]!]), extents([fetches[1]!]), AT, nothing);
    const [gone] = await gathered(place.vault.fetches(PIPELINE));
    await expect(gathered(place.vault.answer(gone!))).rejects.toMatchObject({ code: 'pruned_answer' });
    await expect(place.vault.asked(gone!)).rejects.toMatchObject({ code: 'pruned_answer' });
    const left = await gathered(place.vault.readAnswers(place.vault.fetches(PIPELINE)));
    expect(left.map(({ body }) => body.toString())).toEqual(['b']);
  });

  test.each(['marking', 'deleting'] as const)('a kill before %s leaves all of them there', async (killed) => {
    const { place, file, fetches } = await packed(['a', 'bb']);
    const kill = (name: string) => {
      if (name === killed) throw new Error('killed');
    };
    await expect(punch(file, offsets([fetches[0]!]), extents([fetches[1]!]), AT, kill)).rejects.toThrow('killed');
    expect(await told(place)).toEqual([1, 2]);
    await writeFile(`${file}.tmp`, 'left behind while the pack was written again');
    await punch(file, offsets([fetches[0]!]), extents([fetches[1]!]), AT, nothing);
    expect(await told(place)).toEqual([AT, 2]);
  });

  test('a pack that is torn or gone without a mark is damage, and not called pruned', async () => {
    const { place, file } = await packed(['a', 'bb']);
    await truncate(file, 3);
    expect(await told(place)).toEqual([]);
    expect(place.warnings).toHaveLength(2);
    await rm(file);
    expect(await told(place)).toEqual([]);
  });

  test('a mark that cannot be read marks nothing', async () => {
    const { place, file } = await packed(['a']);
    await writeFile(`${file}.pruned`, 'no JSON');
    expect(await told(place)).toEqual([1]);
  });
});
