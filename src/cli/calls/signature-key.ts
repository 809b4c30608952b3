/** What a public key is, for people: by comparing fingerprints people see whether it is the one that they know. */
import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import type { SignatureKey } from '../../extract/subscription-shapes.ts';

export interface KeyFacts {
  /** null for a key that has no such number. */
  readonly bits: number | null;
  /** Of the key as X.509 (DER), lower-case hex; null for one that cannot be read. */
  readonly sha256: string | null;
  /** Why it cannot be used; null for a sound one. */
  readonly broken: string | null;
}

export function keyFacts({ type, publicKey }: Pick<SignatureKey, 'type' | 'publicKey'>): KeyFacts {
  const key = keyIn(publicKey);
  if (key === null) return { bits: null, sha256: null, broken: 'it is no Base64 of an X.509 public key' };
  const sha256 = createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex');
  const bits = key.asymmetricKeyDetails?.modulusLength ?? null;
  const kind = key.asymmetricKeyType ?? 'unknown';
  const isAsListed = kind === type.trim().toLowerCase();
  return { bits, sha256, broken: isAsListed ? null : `it is of type ${kind}` };
}

function keyIn(publicKey: string): KeyObject | null {
  try {
    return createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
  } catch {
    return null;
  }
}
