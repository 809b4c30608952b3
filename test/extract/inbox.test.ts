import { rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { sealedSegments, sealOrphans } from '../../src/extract/inbox.ts';
import { deliveriesIn, delivery, deliveryOf, emptyInbox, type Scene, SEAL_MS, segmentOf } from './inbox-scene.ts';

const refusedWith = (code: string) => expect.objectContaining({ kind: 'retry', code });

/** Holds syncs back until they are let go. */
function heldSyncs({ disk }: Scene) {
  let letGo = () => {};
  let tellBegun = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const begun = new Promise<void>((resolve) => {
    tellBegun = resolve;
  });
  disk.beforeSync = () => {
    tellBegun();
    return held;
  };
  return { begun, letGo };
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

describe('what is appended', () => {
  test('is on the disk when append resolves, in the order in which it came', async () => {
    const inbox = await emptyInbox();
    const writer = await inbox.writer();
    await writer.append(delivery(0));
    const [name] = await inbox.names('open');
    expect(await deliveriesIn(path.join(inbox.folder, 'open', name!))).toEqual([{ ...delivery(0), position: 0 }]);
    await Promise.all(numbers(1, 50).map((n) => writer.append(delivery(n))));
    await writer.seal();
    expect(await inbox.ready()).toEqual([numbers(0, 50)]);
  });

  test('while one sync goes on goes together with the next', async () => {
    const inbox = await emptyInbox();
    const writer = await inbox.writer();
    const { begun, letGo } = heldSyncs(inbox);
    const order: number[] = [];
    const append = (n: number) => writer.append(delivery(n)).then(() => order.push(n));
    const first = append(0);
    await begun;
    const others = numbers(1, 1000).map(append);
    expect([inbox.disk.count('write'), order]).toEqual([1, []]);
    letGo();
    await first;
    await Promise.all(others);
    expect([inbox.disk.count('write'), inbox.disk.count('sync')]).toEqual([2, 2]);
    expect(order).toEqual(numbers(0, 1000));
  });

  test('is synced before it is answered, every time', async () => {
    const inbox = await emptyInbox();
    const writer = await inbox.writer();
    for (const n of numbers(0, 5)) {
      await writer.append(delivery(n));
      expect(inbox.disk.done.slice(-2)).toEqual(['write', 'sync']);
    }
  });

  test('may be empty, or of a megabyte', async () => {
    const inbox = await emptyInbox();
    const writer = await inbox.writer();
    const large = Buffer.alloc(1024 * 1024, 'x');
    await Promise.all([writer.append(deliveryOf('')), writer.append(deliveryOf(large)), writer.append(delivery(1))]);
    await writer.seal();
    const [segment] = await sealedSegments(inbox.folder);
    expect((await deliveriesIn(segment!.file)).map(({ body }) => body.length)).toEqual([
      0,
      large.length,
      delivery(1).body.length,
    ]);
  });

  test('after the end is refused', async () => {
    const inbox = await emptyInbox();
    const writer = await inbox.writer();
    await writer.close();
    await expect(writer.append(delivery(0))).rejects.toThrow(refusedWith('inbox_failed'));
    expect([await inbox.names('open'), await inbox.names('ready')]).toEqual([[], []]);
  });
});

describe('a segment', () => {
  test('is made at the first delivery, and not before', async () => {
    const inbox = await emptyInbox();
    const writer = await inbox.writer();
    await writer.seal();
    expect([await inbox.names('open'), inbox.disk.done]).toEqual([[], []]);
    await writer.append(delivery(0));
    expect(await inbox.names('open')).toEqual([expect.stringMatching(/^f[0-9a-z]{18}\.segment$/)]);
  });

  test('is sealed some time after its first delivery, however many come', async () => {
    const inbox = await emptyInbox();
    const writer = await inbox.writer();
    await writer.append(delivery(0));
    await inbox.clock.advance(SEAL_MS - 1);
    await writer.append(delivery(1));
    expect(await inbox.ready()).toEqual([]);
    await inbox.clock.advance(1);
    await writer.append(delivery(2));
    expect(await inbox.ready()).toEqual([[0, 1]]);
    await inbox.clock.advance(SEAL_MS);
    await writer.append(delivery(3));
    expect(await inbox.ready()).toEqual([[0, 1], [2]]);
  });

  test('that is sealed for its size leaves its time to nobody', async () => {
    const inbox = await emptyInbox();
    const writer = await inbox.writer({ segmentBytes: 1000 });
    const perSegment = Math.ceil(1000 / segmentOf(delivery(10)).bytes.length);
    for (const n of numbers(10, 10 + 3 * perSegment)) await writer.append(delivery(n));
    expect(inbox.clock.sleeping.length).toBeLessThanOrEqual(1);
    await writer.close();
    const ready = await inbox.ready();
    expect(ready.flat()).toEqual(numbers(10, 10 + 3 * perSegment));
    expect(ready.length).toBeGreaterThan(1);
    expect(inbox.clock.sleeping).toEqual([]);
  });

  test('is sealed at the end, with what was on its way', async () => {
    const inbox = await emptyInbox();
    const writer = await inbox.writer();
    const { begun, letGo } = heldSyncs(inbox);
    const appends = [writer.append(delivery(0))];
    await begun;
    appends.push(writer.append(delivery(1)));
    const closing = writer.close();
    letGo();
    await Promise.all([...appends, closing, writer.close()]);
    expect(await inbox.ready()).toEqual([[0, 1]]);
    expect(await inbox.names('open')).toEqual([]);
    expect(inbox.clock.sleeping).toEqual([]);
  });

  test('is sealed by seal with everything that was appended before, also what waits', async () => {
    const inbox = await emptyInbox();
    const writer = await inbox.writer();
    const appends = numbers(0, 20).map((n) => writer.append(delivery(n)));
    await writer.seal();
    expect(await inbox.ready()).toEqual([numbers(0, 20)]);
    await Promise.all(appends);
  });

  test('sorts behind those before it, also when the clock stands still or goes back', async () => {
    const inbox = await emptyInbox();
    const writer = await inbox.writer();
    for (const n of numbers(0, 6)) {
      if (n === 3) inbox.clock.set(inbox.clock.now() - 3_600_000);
      await writer.append(delivery(n));
      await writer.seal();
    }
    expect(await inbox.ready()).toEqual(numbers(0, 6).map((n) => [n]));
  });

  test('that cannot be sealed stays as it is, and goes on', async () => {
    const inbox = await emptyInbox();
    const writer = await inbox.writer();
    await writer.append(delivery(0));
    await rm(path.join(inbox.folder, 'ready'), { recursive: true });
    await expect(writer.seal()).rejects.toThrow(refusedWith('inbox_failed'));
    await writer.append(delivery(1));
    await inbox.leaveOpen('f0', segmentOf(delivery(9)).bytes); // makes the folder again
    await inbox.clock.advance(SEAL_MS);
    await writer.append(delivery(2));
    await writer.close();
    expect(await inbox.ready()).toEqual([[0, 1], [2]]);
  });
});

describe('the inbox is full', () => {
  test('when more waits for the disk than memory should hold', async () => {
    const inbox = await emptyInbox();
    const writer = await inbox.writer();
    const { begun, letGo } = heldSyncs(inbox);
    const first = writer.append(delivery(0));
    await begun;
    const large = deliveryOf(Buffer.alloc(1024 * 1024));
    const appends = numbers(0, 30).map(() => writer.append(large));
    const settled = Promise.allSettled(appends);
    letGo();
    const results = await settled;
    await first;
    const taken = results.filter(({ status }) => status === 'fulfilled').length;
    expect(taken).toBe(7);
    for (const refused of results.slice(taken))
      expect(refused).toEqual({ status: 'rejected', reason: refusedWith('inbox_full') });
    await writer.append(large);
    await writer.seal();
    expect((await inbox.ready())[0]).toHaveLength(1 + 7 + 1);
  });

  test('when all segments together are too large, until the pipeline has taken them in', async () => {
    const inbox = await emptyInbox();
    const size = segmentOf(delivery(0)).bytes.length;
    const writer = await inbox.writer({ mostBytes: 3 * size });
    for (const n of [0, 1, 2]) {
      await writer.append(delivery(n));
      await writer.seal();
      expect(writer.waitingBytes).toBe((n + 1) * size);
    }
    await expect(writer.append(delivery(3))).rejects.toThrow(refusedWith('inbox_full'));
    const [oldest] = await sealedSegments(inbox.folder);
    await rm(oldest!.file);
    await inbox.clock.advance(1000);
    // This one is still refused, and has the folder looked at again.
    await expect(writer.append(delivery(4))).rejects.toThrow(refusedWith('inbox_full'));
    await writer.seal();
    expect(writer.waitingBytes).toBe(2 * size);
    await writer.append(delivery(5));
    await writer.close();
    expect(await inbox.ready()).toEqual([[1], [2], [5]]);
  });

  test('also when what lies there is from before', async () => {
    const inbox = await emptyInbox();
    const before = await inbox.writer();
    await before.append(delivery(0));
    await before.close();
    const writer = await inbox.writer({ mostBytes: before.waitingBytes + 50 });
    await expect(writer.append(delivery(1))).rejects.toThrow(refusedWith('inbox_full'));
    expect(await inbox.names('open')).toEqual([]);
  });
});

describe('a disk that fails', () => {
  /** Appends one after the other; returns the numbers that were answered. */
  async function answered(inbox: Scene, count = 12): Promise<number[]> {
    const writer = await inbox.writer({ segmentBytes: 700 });
    const taken: number[] = [];
    for (const n of numbers(0, count)) {
      const result = await writer.append(delivery(n)).then(
        () => null,
        (error: unknown) => error,
      );
      if (result === null) taken.push(n);
      else expect(result).toEqual(refusedWith('inbox_failed'));
    }
    await writer.close();
    return taken;
  }

  test.each<[string, (operation: string, count: number) => boolean, number]>([
    ['at the first write', (operation, count) => operation === 'write' && count === 1, 1],
    ['at a later write', (operation, count) => operation === 'write' && count === 3, 1],
    ['at the first sync', (operation, count) => operation === 'sync' && count === 1, 1],
    ['at a later sync', (operation, count) => operation === 'sync' && count === 3, 1],
    ['at several syncs', (operation, count) => operation === 'sync' && count % 3 === 0, 0],
    [
      'at a write and at cutting the file',
      (operation, count) => operation === 'truncate' || (operation === 'write' && count === 3),
      1,
    ],
    ['when a segment is made', (operation, count) => operation === 'create' && count < 3, 2],
    ['at every second write', (operation, count) => operation === 'write' && count % 2 === 0, 0],
  ])('%s: what was answered is there, once and in order, and the rest was refused', async (_, fails, refused) => {
    const inbox = await emptyInbox();
    inbox.disk.fails = fails;
    const taken = await answered(inbox);
    if (refused > 0) expect(12 - taken.length).toBe(refused);
    expect(taken.length).toBeLessThan(12);
    inbox.disk.fails = () => false;
    await sealOrphans(inbox.folder);
    const there = (await inbox.ready()).flat();
    expect(there.filter((n) => taken.includes(n))).toEqual(taken);
    expect(await inbox.names('open')).toEqual([]);
    expect(inbox.log[0]).toBe('error the inbox cannot write; messages are refused');
  });

  test('for good refuses everything, says so once, and leaves what it has for the next start', async () => {
    const inbox = await emptyInbox();
    let isBroken = false;
    inbox.disk.fails = () => isBroken;
    const writer = await inbox.writer();
    await writer.append(delivery(0));
    isBroken = true;
    for (const n of numbers(1, 20))
      await expect(writer.append(delivery(n))).rejects.toThrow(refusedWith('inbox_failed'));
    expect(inbox.log).toEqual([
      'error the inbox cannot write; messages are refused',
      expect.stringMatching(/^error what the inbox segment f.* holds is left open until the receiver starts again$/),
    ]);
    isBroken = false;
    await writer.append(delivery(20));
    expect(inbox.log.at(-1)).toBe('info the inbox writes again');
    await writer.close();
    await sealOrphans(inbox.folder);
    expect((await inbox.ready()).flat()).toEqual([0, 20]);
  });

  test('refuses all that waited for it, and no file is synced after its sync has failed', async () => {
    const inbox = await emptyInbox();
    inbox.disk.fails = (operation, count) => operation === 'sync' && count === 2;
    const writer = await inbox.writer();
    await writer.append(delivery(0));
    const results = await Promise.allSettled(numbers(1, 30).map((n) => writer.append(delivery(n))));
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    await writer.append(delivery(30));
    // The first file: made, written and synced, written and not synced. Then its copy, and the next segment.
    expect(inbox.disk.done).toEqual([
      ...['create', 'write', 'sync', 'write', 'sync'],
      ...['create', 'write', 'sync'],
      ...['create', 'write', 'sync'],
    ]);
    await writer.close();
    expect(await inbox.ready()).toEqual([[0], [30]]);
  });
});
