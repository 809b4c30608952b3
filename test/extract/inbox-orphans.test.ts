import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { sealOrphans } from '../../src/extract/inbox.ts';
import { FORMAT_LINE } from '../../src/extract/inbox-segment.ts';
import { delivery, deliveryOf, emptyInbox, logInto, segmentOf, tornIn } from './inbox-scene.ts';

const { bytes, starts } = segmentOf(delivery(0), delivery(1), delivery(2));
const [, SECOND = 0, THIRD = 0] = starts;
const idOf = (number: number) => `f${String(number).padStart(6, '0')}`;

/** Seals segments that were left open with these bytes, all in one inbox. */
async function sealed(left: readonly Uint8Array[]) {
  const inbox = await emptyInbox();
  for (const [i, one] of left.entries()) await inbox.leaveOpen(idOf(i), one);
  const log: string[] = [];
  const result = await sealOrphans(inbox.folder, logInto(log));
  expect(await inbox.names('open')).toEqual([]);
  return { ...result, inbox, log, numbers: await inbox.ready(), torn: await tornIn(inbox) };
}

/** Lengths up to `to`: every one near to the ends, and every fourth between. */
function lengthsFrom(from: number, to: number): number[] {
  const all = Array.from({ length: to - from }, (_, i) => from + i);
  return all.filter((length) => length - from < 16 || to - length < 4 || length % 4 === 0);
}

function flipped(bit: number): Buffer {
  const other = Buffer.from(bytes);
  other[bit >> 3]! ^= 1 << (bit & 7);
  return other;
}

/** All bits of the first bytes in the range, which are a frame's length, and one of every fifth byte. */
function bitsIn(from: number, to: number): number[] {
  const length = Array.from({ length: 32 }, (_, i) => from * 8 + i);
  const others = Array.from({ length: Math.ceil((to - from - 4) / 5) }, (_, i) => (from + 4 + i * 5) * 8 + (i & 7));
  return [...length, ...others];
}

describe('a segment that was left open', () => {
  test('is made ready as it is when it is whole', async () => {
    const { sealed: count, numbers, torn, log } = await sealed([bytes, segmentOf(delivery(3)).bytes]);
    expect([count, numbers, torn.size, log]).toEqual([2, [[0, 1, 2], [3]], 0, []]);
  });

  test('loses its torn last frame, which was never answered, wherever it is torn', async () => {
    const lengths = lengthsFrom(THIRD, bytes.length);
    const { numbers, torn, log } = await sealed(lengths.map((length) => bytes.subarray(0, length)));
    expect(numbers).toEqual(lengths.map(() => [0, 1]));
    expect([torn.size, log]).toEqual([0, []]);
  });

  test('is deleted when no frame of it is whole', async () => {
    const lengths = lengthsFrom(0, SECOND);
    const { sealed: count, numbers, torn } = await sealed(lengths.map((length) => bytes.subarray(0, length)));
    expect([count, numbers, torn.size]).toEqual([0, [], 0]);
  });

  test('can be taken up again after an interruption, and is not touched any more when it is ready', async () => {
    const { inbox } = await sealed([bytes.subarray(0, bytes.length - 5), bytes]);
    const ready = await inbox.ready();
    for (let again = 0; again < 3; again++) {
      expect(await sealOrphans(inbox.folder)).toEqual({ sealed: 0, torn: [] });
      expect(await inbox.ready()).toEqual(ready);
    }
    // The rename of one was forgotten: it lies in `open` once more.
    await inbox.leaveOpen(idOf(0), bytes.subarray(0, THIRD));
    expect(await sealOrphans(inbox.folder)).toEqual({ sealed: 1, torn: [] });
    expect(await inbox.ready()).toEqual(ready);
  });

  test('is not there where there is no inbox', async () => {
    const { folder } = await emptyInbox();
    expect(await sealOrphans(folder)).toEqual({ sealed: 0, torn: [] });
  });

  test('stands beside other files, which stay; a copy that was not finished goes', async () => {
    const inbox = await emptyInbox();
    await inbox.leaveOpen(idOf(1), bytes);
    const open = path.join(inbox.folder, 'open');
    await writeFile(path.join(open, 'notes.txt'), 'x');
    await writeFile(path.join(open, `${idOf(1)}.segment.copy`), bytes.subarray(0, 40));
    expect(await sealOrphans(inbox.folder)).toEqual({ sealed: 1, torn: [] });
    expect(await readdir(open)).toEqual(['notes.txt']);
    expect(await inbox.ready()).toEqual([[0, 1, 2]]);
  });
});

describe('nothing that might have been answered is lost silently', () => {
  test.each([
    ['a frame in the middle', SECOND, THIRD, [0]],
    ['the last frame', THIRD, bytes.length, [0, 1]],
    ['the first frame', starts[0]!, SECOND, []],
  ])('when a bit of %s is another: it and what follows is kept and told', async (_, from, to, sound) => {
    const bits = bitsIn(from, to);
    const { numbers, torn, torn: kept, log } = await sealed(bits.map(flipped));
    expect(numbers).toEqual(sound.length === 0 ? [] : bits.map(() => sound));
    expect(kept.size).toBe(bits.length);
    for (const [i, bit] of bits.entries()) expect(torn.get(idOf(i))).toEqual(flipped(bit).subarray(from));
    expect(log).toHaveLength(bits.length);
    expect(log[0]).toMatch(new RegExp(`^warn inbox segment f000000: delivery ${sound.length} is damaged, .*kept$`));
  });

  test('when a bit of the format line is another: the whole is kept and told', async () => {
    const bits = Array.from({ length: FORMAT_LINE.length }, (_, i) => i * 8 + (i & 7));
    const { sealed: count, torn } = await sealed(bits.map(flipped));
    expect([count, torn.size]).toEqual([0, bits.length]);
    expect(torn.get(idOf(3))).toEqual(flipped(bits[3]!));
  });

  test.each([
    ['zeros, as after a power cut', Buffer.concat([bytes.subarray(0, THIRD), Buffer.alloc(300)])],
    ['a frame that is zero in its middle', Buffer.from(bytes).fill(0, THIRD + 60, THIRD + 90)],
    [
      'a missing piece',
      Buffer.concat([bytes.subarray(0, THIRD + 20), bytes.subarray(THIRD + 40), bytes.subarray(SECOND)]),
    ],
    ['something else behind a whole frame', Buffer.concat([bytes.subarray(0, THIRD), Buffer.from('partner-etl')])],
  ])('when there are %s', async (_, left) => {
    const { numbers, torn, torn: kept } = await sealed([left]);
    expect([numbers, kept.size]).toEqual([[[0, 1]], 1]);
    expect(torn.get(idOf(0))).toEqual(left.subarray(THIRD));
  });

  test('and a second damage does not overwrite the first', async () => {
    const { inbox, torn } = await sealed([flipped(SECOND * 8 + 100)]);
    await inbox.leaveOpen(idOf(1), flipped(THIRD * 8 + 100));
    const { torn: files } = await sealOrphans(inbox.folder);
    expect(files).toEqual([path.join(inbox.folder, 'ready', `${idOf(1)}.torn`)]);
    expect([...(await tornIn(inbox)).entries()][0]).toEqual([...torn.entries()][0]);
  });
});

describe('a body that looks like frames', () => {
  const inner = segmentOf(delivery(9)).bytes.subarray(FORMAT_LINE.length);
  const beginning = Buffer.from('\0\x0f\xff\xf0....\0\0\0\x40{"at":', 'latin1');
  const many = Buffer.concat(Array.from({ length: 60_000 }, () => beginning));

  test.each([
    ['holds a whole frame', Buffer.concat([Buffer.from('x'), inner, Buffer.from('yy')])],
    [
      'holds the beginnings of thousands of large frames',
      Buffer.concat([many, Buffer.alloc(1_000_000 - many.length / 2)]),
    ],
  ])('and %s is one delivery; torn, it is rather kept than lost', async (_, body) => {
    const whole = segmentOf(delivery(0), deliveryOf(body), delivery(2)).bytes;
    const torn = segmentOf(delivery(0), deliveryOf(body)).bytes.subarray(0, -1);
    const result = await sealed([whole, torn]);
    expect(result.numbers.map((segment) => [segment.length, segment[0], segment[2]])).toEqual([
      [3, 0, 2],
      [1, 0, undefined],
    ]);
    expect([...result.torn.keys()]).toEqual([idOf(1)]);
  });
});
