/** Deliveries of push messages, and an inbox that they are laid into as the receiver does it. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Clock } from '../../src/core/clock.ts';
import { parsePushMessage } from '../../src/extract/push-message.ts';
import { openSqliteState } from '../../src/store/sqlite/state.ts';
import type { State } from '../../src/store/state.ts';
import {
  lastDelivery,
  type NewDelivery,
  readInbox,
  type StoredDelivery,
  storeDeliveries,
} from '../../src/store/tables/inbox.ts';

const SINCE_MS = Date.parse('2026-03-20T02:00:00Z');

/** The delivery of a message with that number. */
export function delivery(number: number): NewDelivery {
  const event = `{"resource":"PROCESS_STATUS","type":"SUCCESS","resourceId":"${number}"}`;
  return deliveryOf(`{"retailerId":1,"timestamp":"2026-03-20T03:00:00+01:00","event":${event}}`, number);
}

/** A delivery of that body, `second` seconds after two in the morning. */
export function deliveryOf(body: string | Uint8Array, second = 0): NewDelivery {
  return deliveryAt(SINCE_MS + second * 1000, body);
}

export function deliveryAt(receivedAtMs: number, text: string | Uint8Array): NewDelivery {
  const body = Buffer.from(text);
  const bodySha256 = createHash('sha256').update(body).digest('hex');
  return { receivedAtMs, sourceAddress: '35.204.195.116', keyId: '0', ...resourceIn(body), bodySha256, body };
}

function resourceIn(body: Uint8Array): { resource: string; resourceId: string } {
  try {
    return parsePushMessage(body);
  } catch {
    return { resource: '', resourceId: '' };
  }
}

/** Lays deliveries into the inbox of a home. */
export async function layIn(home: string, clock: Clock, deliveries: readonly NewDelivery[]): Promise<void> {
  const state = await openSqliteState(path.join(home, 'state.db'));
  await storeDeliveries(state, deliveries, clock);
  await state.close();
}

/** What lies in the inbox, in the order in which it came. */
export async function waitingIn({ db }: State): Promise<StoredDelivery[]> {
  const upTo = await lastDelivery(db);
  return upTo === null ? [] : readInbox(db, { after: null, upTo, limit: 1e6 });
}

/** The same of a home that nobody has open. */
export async function waitingAt(home: string): Promise<StoredDelivery[]> {
  const state = await openSqliteState(path.join(home, 'state.db'));
  try {
    return await waitingIn(state);
  } finally {
    await state.close();
  }
}
