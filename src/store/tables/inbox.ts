/** The inbox: push messages from the moment they are answered until the pipeline has made rows of them. */
import type { ExpressionBuilder } from 'kysely';
import { ACCOUNT } from '../../core/account.ts';
import { type Clock, isoTime } from '../../core/clock.ts';
import { bornMs, earliestId, newId } from '../../core/ids.ts';
import type { State, StateDb, StateTransaction } from '../state.ts';
import type { StateTables } from './tables.ts';

/** One delivery of a message, accepted. Nobody changes the body afterwards. */
export interface Delivery {
  readonly receivedAtMs: number;
  readonly sourceAddress: string;
  readonly keyId: string;
  /** Of the body, lower-case hex. */
  readonly bodySha256: string;
  readonly body: Uint8Array;
}

export interface NewDelivery extends Delivery {
  readonly resource: string;
  readonly resourceId: string;
}

export interface StoredDelivery extends Delivery {
  /** Names it for ever. Sorts behind everything that was stored before it. */
  readonly deliveryId: string;
}

export interface InboxSize {
  readonly messages: number;
  /** Of the bodies, and of what is kept beside them. */
  readonly bytes: number;
}

/** What a row takes beside its body, with its place in the index. */
export const ROW_BYTES = 300;
/** Rows of one statement: SQLite takes 32,766 values. */
const ROWS_A_STATEMENT = 500;
/** Of one transaction: some 0.1 s. */
const ROWS_REMOVED = 10_000;

/** Stores the deliveries in their order, all or none; they are on disk when it resolves. Returns how much waits then. */
export function storeDeliveries(state: State, deliveries: readonly NewDelivery[], clock: Clock): Promise<InboxSize> {
  return state.write(async (tx) => {
    const batchId = await nextId(tx, clock);
    const rows = deliveries.map((one, i) => rowOf(one, `${batchId}${String(i).padStart(6, '0')}`));
    for (let at = 0; at < rows.length; at += ROWS_A_STATEMENT)
      await tx
        .insertInto('inbox')
        .values(rows.slice(at, at + ROWS_A_STATEMENT))
        .execute();
    return changeSize(
      tx,
      rows.length,
      rows.reduce((sum, { body }) => sum + body.length, 0),
    );
  });
}

/** Behind all that wait, also where the clock was set back: who has read up to an id has read all that came before it. */
async function nextId(tx: StateTransaction, clock: Clock): Promise<string> {
  const last = await lastDelivery(tx);
  const id = newId('d', clock);
  return last === null || id > last ? id : newId('d', { ...clock, now: () => bornMs(last) + 1 });
}

function rowOf(delivery: NewDelivery, deliveryId: string) {
  const { receivedAtMs, sourceAddress, keyId, resource, resourceId, bodySha256, body } = delivery;
  return {
    account: ACCOUNT,
    delivery_id: deliveryId,
    received_at: isoTime(receivedAtMs),
    source_address: sourceAddress,
    key_id: keyId,
    resource,
    resource_id: resourceId,
    body_sha256: bodySha256,
    body: Buffer.from(body.buffer, body.byteOffset, body.byteLength),
  };
}

async function changeSize(tx: StateTransaction, messages: number, bodyBytes: number): Promise<InboxSize> {
  const before = await storedSize(tx);
  const size = { messages: before.messages + messages, body_bytes: before.body_bytes + bodyBytes };
  await tx
    .insertInto('inbox_size')
    .values({ account: ACCOUNT, ...size })
    .onConflict((conflict) => conflict.column('account').doUpdateSet(size))
    .execute();
  return sizeOf(size);
}

/** How much waits. */
export async function inboxSize(db: StateDb): Promise<InboxSize> {
  return sizeOf(await storedSize(db));
}

function sizeOf({ messages, body_bytes }: { messages: number; body_bytes: number }): InboxSize {
  return { messages, bytes: body_bytes + messages * ROW_BYTES };
}

async function storedSize(db: StateDb): Promise<{ messages: number; body_bytes: number }> {
  const size = await db
    .selectFrom('inbox_size')
    .select(['messages', 'body_bytes'])
    .where('account', '=', ACCOUNT)
    .executeTakeFirst();
  return size ?? { messages: 0, body_bytes: 0 };
}

/** The id of what was stored last; null where nothing waits. */
export async function lastDelivery(db: StateDb): Promise<string | null> {
  const last = await db
    .selectFrom('inbox')
    .select('delivery_id')
    .where('account', '=', ACCOUNT)
    .orderBy('delivery_id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return last?.delivery_id ?? null;
}

export interface InboxPage {
  /** Id of the delivery before the first one; null: from the beginning. */
  readonly after: string | null;
  /** Id of the last one that is wanted. */
  readonly upTo: string;
  readonly limit: number;
}

/** The next deliveries in the order of their ids. */
export async function readInbox(db: StateDb, { after, upTo, limit }: InboxPage): Promise<StoredDelivery[]> {
  const rows = await db
    .selectFrom('inbox')
    .select(['delivery_id', 'received_at', 'source_address', 'key_id', 'body_sha256', 'body'])
    .where('account', '=', ACCOUNT)
    .where('delivery_id', '>', after ?? '')
    .where('delivery_id', '<=', upTo)
    .orderBy('delivery_id')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    deliveryId: row.delivery_id,
    receivedAtMs: Date.parse(row.received_at),
    sourceAddress: row.source_address,
    keyId: row.key_id,
    bodySha256: row.body_sha256,
    body: new Uint8Array(row.body),
  }));
}

/**
 * Deletes what has become rows of the lake, some thousands a transaction: 100,000 in one kept the receiver waiting for a second. What
 * a crash leaves is taken in again, and known by its ids.
 */
export async function removeDeliveries(state: State, upTo: string): Promise<void> {
  for (let isOver = false; !isOver; ) isOver = await state.write((tx) => removeSome(tx, upTo));
}

/** Returns whether nothing is left of it. */
async function removeSome(tx: StateTransaction, upTo: string): Promise<boolean> {
  const waiting = tx.selectFrom('inbox').where('account', '=', ACCOUNT).where('delivery_id', '<=', upTo);
  const next = await waiting
    .select('delivery_id')
    .orderBy('delivery_id')
    .offset(ROWS_REMOVED)
    .limit(1)
    .executeTakeFirst();
  const isGone = (id: ExpressionBuilder<StateTables, 'inbox'>) =>
    next === undefined ? id('delivery_id', '<=', upTo) : id('delivery_id', '<', next.delivery_id);
  const { messages, bodyBytes } = await waiting
    .where(isGone)
    .select(({ fn }) => [fn.countAll<number>().as('messages'), fn.sum<number>(fn('length', ['body'])).as('bodyBytes')])
    .executeTakeFirstOrThrow();
  await tx.deleteFrom('inbox').where('account', '=', ACCOUNT).where(isGone).execute();
  await changeSize(tx, -messages, -(bodyBytes ?? 0));
  return next === undefined;
}

export interface WantedMessage {
  readonly resource: string;
  readonly resourceId: string;
  /** Received no earlier; epoch milliseconds. */
  readonly sinceMs: number;
}

/** Whether a message about the resource waits. */
export async function hasMessage(db: StateDb, { resource, resourceId, sinceMs }: WantedMessage): Promise<boolean> {
  const found = await db
    .selectFrom('inbox')
    .select('delivery_id')
    .where('account', '=', ACCOUNT)
    .where('delivery_id', '>=', earliestId('d', sinceMs))
    .where('received_at', '>=', isoTime(sinceMs))
    .where('resource', '=', resource)
    .where('resource_id', '=', resourceId)
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** Puts another body, which says the same of other things, in the place of one that waits. */
export async function replaceBody(
  state: State,
  { deliveryId, ...delivery }: StoredDelivery & NewDelivery,
): Promise<void> {
  const { resource, resource_id, body_sha256, body } = rowOf(delivery, deliveryId);
  await state.write(async (tx) => {
    const { bytes } =
      (await tx
        .selectFrom('inbox')
        .select(({ fn }) => fn<number>('length', ['body']).as('bytes'))
        .where('account', '=', ACCOUNT)
        .where('delivery_id', '=', deliveryId)
        .executeTakeFirst()) ?? {};
    if (bytes === undefined) return; // it was taken in meanwhile
    await tx
      .updateTable('inbox')
      .set({ resource, resource_id, body_sha256, body })
      .where('account', '=', ACCOUNT)
      .where('delivery_id', '=', deliveryId)
      .execute();
    await changeSize(tx, 0, body.length - bytes);
  });
}
