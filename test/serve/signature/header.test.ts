import { describe, expect, test } from 'vitest';
import { parseSignature, signatureHeader } from '../../../src/serve/signature/header.ts';

const GOOD = { keyId: '0', signature: 'QUJD' };

describe('the Signature header', () => {
  test.each([
    ['as documented', 'keyId=0, algorithm="rsa-sha256", signature=QUJD'],
    ['without quotes', 'keyId=0, algorithm=rsa-sha256, signature=QUJD'],
    ['with quotes everywhere', 'keyId="0", algorithm="rsa-sha256", signature="QUJD"'],
    ['in another order', 'signature=QUJD,algorithm=rsa-sha256,keyId=0'],
    ['with spaces and tabs', '  keyId=0 ,\talgorithm="rsa-sha256"  ,   signature=QUJD\t'],
    ['with a parameter that we do not know', 'keyId=0, algorithm=rsa-sha256, created="1, 2", signature=QUJD'],
  ])('is read %s', (_, text) => {
    expect(parseSignature(text)).toEqual(GOOD);
  });

  test('is split at the first "=", since Base64 ends in some', () => {
    const parsed = parseSignature('keyId=a=b, algorithm=rsa-sha256, signature=QQ==');
    expect(parsed).toEqual({ keyId: 'a=b', signature: 'QQ==' });
  });

  test('may have a comma in a quoted key id', () => {
    expect(parseSignature('keyId="a,b", algorithm=rsa-sha256, signature=QUJD')).toEqual({ ...GOOD, keyId: 'a,b' });
  });

  test.each([
    ['other_algorithm', 'keyId=0, algorithm=rsa-sha1, signature=QUJD'],
    ['other_algorithm', 'keyId=0, algorithm="RSA-SHA256", signature=QUJD'],
    ['bad_signature', ''],
    ['bad_signature', 'keyId'],
    ['bad_signature', 'keyId=0'],
    ['bad_signature', 'keyId=, algorithm=rsa-sha256, signature=QUJD'],
    ['bad_signature', 'keyId="", algorithm=rsa-sha256, signature=QUJD'],
    ['bad_signature', 'keyId=0, algorithm=rsa-sha256, signature='],
    ['bad_signature', 'keyId=0, algorithm=rsa-sha256, signature=QUJD,'],
    ['bad_signature', ', keyId=0, algorithm=rsa-sha256, signature=QUJD'],
    ['bad_signature', 'KeyId=0, Algorithm=rsa-sha256, Signature=QUJD'],
    ['bad_signature', 'keyId=0; algorithm=rsa-sha256; signature=QUJD'],
    ['bad_signature', 'keyId=0 algorithm=rsa-sha256 signature=QUJD'],
    ['bad_signature', 'keyId=0, algorithm=rsa-sha256, signature=QUJ'],
    ['bad_signature', 'keyId=0, algorithm=rsa-sha256, signature=QUK='],
    ['bad_signature', 'keyId=0, algorithm=rsa-sha256, signature="QU JD"'],
    ['bad_signature', 'keyId="\\"0", algorithm=rsa-sha256, signature=QUJD'],
    ['bad_signature', 'keyId="0"0, algorithm=rsa-sha256, signature=QUJD'],
    ['bad_signature', 'keyId=\u00e9, algorithm=rsa-sha256, signature=QUJD'],
  ])('is %s: %s', (fault, text) => {
    expect(parseSignature(text)).toBe(fault);
  });

  test('is one, in whatever letters it is called', () => {
    const text = 'keyId=0, algorithm=rsa-sha256, signature=QUJD';
    expect(signatureHeader(['Host', 'x', 'SIGNATURE', text])).toEqual(GOOD);
    expect(signatureHeader(['signature', text, 'Signature', text])).toBe('bad_signature');
    expect(signatureHeader(['signature', '', 'Signature', text])).toBe('bad_signature');
    expect(signatureHeader(['Host', 'signature', 'X-Signature', text])).toBe('no_signature');
  });
});
