/**
 * The RSA key of the sandbox: it signs tokens and push messages. Making one takes a tenth of a second, so a process makes
 * only one, whatever number of sandboxes it starts.
 */
import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

export interface RsaKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

let made: Promise<RsaKey> | undefined;

export function rsaKey(): Promise<RsaKey> {
  made ??= promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  return made;
}
