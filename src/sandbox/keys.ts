/** RSA keys of the sandbox. Making one takes a tenth of a second, so a process makes each only once. */
import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

export interface RsaKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const made = new Map<string, Promise<RsaKey>>();

export function rsaKey(purpose: 'token' | 'push'): Promise<RsaKey> {
  const known = made.get(purpose);
  if (known !== undefined) return known;
  const key = promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  made.set(purpose, key);
  return key;
}
