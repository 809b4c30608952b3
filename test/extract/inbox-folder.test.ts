import { readdir, stat, truncate, utimes } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { hasDelivery, sealedSegments } from '../../src/extract/inbox.ts';
import { deliveriesIn, delivery, deliveryOf, emptyInbox, numberOf, segmentOf } from './inbox-scene.ts';

describe('whether a message was delivered', () => {
  const at = (second: number) => delivery(second).receivedAtMs;
  const MESSAGE = { retailerId: 1, timestamp: '2026-03-20T03:00:00+01:00' };

  test('is found in what is being written and in what is ready', async () => {
    const inbox = await emptyInbox();
    const has = (id: string, resource = 'PROCESS_STATUS') => hasDelivery(inbox.folder, resource, id, at(0));
    expect(await has('1')).toBe(false);
    const writer = await inbox.writer();
    expect(await has('1')).toBe(false);
    await writer.append(delivery(1));
    expect([await has('1'), await has('2'), await has('1', 'SHIPMENT'), await has('SUCCESS')]).toEqual([
      true,
      false,
      false,
      false,
    ]);
    await writer.close();
    expect(await has('1')).toBe(true);
  });

  test('is found also where it is written otherwise: as a number, or with escapes', async () => {
    const inbox = await emptyInbox();
    const writer = await inbox.writer();
    const event = { resource: 'PROCESS_STATUS', type: 'SUCCESS', resourceId: 77 };
    await writer.append(deliveryOf(JSON.stringify({ ...MESSAGE, event })));
    await writer.append(
      deliveryOf(JSON.stringify({ ...MESSAGE, event: { ...event, resourceId: 'a/b' } }).replace('a/b', 'a\\/\\u0062')),
    );
    const has = (id: string) => hasDelivery(inbox.folder, 'PROCESS_STATUS', id, at(0));
    expect([await has('77'), await has('7'), await has('a/b')]).toEqual([true, false, true]);
  });

  test('is found wherever in a large segment it stands, also across two pieces that are read', async () => {
    const inbox = await emptyInbox();
    const PIECE_BYTES = 256 * 1024;
    const id = '1234567';
    const idAt = segmentOf(deliveryOf(''), delivery(Number(id))).bytes.indexOf(id);
    for (let before = 0; before <= id.length; before++) {
      const { bytes } = segmentOf(deliveryOf('x'.repeat(PIECE_BYTES - idAt - before)), delivery(Number(id)));
      expect(bytes.indexOf(id)).toBe(PIECE_BYTES - before);
      await inbox.leaveOpen('f1', bytes);
      expect(await hasDelivery(inbox.folder, 'PROCESS_STATUS', id, at(0))).toBe(true);
    }
  });

  test('does not count what was received before', async () => {
    const inbox = await emptyInbox();
    const writer = await inbox.writer();
    await writer.append(delivery(5));
    expect(await hasDelivery(inbox.folder, 'PROCESS_STATUS', '5', at(5))).toBe(true);
    expect(await hasDelivery(inbox.folder, 'PROCESS_STATUS', '5', at(5) + 1)).toBe(false);
  });

  test('is not looked for in segments that were not touched since', async () => {
    const inbox = await emptyInbox();
    await inbox.leaveOpen('f1', segmentOf(delivery(5)).bytes);
    const file = path.join(inbox.folder, 'open', 'f1.segment');
    const found = () => hasDelivery(inbox.folder, 'PROCESS_STATUS', '5', at(5));
    await utimes(file, new Date(at(5)), new Date(at(4)));
    expect(await found()).toBe(true); // files' times are not exact
    await utimes(file, new Date(at(5)), new Date(at(1)));
    expect(await found()).toBe(false);
  });

  test('is found before a torn end, and bodies that are no messages do not matter', async () => {
    const inbox = await emptyInbox();
    await inbox.leaveOpen('f1', segmentOf(deliveryOf('5'), deliveryOf('{"5":'), delivery(5), delivery(6)).bytes);
    const file = path.join(inbox.folder, 'open', 'f1.segment');
    await truncate(file, (await stat(file)).size - 1);
    const has = (id: string) => hasDelivery(inbox.folder, 'PROCESS_STATUS', id, at(0));
    expect([await has('5'), await has('6')]).toEqual([true, false]);
  });
});

test('a segment that is ready is listed with its size, the oldest first; other files are not', async () => {
  const inbox = await emptyInbox();
  expect(await sealedSegments(inbox.folder)).toEqual([]);
  const writer = await inbox.writer();
  for (const n of [0, 1]) {
    await writer.append(delivery(n));
    await writer.seal();
  }
  await inbox.leaveOpen('f9', segmentOf(delivery(9)).bytes);
  const segments = await sealedSegments(inbox.folder);
  const names = (await readdir(path.join(inbox.folder, 'ready'))).sort();
  expect(segments).toEqual(
    names.map((name) => ({
      id: name.replace('.segment', ''),
      file: path.join(inbox.folder, 'ready', name),
      bytes: segmentOf(delivery(0)).bytes.length,
    })),
  );
  expect((await deliveriesIn(segments[1]!.file)).map(numberOf)).toEqual([1]);
});
