/**
 * One push message and what became of it.
 *
 *   waiting ─(2xx)─▶ delivered
 *      └─(the last attempt failed, or it is never sent)─▶ dropped
 *
 * It never leaves `delivered` or `dropped`, also when it is sent once more.
 */
export type PushState = 'waiting' | 'delivered' | 'dropped';

export interface PushAttempt {
  /** From 1; copies that are sent at once share it. */
  readonly attempt: number;
  /** When it began and ended, by the sandbox's clock, milliseconds since the epoch. */
  readonly at: number;
  readonly endedAt: number;
  /** What the receiver answered; null when it did not. */
  readonly status: number | null;
  /** Why it counts as failed for the service; null when it does not. */
  readonly error: string | null;
}

/** What is wrong with a message that no receiver may accept. */
export type Forgery =
  /** Signed by a key that the service does not have, under the id of one that it has. */
  | 'wrong-key'
  /** The signature is of another body. */
  | 'altered-body'
  /** Soundly signed, but `algorithm` says something else. */
  | 'other-algorithm'
  /** Signed by a key of an id that is not listed. */
  | 'unknown-key'
  /** No Signature header. */
  | 'no-signature'
  /** Soundly signed by a key set that is listed no more. */
  | 'dropped-key';

export interface PushMessage {
  /** From 1, in the order in which the messages were made. */
  readonly id: number;
  readonly subscriptionId: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** null: it is the service's own. */
  readonly forgery: Forgery | null;
  readonly state: PushState;
  readonly attempts: readonly PushAttempt[];
}

/** A type, not an interface, so that it is JSON by its shape. */
export type PushEvent = {
  readonly resource: 'PROCESS_STATUS' | 'SHIPMENT';
  readonly type: string;
  readonly resourceId: string;
  /** The documented example has neither of these. */
  readonly metadata?: readonly { readonly key: string; readonly value: string }[];
  readonly links?: readonly { readonly method: string; readonly href: string }[];
};

export interface Push extends PushMessage {
  readonly timestamp: string;
  readonly event: PushEvent;
  readonly attempts: PushAttempt[];
  state: PushState;
  /** So many are sent at the next attempt. */
  copies: number;
  answersToLose: number;
}

export type PushSeed = Pick<Push, 'id' | 'subscriptionId' | 'url' | 'body' | 'forgery' | 'timestamp' | 'event'>;

/** It is signed when its headers are first asked for: thousands at once would keep the service from answering. */
export function makePush(seed: PushSeed, signatureHeader: () => string | undefined): Push {
  let headers: Record<string, string> | undefined;
  return {
    ...seed,
    get headers() {
      if (headers === undefined) {
        const signature = signatureHeader();
        headers = { 'content-type': 'application/json', ...(signature === undefined ? {} : { signature }) };
      }
      return headers;
    },
    state: 'waiting',
    attempts: [],
    copies: 1,
    answersToLose: 0,
  };
}

/** Those that a receiver answered 2xx, whether or not the service saw it. */
export function acceptedAttempts({ attempts }: PushMessage): PushAttempt[] {
  return attempts.filter(({ status }) => status !== null && status >= 200 && status < 300);
}
