/**
 * How `doctor` knows that it is the receiver of this very installation that answers at an address.
 *
 * A receiver makes a key when it starts and keeps it, with where it listens, in the state until it ends. A challenge is answered with it
 * back under that key, whatever else is answered: so only who can read the state knows the answer from another one, and nobody
 * else learns anything. A receiver that was killed leaves its row behind; then nobody answers.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { type Clock, isoTime } from '../../core/clock.ts';
import type { State, StateDb } from '../../store/state.ts';
import { forgetMemo, readMemo, writeMemo } from '../../store/tables/memo.ts';

/** In the request; 32 hexadecimal digits. */
export const CHALLENGE_HEADER = 'x-partner-etl-challenge';
/** In the answer. */
export const PROOF_HEADER = 'x-partner-etl-proof';

const announced = z.object({ url: z.string(), key: z.string().regex(/^[0-9a-f]{64}$/) });
export type AnnouncedReceiver = z.infer<typeof announced>;

const MEMO = 'receiver';

export function newProofKey(): string {
  return randomBytes(32).toString('hex');
}

export function newChallenge(): string {
  return randomBytes(16).toString('hex');
}

/** The answer to a challenge; null for what is none. */
export function proofOf(key: string, challenge: unknown): string | null {
  if (typeof challenge !== 'string' || !/^[0-9a-f]{32}$/.test(challenge)) return null;
  return createHmac('sha256', key).update(challenge).digest('hex');
}

export function announceReceiver(state: State, receiver: AnnouncedReceiver, clock: Clock): Promise<void> {
  return writeMemo(state, MEMO, receiver, isoTime(clock.now()));
}

export function withdrawReceiver(state: State): Promise<void> {
  return forgetMemo(state, MEMO);
}

/** The receiver that is at work here, or was killed; null where there is none. */
export function announcedReceiver(db: StateDb): Promise<AnnouncedReceiver | null> {
  return readMemo(db, MEMO, announced);
}
