/** A signature of our own, put to the very code that proves those of the service: does cryptography work on this machine? */
import { generateKeyPair, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { parseSignature } from '../../serve/signature/header.ts';
import { signatureFault, verifyingKey } from '../../serve/signature/signature.ts';
import { broken, type Finding, ok } from './finding.ts';

const FIX = 'install a Node with full OpenSSL (the official builds have it); until then no push message is accepted';

export async function checkSignatures(): Promise<Finding> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  const body = Buffer.from('{"event":"self-test"}');
  const signature = sign('RSA-SHA256', body, privateKey).toString('base64');
  const header = parseSignature(`keyId=1, algorithm="rsa-sha256", signature=${signature}`);
  if (typeof header !== 'object' || !('signature' in header))
    return broken('a signature header of our own is not read', FIX);
  const key = verifyingKey(publicKey.export({ type: 'spki', format: 'der' }).toString('base64'));
  if ('unfit' in key) return broken(`a key of our own is not taken: ${key.unfit}`, FIX);
  const fault = signatureFault(key, header.signature, body);
  if (fault !== null) return broken(`a signature of our own is not accepted: ${fault}`, FIX);
  if (signatureFault(key, header.signature, Buffer.from('{"event":"forged"}')) === null)
    return broken('a forged message is accepted', FIX);
  return ok('a throw-away key signs, our check accepts it, and refuses the same over another body');
}
