import { constants, createPrivateKey, generateKeyPairSync, privateEncrypt } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { signatureFault, type VerifyingKey, verifyingKey } from '../../../src/serve/signature/signature.ts';
import { listedKey, signatureOf, signingKey } from '../../support/push.ts';

const KEY = signingKey('0');
const LONG = signingKey('0', 3072);
const BODY = Buffer.from('{"retailerId":1}');

function fitted(publicKey: string): VerifyingKey {
  const key = verifyingKey(publicKey);
  if ('unfit' in key) throw new Error(key.unfit);
  return key;
}

describe('a listed key', () => {
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pss = generateKeyPairSync('rsa-pss', { modulusLength: 2048 });
  const short = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const der = Buffer.from(KEY.listed.publicKey, 'base64');

  test.each([
    ['of 2048 bits', KEY.listed.publicKey, 256],
    ['of 3072 bits', LONG.listed.publicKey, 384],
    ['in lines', KEY.listed.publicKey.replaceAll(/(.{64})/g, '$1\r\n'), 256],
  ])('%s can be used', (_, publicKey, signatureBytes) => {
    expect(verifyingKey(publicKey)).toMatchObject({ signatureBytes });
  });

  test.each([
    ['nothing', '', 'no Base64'],
    ['no Base64', '\u001b[2J', 'no Base64'],
    ['cut off', der.subarray(0, 100).toString('base64'), 'no Base64'],
    ['a private key', KEY.privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'), 'no Base64'],
    ['of an elliptic curve', listedKey('0', ec.publicKey).publicKey, 'of type ec'],
    ['for PSS alone', listedKey('0', pss.publicKey).publicKey, 'of type rsa-pss'],
    ['of 1024 bits', listedKey('0', short.publicKey).publicKey, '1024 bits'],
  ])('that is %s cannot', (_, publicKey, why) => {
    expect(verifyingKey(publicKey)).toEqual({ unfit: expect.stringContaining(why) });
  });
});

describe('a signature', () => {
  test('is right for its own body and key', () => {
    expect(signatureFault(fitted(KEY.listed.publicKey), signatureOf(BODY, KEY), BODY)).toBeNull();
    expect(signatureFault(fitted(LONG.listed.publicKey), signatureOf(BODY, LONG), BODY)).toBeNull();
  });

  test.each([
    ['of another body', signatureOf(`${BODY} `, KEY), 'wrong_signature'],
    ['of a key of the same length', signatureOf(BODY, signingKey('0')), 'wrong_signature'],
    ['of a longer key', signatureOf(BODY, LONG), 'bad_signature'],
    ['over SHA-1', signatureOf(BODY, KEY, { digest: 'sha1' }), 'wrong_signature'],
    ['by PSS', signatureOf(BODY, KEY, { isPss: true }), 'wrong_signature'],
    ['of nothing but ones', Buffer.alloc(256, 255).toString('base64'), 'wrong_signature'],
    ['of no bytes', '', 'bad_signature'],
  ])('%s is %3$s', (_, signature, fault) => {
    expect(signatureFault(fitted(KEY.listed.publicKey), signature, BODY)).toBe(fault);
  });

  test('of the bare digest, without saying that it is SHA-256, is wrong', () => {
    const key = createPrivateKey(KEY.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const bare = privateEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, Buffer.alloc(32)).toString('base64');
    expect(signatureFault(fitted(KEY.listed.publicKey), bare, BODY)).toBe('wrong_signature');
  });
});
