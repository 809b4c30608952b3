/**
 * Whether a message was signed with a key: RSASSA-PKCS1-v1_5 with SHA-256 over the body's bytes as received. Synchronous, since
 * checking takes 40 µs and handing it to the thread pool takes longer.
 */
import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto';

export interface VerifyingKey {
  readonly key: KeyObject;
  /** Of a signature made with it. */
  readonly signatureBytes: number;
}

/** Shorter ones can be broken; a longer one would make every forged message cost milliseconds. */
const FEWEST_BITS = 2048;
const MOST_BITS = 8192;

/** The key that Base64 of X.509 (SubjectPublicKeyInfo, DER) spells; or why it cannot be used. */
export function verifyingKey(publicKey: string): VerifyingKey | { readonly unfit: string } {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
  } catch {
    return { unfit: 'it is no Base64 of an X.509 public key' };
  }
  if (key.asymmetricKeyType !== 'rsa') return { unfit: `it is of type ${key.asymmetricKeyType}, not rsa` };
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  if (modulusLength < FEWEST_BITS || modulusLength > MOST_BITS)
    return { unfit: `it has ${modulusLength} bits, not ${FEWEST_BITS} to ${MOST_BITS}` };
  // With 1 every text is its own signature.
  if (publicExponent < 3n) return { unfit: `its exponent is ${publicExponent}` };
  return { key, signatureBytes: Math.ceil(modulusLength / 8) };
}

export type SignatureFault = 'bad_signature' | 'wrong_signature';

/** null when the signature (Base64) is that of the body; `bad_signature` when it has not the length that the key's signatures have. */
export function signatureFault(
  { key, signatureBytes }: VerifyingKey,
  signature: string,
  body: Uint8Array,
): SignatureFault | null {
  const bytes = Buffer.from(signature, 'base64');
  if (bytes.length !== signatureBytes) return 'bad_signature';
  const isRight = verify('sha256', body, { key, padding: constants.RSA_PKCS1_PADDING }, bytes);
  return isRight ? null : 'wrong_signature';
}
