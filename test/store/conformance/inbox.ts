/** The inbox of push messages, whichever engine holds the state. */
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { State } from '../../../src/store/state.ts';
import {
  hasMessage,
  inboxSize,
  lastDelivery,
  type NewDelivery,
  ROW_BYTES,
  readInbox,
  removeDeliveries,
  replaceBody,
  type StoredDelivery,
  storeDeliveries,
} from '../../../src/store/tables/inbox.ts';
import { FakeClock } from '../../support/clock.ts';
import type { StatePlace } from '../conformance.ts';

export function inboxConformance(newPlace: () => Promise<StatePlace>): void {
  describe('the inbox', () => {
    let place: StatePlace;
    let state: State;
    let clock: FakeClock;
    beforeEach(async () => {
      place = await newPlace();
      state = await place.open();
      clock = new FakeClock(Date.parse('2026-03-20T02:00:00Z'));
    });
    afterEach(async () => {
      await state.close();
      await place.remove();
    });

    const deliveryOf = (body: Uint8Array, resourceId = '1'): NewDelivery => ({
      receivedAtMs: clock.now(),
      sourceAddress: '35.204.195.116',
      keyId: '0',
      resource: 'PROCESS_STATUS',
      resourceId,
      bodySha256: createHash('sha256').update(body).digest('hex'),
      body,
    });
    const numbered = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, i) => deliveryOf(Buffer.from(String(from + i))));
    const store = (...deliveries: NewDelivery[]) => storeDeliveries(state, deliveries, clock);
    const all = async () => {
      const upTo = await lastDelivery(state.db);
      return upTo === null ? [] : readInbox(state.db, { after: null, upTo, limit: 1e6 });
    };
    const texts = (deliveries: readonly StoredDelivery[]) => deliveries.map(({ body }) => Buffer.from(body).toString());

    test('gives back every byte and everything that is known of a delivery', async () => {
      const body = Buffer.from([0, 1, 0xff, 0xfe, ...Buffer.from('{"é":"\\u0000"}')]);
      const within = body.subarray(1); // of a larger memory
      await store(deliveryOf(body), deliveryOf(within), deliveryOf(Buffer.alloc(0)));
      const { resource: _, resourceId: __, ...kept } = deliveryOf(within);
      const [, second, third] = await all();
      expect(second).toEqual({
        ...kept,
        deliveryId: expect.stringMatching(/^d[0-9a-z]{24}$/),
        body: new Uint8Array(within),
      });
      expect(third?.body.length).toBe(0);
    });

    test('keeps the order in which they were stored, also within a millisecond and where the clock is set back', async () => {
      await store(...numbered(0, 1200));
      await store(...numbered(1200, 1203));
      clock.set(clock.now() - 3_600_000);
      await store(...numbered(1203, 1205));
      expect(texts(await all())).toEqual(numbered(0, 1205).map(({ body }) => Buffer.from(body).toString()));
    });

    test('is read in pages up to a delivery', async () => {
      await store(...numbered(0, 5));
      const upTo = (await lastDelivery(state.db))!;
      await store(...numbered(5, 6));
      const first = await readInbox(state.db, { after: null, upTo, limit: 3 });
      const after = first.at(-1)!.deliveryId;
      expect(texts(first)).toEqual(['0', '1', '2']);
      expect(texts(await readInbox(state.db, { after, upTo, limit: 3 }))).toEqual(['3', '4']);
    });

    test('knows how much waits in it after every change', async () => {
      expect(await inboxSize(state.db)).toEqual({ messages: 0, bytes: 0 });
      expect(await store(...numbered(8, 12))).toEqual({ messages: 4, bytes: 6 + 4 * ROW_BYTES });
      const [first, second] = await all();
      await removeDeliveries(state, second!.deliveryId);
      expect(await inboxSize(state.db)).toEqual({ messages: 2, bytes: 4 + 2 * ROW_BYTES });
      expect(texts(await all())).toEqual(['10', '11']);
      await removeDeliveries(state, first!.deliveryId); // once more
      await removeDeliveries(state, (await lastDelivery(state.db))!);
      expect(await inboxSize(state.db)).toEqual({ messages: 0, bytes: 0 });
      expect(await lastDelivery(state.db)).toBeNull();
    });

    test('is emptied up to a delivery, however much that is', async () => {
      await store(...numbered(0, 10_001));
      const upTo = (await lastDelivery(state.db))!;
      await store(...numbered(10_001, 10_003));
      await removeDeliveries(state, upTo);
      expect(texts(await all())).toEqual(['10001', '10002']);
      expect(await inboxSize(state.db)).toEqual({ messages: 2, bytes: 10 + 2 * ROW_BYTES });
    });

    test('of what was stored together is there all or nothing', async () => {
      const wrong = { ...deliveryOf(Buffer.from('x')), sourceAddress: null } as unknown as NewDelivery;
      await expect(store(...numbered(0, 600), wrong)).rejects.toThrow();
      expect([await all(), await inboxSize(state.db)]).toEqual([[], { messages: 0, bytes: 0 }]);
    });

    test('tells whether a message about something has come since', async () => {
      const wanted = (resourceId: string, sinceMs: number) =>
        hasMessage(state.db, { resource: 'PROCESS_STATUS', resourceId, sinceMs });
      const since = clock.now();
      await store(deliveryOf(Buffer.from('a'), '77'));
      clock.set(since + 5);
      await store(deliveryOf(Buffer.from('b'), '78'));
      expect([await wanted('77', since), await wanted('77', since + 1)]).toEqual([true, false]);
      expect([await wanted('78', since + 5), await wanted('79', since)]).toEqual([true, false]);
    });

    test('has other bodies put in the place of some, unless they are gone', async () => {
      await store(...numbered(0, 2));
      const [first, second] = await all();
      const anew = { ...deliveryOf(Buffer.from('erased-1'), '9'), deliveryId: first!.deliveryId };
      await replaceBody(state, anew);
      expect(texts(await all())).toEqual(['erased-1', '1']);
      expect(await inboxSize(state.db)).toEqual({ messages: 2, bytes: 9 + 2 * ROW_BYTES });
      await removeDeliveries(state, second!.deliveryId);
      await replaceBody(state, anew);
      expect(await inboxSize(state.db)).toEqual({ messages: 0, bytes: 0 });
    });
  });
}
