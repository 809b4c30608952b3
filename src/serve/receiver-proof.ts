/**
 * How `doctor` knows that it is the receiver of this very installation that answers at an address.
 *
 * A receiver makes a key when it starts and keeps it, with where it listens, in `state/receiver.json` (mode 0600) until it ends. Whoever
 * sends a challenge gets it back under that key, whatever else is answered: so only who can read the file can tell the answer from
 * another one, and a stranger learns nothing. A receiver that was killed leaves the file behind; then nobody answers.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { HomePaths } from '../core/home.ts';
import { writeJson } from '../disk/atomic.ts';
import { readState } from '../run/state-file.ts';

/** In the request; 32 hexadecimal digits. */
export const CHALLENGE_HEADER = 'x-partner-etl-challenge';
/** In the answer. */
export const PROOF_HEADER = 'x-partner-etl-proof';

const announced = z.object({ url: z.string(), key: z.string().regex(/^[0-9a-f]{64}$/) });
export type AnnouncedReceiver = z.infer<typeof announced>;

type Place = Pick<HomePaths, 'state'>;

const fileIn = ({ state }: Place) => path.join(state, 'receiver.json');

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

export function announceReceiver(place: Place, receiver: AnnouncedReceiver): Promise<void> {
  return writeJson(fileIn(place), receiver, { mode: 0o600 });
}

export function withdrawReceiver(place: Place): Promise<void> {
  return rm(fileIn(place), { force: true });
}

/** The receiver that is at work here, or was killed; null where there is none. */
export function announcedReceiver(place: Place): Promise<AnnouncedReceiver | null> {
  return readState(fileIn(place), announced);
}
