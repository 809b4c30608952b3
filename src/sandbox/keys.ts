/**
 * The RSA keys of the sandbox: the first one signs tokens and push messages. Making one takes a tenth of a second, so a
 * process makes each only once, whatever number of sandboxes it starts.
 */
import { generateKeyPair, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

export interface RsaKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const SIZE = { modulusLength: 2048 } as const;

let made: Promise<RsaKey> | undefined;
const further = new Map<string, RsaKey>();

export function rsaKey(): Promise<RsaKey> {
  made ??= promisify(generateKeyPair)('rsa', SIZE);
  return made;
}

/** Another key for each name. The first call for a name blocks for as long as the key takes. */
export function furtherKey(name: string): RsaKey {
  const known = further.get(name);
  if (known !== undefined) return known;
  const key = generateKeyPairSync('rsa', SIZE);
  further.set(name, key);
  return key;
}
