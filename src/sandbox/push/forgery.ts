/** Messages that somebody else made: each is wrong in one thing alone, and no receiver may accept it. */
import { furtherKey } from '../keys.ts';
import type { Forgery, PushEvent } from './push.ts';
import { type SignatureKeys, type Signer, signatureOf } from './signature-keys.ts';

export const FORGERIES: readonly Forgery[] = [
  'wrong-key',
  'altered-body',
  'other-algorithm',
  'unknown-key',
  'no-signature',
  'dropped-key',
];

/** What a forged message says: it reads like any other, but its id betrays it in a table. */
export function forgedEvent(id: number): PushEvent {
  return { resource: 'SHIPMENT', type: 'UPDATE_TRANSPORT_EVENT', resourceId: `forged-${id}`, metadata: [], links: [] };
}

/** Makes the Signature header of a forged body; undefined where there is none. `id` is the message's. */
export function forgedSignature(how: Forgery, id: number, body: string, keys: SignatureKeys): () => string | undefined {
  const { signer, dropped } = keys;
  const signed = (by: Signer) => () => signatureOf(body, by);
  switch (how) {
    case 'wrong-key':
      return signed({ ...signer, key: furtherKey('forger') });
    case 'altered-body':
      return () => signatureOf(body.replace(`forged-${id}`, `genuine-${id}`), signer);
    case 'other-algorithm':
      return signed({ ...signer, algorithm: 'rsa-sha512' });
    case 'unknown-key':
      return signed({ keyId: `forger-${id}`, key: furtherKey('forger') });
    case 'no-signature':
      return () => undefined;
    case 'dropped-key':
      return signed(dropped ?? signer);
  }
}
