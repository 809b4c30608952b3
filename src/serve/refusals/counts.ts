/** What a receiver has done since it was started. */
import { DEFERRALS, type Deferral, REFUSALS, type Refusal } from './refusals.ts';

export interface ReceiverCounts {
  /** Answered 204 and on disk. */
  readonly accepted: number;
  /** Answered 204 and only counted: enough of its copies were on disk. */
  readonly copies: number;
  readonly refused: Readonly<Record<Refusal, number>>;
  readonly deferred: Readonly<Record<Deferral, number>>;
  /** Messages that wait for a key or for the disk. */
  readonly inHand: number;
  /** Times that the service was asked for its keys. */
  readonly keyFetches: number;
  /** Connections that were closed for others or refused: too many, or too many of peers from which nothing is taken. */
  readonly connectionsDropped: number;
}

export interface CountsInTheMaking extends ReceiverCounts {
  accepted: number;
  copies: number;
  readonly refused: Record<Refusal, number>;
  readonly deferred: Record<Deferral, number>;
  inHand: number;
  connectionsDropped: number;
}

export function zeroCounts(keyFetches: () => number): CountsInTheMaking {
  return {
    accepted: 0,
    copies: 0,
    refused: zeros(Object.keys(REFUSALS) as Refusal[]),
    deferred: zeros(DEFERRALS),
    inHand: 0,
    connectionsDropped: 0,
    get keyFetches() {
      return keyFetches();
    },
  };
}

function zeros<K extends string>(names: readonly K[]): Record<K, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<K, number>;
}
