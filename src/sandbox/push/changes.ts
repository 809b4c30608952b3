/** Changes of what is pushed: events of shipments, key sets, and what else arrives at the receivers. Plain JSON. */
import { EtlError } from '../../core/errors.ts';
import { type DeliveryQueue, PUSH_ORDERS, type PushOrder } from './delivery-queue.ts';
import { FORGERIES } from './forgery.ts';
import { acceptedAttempts, type Forgery, type Push } from './push.ts';
import type { PushBox } from './pushes.ts';
import type { Shipments } from './shipments.ts';
import type { Rotation, SignatureKeys } from './signature-keys.ts';
import type { Subscription, Subscriptions } from './subscriptions.ts';

export type PushChange =
  /**
   * A carrier reports on a shipment, and those who subscribed to SHIPMENT get a message. With an id, that shipment (made when there is
   * none) moves on `count` times; without one there are `count` new shipments. `count` is 1 unless given.
   */
  | { readonly kind: 'shipment'; readonly shipmentId?: string; readonly count?: number }
  /** A new key set signs what is made from now on; what is under way keeps its signature. */
  | ({ readonly kind: 'rotate-keys' } & Rotation)
  /** Somebody else sends messages to every subscription, or to one: once each, without retries. `count` is 1 unless given. */
  | {
      readonly kind: 'forge-push';
      readonly how: Forgery;
      readonly subscriptionId?: string;
      readonly count?: number;
    }
  /**
   * What was accepted before is sent again, byte for byte, once: one message, or the `count` newest ones (1 unless given). Set
   * the clock first for one of years ago.
   */
  | { readonly kind: 'replay-push'; readonly messageId?: number; readonly count?: number }
  /** The order of what is due together, from now on. */
  | { readonly kind: 'push-order'; readonly order: PushOrder };

const KINDS: ReadonlySet<string> = new Set<PushChange['kind']>([
  'shipment',
  'rotate-keys',
  'forge-push',
  'replay-push',
  'push-order',
]);

/** More messages at once than any receiver gets in minutes. */
const MOST_AT_ONCE = 1_000_000;
/** What stands in an address as it is. */
const SHIPMENT_ID = /^[\w-]{1,64}$/;

/** What such changes are made in. */
export interface Pushable {
  readonly subscriptions: Subscriptions;
  readonly shipments: Shipments;
  readonly keys: SignatureKeys;
  readonly pushes: PushBox;
  readonly queue: DeliveryQueue;
  readonly baseUrl: () => string;
}

type Of<K extends PushChange['kind']> = Extract<PushChange, { kind: K }>;

export function isPushChange(change: { readonly kind: string }): change is PushChange {
  return KINDS.has(change.kind);
}

function refused(change: PushChange, why: string, hint: string): EtlError {
  return new EtlError('usage', 'bad_change', `change "${change.kind}": ${why}`, { hint });
}

function countIn(change: PushChange & { readonly count?: number }): number {
  const { count = 1 } = change;
  if (!(Number.isInteger(count) && count >= 1 && count <= MOST_AT_ONCE))
    throw refused(change, `count ${count} is not accepted`, `a whole number from 1 to ${MOST_AT_ONCE}`);
  return count;
}

function moveShipments(pushable: Pushable, change: Of<'shipment'>, now: number): void {
  const { shipments, subscriptions, pushes, baseUrl } = pushable;
  const { shipmentId } = change;
  const count = countIn(change);
  if (shipmentId !== undefined && !SHIPMENT_ID.test(shipmentId))
    throw refused(change, 'the shipmentId is not accepted', 'up to 64 letters, digits, dashes and underscores');
  for (let i = 0; i < count; i++) {
    const { event, handledAt } = shipments.move(shipmentId, now, baseUrl());
    for (const one of subscriptions.of('SHIPMENT')) pushes.put(one, event, handledAt, now);
  }
}

function rotateKeys({ keys }: Pushable, change: Of<'rotate-keys'>, now: number): void {
  const { listAfterSeconds = 0, dropOld = false } = change;
  if (!(listAfterSeconds >= 0 && listAfterSeconds <= 1e9))
    throw refused(change, 'listAfterSeconds is not accepted', 'a number of seconds from 0');
  if (typeof dropOld !== 'boolean') throw refused(change, 'dropOld is not accepted', 'true or false');
  keys.rotate({ listAfterSeconds, dropOld }, now);
}

function targetsOf({ subscriptions }: Pushable, change: Of<'forge-push'>): readonly Subscription[] {
  const { subscriptionId } = change;
  const targets = subscriptions.all.filter(({ id }) => subscriptionId === undefined || id === subscriptionId);
  if (targets.length === 0) throw refused(change, 'there is no such subscription', 'create one first');
  return targets;
}

function forgePushes(pushable: Pushable, change: Of<'forge-push'>, now: number): void {
  const { how } = change;
  if (!FORGERIES.includes(how)) throw refused(change, `how "${how}"`, `one of ${FORGERIES.join(', ')}`);
  if (how === 'dropped-key' && pushable.keys.dropped === undefined)
    throw refused(change, 'no key set was dropped', 'rotate the keys with dropOld first');
  const [targets, count] = [targetsOf(pushable, change), countIn(change)];
  for (let i = 0; i < count; i++) for (const target of targets) pushable.pushes.forge(target, how, now);
}

function isReplayable(push: Push): boolean {
  return push.forgery === null && acceptedAttempts(push).length > 0;
}

function replayPushes({ pushes, queue }: Pushable, change: Of<'replay-push'>, now: number): void {
  const { messageId } = change;
  const count = countIn(change);
  const known = pushes.messages.filter((push) => isReplayable(push) && (messageId ?? push.id) === push.id);
  if (known.length === 0)
    throw refused(change, 'no such message was accepted yet', 'take the id of a delivered one from pushes()');
  for (const push of known.slice(-count)) queue.addOnce(push, now);
}

/** Changes what is pushed; refuses (usage) what cannot be. */
export function applyPushChange(pushable: Pushable, change: PushChange, now: number): void {
  // Those who are subscribed by now get a message.
  pushable.subscriptions.advance(now);
  switch (change.kind) {
    case 'shipment':
      moveShipments(pushable, change, now);
      break;
    case 'rotate-keys':
      rotateKeys(pushable, change, now);
      break;
    case 'forge-push':
      forgePushes(pushable, change, now);
      break;
    case 'replay-push':
      replayPushes(pushable, change, now);
      break;
    case 'push-order':
      if (!PUSH_ORDERS.includes(change.order))
        throw refused(change, `order "${change.order}"`, `one of ${PUSH_ORDERS.join(', ')}`);
      pushable.queue.order = change.order;
      break;
  }
}
