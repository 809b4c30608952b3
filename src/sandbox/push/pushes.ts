/** Push messages, made as the service does it, and handed to the queue that delivers them. */

import { dutchIso } from '../dutch-time.ts';
import { jsonText } from '../http/json-text.ts';
import type { DeliveryQueue } from './delivery-queue.ts';
import type { PushFaults } from './faults.ts';
import { forgedEvent, forgedSignature } from './forgery.ts';
import { type Forgery, makePush, type Push, type PushEvent } from './push.ts';
import { type SignatureKeys, signatureOf } from './signature-keys.ts';

export const RETAILER_ID = 1234567;

export interface PushTarget {
  readonly id: string;
  readonly url: string;
}

function bodyOf(timestamp: string, event: PushEvent): string {
  return jsonText({ retailerId: RETAILER_ID, timestamp, event });
}

export class PushBox {
  readonly #keys: SignatureKeys;
  readonly #faults: PushFaults;
  readonly #queue: DeliveryQueue;
  /** Every message that was made, oldest first. */
  readonly messages: Push[] = [];

  constructor(keys: SignatureKeys, faults: PushFaults, queue: DeliveryQueue) {
    this.#keys = keys;
    this.#faults = faults;
    this.#queue = queue;
  }

  /** Sends a subscriber an event. It was handled at `handledAt` and is due at `dueAt` (milliseconds since the epoch). */
  put({ id: subscriptionId, url }: PushTarget, event: PushEvent, handledAt: number, dueAt = handledAt): void {
    const timestamp = dutchIso(handledAt);
    const body = bodyOf(timestamp, event);
    const { signer } = this.#keys;
    const seed = { id: this.messages.length + 1, subscriptionId, url, body, forgery: null, timestamp, event };
    const push = makePush(seed, () => signatureOf(body, signer));
    const { copies, isLost, delayMs, answersToLose } = this.#faults.strike({
      resource: event.resource,
      subscriptionId,
    });
    Object.assign(push, { copies, answersToLose, state: isLost ? 'dropped' : 'waiting' } satisfies Partial<Push>);
    this.messages.push(push);
    if (!isLost) this.#queue.add(push, dueAt + delayMs);
  }

  /** Somebody else sends something to a subscriber, once. */
  forge({ id: subscriptionId, url }: PushTarget, how: Forgery, now: number): void {
    const id = this.messages.length + 1;
    const [timestamp, event] = [dutchIso(now), forgedEvent(id)];
    const body = bodyOf(timestamp, event);
    const seed = { id, subscriptionId, url, body, forgery: how, timestamp, event };
    const push = makePush(seed, forgedSignature(how, id, body, this.#keys));
    this.messages.push(push);
    this.#queue.addOnce(push, now);
  }
}
