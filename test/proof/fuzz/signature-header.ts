/** The Signature header: what is read from it stands in it, once; and every header of the documented form is read. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { parseSignature, signatureHeader } from '../../../src/serve/signature/header.ts';
import { alsoDamaged, hostileText } from './hostile.ts';
import { type Subject, textOf, utf8 } from './subject.ts';

const FAULTS: readonly unknown[] = ['no_signature', 'bad_signature', 'other_algorithm'];
const DOCUMENTED =
  /^keyId=([a-z0-9-]{1,100}), algorithm="rsa-sha256", signature=((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=))$/;

function prove(input: Uint8Array): void {
  // Node hands headers over as Latin-1.
  const text = textOf(input) ?? Buffer.from(input).toString('latin1');
  const read = parseSignature(text);
  const documented = DOCUMENTED.exec(text);
  if (typeof read === 'string') {
    assert.ok(FAULTS.includes(read));
    // Of two spellings of one signature only one is right: the bits that stand for nothing are 0.
    const isCanonical = documented && Buffer.from(documented[2]!, 'base64').toString('base64') === documented[2];
    assert.ok(!isCanonical || text.length > 4096, 'a header of the documented form was refused');
  } else {
    assert.deepEqual(Buffer.from(read.signature, 'base64').toString('base64'), read.signature);
    assert.match(read.keyId, /^[\x20-\x7e]{1,128}$/);
    const named = (name: string, value: string) =>
      [`${name}=${value}`, `${name}="${value}"`].reduce((sum, one) => sum + text.split(one).length - 1, 0);
    assert.ok(named('signature', read.signature) >= 1 && named('keyId', read.keyId) >= 1);
    assert.match(text, /algorithm="?rsa-sha256"?/);
    if (documented) assert.deepEqual([read.keyId, read.signature], [documented[1], documented[2]]);
  }
  const twice = signatureHeader(['Signature', text, 'signature', text]);
  assert.equal(twice, 'bad_signature');
  assert.equal(signatureHeader(['X-Signature', text]), 'no_signature');
}

const base64 = fc.uint8Array({ minLength: 1, maxLength: 24 }).map((bytes) => Buffer.from(bytes).toString('base64'));
const parameter = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('keyId=0', 'keyId="a,b"', 'keyId=', 'KeyId=1', 'keyId="a=b"') },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'algorithm="rsa-sha256"',
      'algorithm=rsa-sha256',
      'algorithm=rsa-sha1',
      'algorithm=none',
    ),
  },
  { weight: 3, arbitrary: base64.map((text) => `signature=${text}`) },
  fc.tuple(fc.stringMatching(/^[A-Za-z_-]{1,8}$/), hostileText).map(([name, value]) => `${name}="${value}"`),
  hostileText,
);
const documented = fc
  .tuple(fc.stringMatching(/^[a-z0-9-]{1,12}$/), base64)
  .map(([id, signature]) => `keyId=${id}, algorithm="rsa-sha256", signature=${signature}`);
const header = fc.oneof(
  documented,
  fc
    .tuple(fc.array(parameter, { maxLength: 5 }), fc.constantFrom(',', ', ', ' ,\t'))
    .map(([some, gap]) => some.join(gap)),
);

export const signatureHeaders: Subject = {
  name: 'signature-header',
  extension: 'txt',
  inputs: alsoDamaged(header.map(utf8)),
  prove,
  shortRuns: 2000,
  large: { 'a signature of 10 MB': () => utf8(`keyId=0, algorithm=rsa-sha256, signature=${'QUJD'.repeat(2_621_440)}`) },
};
