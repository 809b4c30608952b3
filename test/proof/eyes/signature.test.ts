/** Messages signed by OpenSSL's command, as anybody else would sign them: ours are accepted, and every changed one is refused. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseSignature, type SignatureHeader } from '../../../src/serve/signature/header.ts';
import { signatureFault, type VerifyingKey, verifyingKey } from '../../../src/serve/signature/signature.ts';

const isThere = spawnSync('openssl', ['version']).status === 0;
if (!isThere)
  process.stderr.write('test/proof/eyes/signature.test.ts: openssl is not on the path, so nothing is signed with it\n');

const BODIES: readonly (readonly [string, Uint8Array])[] = [
  [
    'the documented message',
    Buffer.from(
      '{"retailerId":1234567,"timestamp":"2020-02-02T23:23:23+01:00","event":{"resource":"PROCESS_STATUS","type":"SUCCESS","resourceId":"1234567"}}',
    ),
  ],
  ['nothing', Buffer.alloc(0)],
  ['a line end at its end', Buffer.from('{}\n')],
  ['NUL and no UTF-8', Buffer.from([0, 0xff, 0xfe, 0x0d, 0x0a])],
  ['64 KiB', Buffer.alloc(65_536, 'x')],
];

const folder = mkdtempSync(path.join(tmpdir(), 'etl-openssl-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const openssl = (...words: string[]) =>
  execFileSync('openssl', words, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });

/** A key, as the service lists it: Base64 of the X.509 form. */
function makeKey(name: string): VerifyingKey {
  openssl('genrsa', '-out', `${name}.pem`, '2048');
  const der = openssl('rsa', '-in', `${name}.pem`, '-pubout', '-outform', 'DER');
  const key = verifyingKey(openssl64(der));
  if ('unfit' in key) throw new Error(key.unfit);
  return key;
}

/** Base64 by openssl too. */
function openssl64(bytes: Uint8Array): string {
  writeFileSync(path.join(folder, 'bytes'), bytes);
  return openssl('base64', '-A', '-in', 'bytes').toString('ascii');
}

function signedBy(name: string, body: Uint8Array, digest = '-sha256'): string {
  writeFileSync(path.join(folder, 'body'), body);
  openssl('dgst', digest, '-sign', `${name}.pem`, '-out', 'signature', 'body');
  return openssl64(readFileSync(path.join(folder, 'signature')));
}

function read(header: string): SignatureHeader {
  const parsed = parseSignature(header);
  if (typeof parsed === 'string') throw new Error(parsed);
  return parsed;
}

describe.skipIf(!isThere)('a signature by openssl', () => {
  const key = isThere ? makeKey('service') : null!;
  const other = isThere ? makeKey('other') : null!;

  it.each(BODIES)('over %s is accepted, in the header as documented', (_, body) => {
    const { keyId, signature } = read(`keyId=0, algorithm="rsa-sha256", signature=${signedBy('service', body)}`);
    expect([keyId, signatureFault(key, signature, body)]).toEqual(['0', null]);
  });

  it.each(BODIES.filter(([, body]) => body.length > 0))(
    'over %s is refused when any bit of the body differs',
    (_, body) => {
      const signature = signedBy('service', body);
      for (const at of new Set([0, body.length >> 1, body.length - 1]))
        for (let bit = 0; bit < 8; bit++) {
          const changed = Uint8Array.from(body);
          changed[at]! ^= 1 << bit;
          expect(signatureFault(key, signature, changed)).toBe('wrong_signature');
        }
      expect(signatureFault(key, signature, body.subarray(1))).toBe('wrong_signature');
      expect(signatureFault(key, signature, Buffer.concat([body, Buffer.of(0x20)]))).toBe('wrong_signature');
    },
  );

  it('is refused when it is changed itself, of another key, or over another digest', () => {
    const [, body] = BODIES[0]!;
    const signature = signedBy('service', body);
    const bytes = Buffer.from(signature, 'base64');
    for (const at of [0, 100, 255]) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      expect(signatureFault(key, changed.toString('base64'), body)).toBe('wrong_signature');
    }
    expect(signatureFault(key, bytes.subarray(1).toString('base64'), body)).toBe('bad_signature');
    expect(signatureFault(other, signature, body)).toBe('wrong_signature');
    expect(signatureFault(key, signedBy('other', body), body)).toBe('wrong_signature');
    expect(signatureFault(key, signedBy('service', body, '-sha512'), body)).toBe('wrong_signature');
  });
});
