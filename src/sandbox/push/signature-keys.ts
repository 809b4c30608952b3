/**
 * The key sets that sign push messages. The newest one signs; endpoint 11 lists those that are to be trusted, which may
 * be later than the first signature, and no more once a set counts as compromised.
 */
import { sign } from 'node:crypto';
import type { Json } from '../http/json-text.ts';
import { furtherKey, type RsaKey } from '../keys.ts';

interface KeySet {
  readonly id: string;
  readonly key: RsaKey;
  /** Milliseconds since the epoch; the end is no longer listed. */
  readonly listedFrom: number;
  readonly listedUntil: number;
}

export interface Rotation {
  /** Seconds until endpoint 11 lists the new set, which signs from now on; 0 unless given. */
  readonly listAfterSeconds?: number;
  /** Whether the older sets are listed no more from now on; false unless given. */
  readonly dropOld?: boolean;
}

/** What the Signature header says. */
export interface Signer {
  readonly keyId: string;
  readonly key: RsaKey;
  readonly algorithm?: string;
}

/** The Signature header of a body, as the service documents it. */
export function signatureOf(body: string, { keyId, key, algorithm = 'rsa-sha256' }: Signer): string {
  const signature = sign('RSA-SHA256', Buffer.from(body), key.privateKey).toString('base64');
  return `keyId=${keyId}, algorithm="${algorithm}", signature=${signature}`;
}

export class SignatureKeys {
  /** The newest one last. */
  #sets: readonly KeySet[];

  constructor(first: RsaKey) {
    this.#sets = [{ id: '0', key: first, listedFrom: Number.NEGATIVE_INFINITY, listedUntil: Number.POSITIVE_INFINITY }];
  }

  /** Who signs what is made now. */
  get signer(): Signer {
    const { id, key } = this.#sets.at(-1)!;
    return { keyId: id, key };
  }

  /** The last set that was dropped from the list; undefined when none was. */
  get dropped(): Signer | undefined {
    const set = this.#sets.findLast(({ listedUntil }) => listedUntil !== Number.POSITIVE_INFINITY);
    return set && { keyId: set.id, key: set.key };
  }

  rotate({ listAfterSeconds = 0, dropOld = false }: Rotation, now: number): void {
    const id = String(this.#sets.length);
    const old = this.#sets.map((set) => (dropOld ? { ...set, listedUntil: Math.min(set.listedUntil, now) } : set));
    const listedFrom = now + listAfterSeconds * 1000;
    const added = { id, key: furtherKey(`key set ${id}`), listedFrom, listedUntil: Number.POSITIVE_INFINITY };
    this.#sets = [...old, added];
  }

  /** Endpoint 11: Base64 of X.509 (SubjectPublicKeyInfo, DER). */
  json(now: number): Json {
    const listed = this.#sets.filter(({ listedFrom, listedUntil }) => listedFrom <= now && now < listedUntil);
    return {
      signatureKeys: listed.map(({ id, key }) => ({
        id,
        type: 'RSA',
        publicKey: key.publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
      })),
    };
  }
}
