/** What is true of the push messages: those that the service made, and how often they arrived. */
import { acceptedAttempts, type PushEvent, type PushMessage, type PushState } from './push.ts';
import { RETAILER_ID } from './pushes.ts';

/**
 * A message of the service's own. A perfect receiver holds those with one acceptance or more, each once by retailer, resource,
 * type, resource id and timestamp: several subscriptions get one event in the same words.
 */
export interface PushTruth {
  /** Of the PushMessage. */
  readonly messageId: number;
  readonly subscriptionId: string;
  readonly url: string;
  readonly retailerId: string;
  /** As sent. */
  readonly timestamp: string;
  readonly resource: string;
  readonly type: string;
  readonly resourceId: string;
  /** null: the message has no such member. */
  readonly metadata: NonNullable<PushEvent['metadata']> | null;
  readonly links: NonNullable<PushEvent['links']> | null;
  readonly state: PushState;
  /** Every copy counts. */
  readonly attempts: number;
  /** How often the receiver answered 2xx, also where the service did not see it. */
  readonly accepted: number;
  /** When it did, by the sandbox's clock, milliseconds since the epoch; null: never. */
  readonly firstAcceptedMs: number | null;
  readonly lastAcceptedMs: number | null;
}

interface Sent extends PushMessage {
  readonly timestamp: string;
  readonly event: PushEvent;
}

export function pushTruth(messages: readonly Sent[]): PushTruth[] {
  return messages
    .filter(({ forgery }) => forgery === null)
    .map((push) => {
      const { resource, type, resourceId, metadata, links } = push.event;
      const times = acceptedAttempts(push).map(({ endedAt }) => endedAt);
      return {
        messageId: push.id,
        subscriptionId: push.subscriptionId,
        url: push.url,
        retailerId: String(RETAILER_ID),
        timestamp: push.timestamp,
        resource,
        type,
        resourceId,
        metadata: metadata ?? null,
        links: links ?? null,
        state: push.state,
        attempts: push.attempts.length,
        accepted: times.length,
        firstAcceptedMs: times.length === 0 ? null : Math.min(...times),
        lastAcceptedMs: times.length === 0 ? null : Math.max(...times),
      };
    });
}
