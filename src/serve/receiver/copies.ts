/**
 * How often each message was stored lately, by its bytes. The service delivers some twice; a sender gone mad, or somebody who
 * repeats what he overheard, delivers one a million times, and would fill the inbox with it.
 */
import { createHash } from 'node:crypto';

/** Some 18 MB. */
const MOST_MESSAGES = 100_000;

/** What stands for a body: its sha256, lower-case hex. */
export type BodyHash = string & { readonly __bodyHash: true };

export function hashOf(body: Uint8Array): BodyHash {
  return createHash('sha256').update(body).digest('hex') as BodyHash;
}

export class Copies {
  private readonly most: number;
  /** The one that was stored longest ago comes first. */
  private readonly stored = new Map<BodyHash, number>();

  constructor(most: number = MOST_MESSAGES) {
    this.most = most;
  }

  storedOf(hash: BodyHash): number {
    return this.stored.get(hash) ?? 0;
  }

  /** Only what is on disk is counted here: a copy that is merely under way may still fail. */
  add(hash: BodyHash): void {
    const before = this.storedOf(hash);
    this.stored.delete(hash);
    this.stored.set(hash, before + 1);
    if (this.stored.size <= this.most) return;
    for (const [oldest] of this.stored) {
      this.stored.delete(oldest);
      return;
    }
  }
}
