import { createHash, generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { keyFacts } from '../../../src/cli/calls/signature-key.ts';

const der = { type: 'spki', format: 'der' } as const;
const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export(der);
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export(der);
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

test('a sound key has a size and a fingerprint', () => {
  const facts = { bits: 1024, sha256: sha256(rsa), broken: null };
  expect(keyFacts({ type: 'RSA', publicKey: rsa.toString('base64') })).toEqual(facts);
  expect(
    keyFacts({ type: 'rsa', publicKey: `${rsa.toString('base64').slice(0, 60)}\n${rsa.toString('base64').slice(60)}` }),
  ).toEqual(facts);
});

test('a key of another type than it is called is broken', () => {
  const broken = 'it is of type ec';
  expect(keyFacts({ type: 'RSA', publicKey: ec.toString('base64') })).toEqual({
    bits: null,
    sha256: sha256(ec),
    broken,
  });
});

test.each(['', 'AAAA', '%%%', rsa.subarray(0, 100).toString('base64'), '-----BEGIN PUBLIC KEY-----'])(
  '%j is no key',
  (publicKey) => {
    const broken = 'it is no Base64 of an X.509 public key';
    expect(keyFacts({ type: 'RSA', publicKey })).toEqual({ bits: null, sha256: null, broken });
  },
);
