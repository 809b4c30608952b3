/** Push messages as the service makes and signs them, keys as it lists them, and a certificate for a receiver. */
import { constants, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { generate } from 'selfsigned';
import type { SignatureKey } from '../../src/extract/subscription-shapes.ts';

export interface SigningKey {
  readonly id: string;
  readonly privateKey: KeyObject;
  /** As the service lists it. */
  readonly listed: SignatureKey;
}

/** A new key of the service. */
export function signingKey(id: string, bits = 2048): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  return { id, privateKey, listed: listedKey(id, publicKey) };
}

export function listedKey(id: string, key: KeyObject): SignatureKey {
  return { id, type: 'RSA', publicKey: key.export({ type: 'spki', format: 'der' }).toString('base64') };
}

export interface MessageParts {
  readonly retailerId?: unknown;
  readonly timestamp?: unknown;
  readonly resource?: unknown;
  readonly type?: unknown;
  readonly resourceId?: unknown;
  /** Further members of the event. */
  readonly event?: Readonly<Record<string, unknown>>;
}

/** The documented message with some parts replaced; a part that is undefined is left out. */
export function messageText(parts: MessageParts = {}): string {
  const { event, ...others } = parts;
  const { retailerId, timestamp, ...named } = {
    retailerId: 1234567,
    timestamp: '2026-03-14T03:59:00+01:00',
    resource: 'PROCESS_STATUS',
    type: 'SUCCESS',
    resourceId: '1234567',
    ...others,
  };
  return JSON.stringify({ retailerId, timestamp, event: { ...named, ...event } });
}

export interface Signing {
  /** Of the digest; the service takes sha256. */
  readonly digest?: string;
  readonly isPss?: boolean;
}

/** Base64 of the signature. */
export function signatureOf(body: string | Uint8Array, { privateKey }: SigningKey, signing: Signing = {}): string {
  const { digest = 'sha256', isPss = false } = signing;
  const padding = isPss ? constants.RSA_PKCS1_PSS_PADDING : constants.RSA_PKCS1_PADDING;
  return sign(digest, Buffer.from(body), { key: privateKey, padding }).toString('base64');
}

/** The header's value, as documented. */
export function signatureLine(keyId: string, signature: string, algorithm = '"rsa-sha256"'): string {
  return `keyId=${keyId}, algorithm=${algorithm}, signature=${signature}`;
}

/** The header's value for a body. */
export function signed(body: string | Uint8Array, key: SigningKey): string {
  return signatureLine(key.id, signatureOf(body, key));
}

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate for 127.0.0.1 and localhost in the folder, in the place of one that is there; `name` is whom it names. */
export async function writeCertificate(folder: string, name = 'localhost'): Promise<CertificateFiles> {
  const certificate = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  const files = { certFile: path.join(folder, 'push.crt'), keyFile: path.join(folder, 'push.key') };
  await writeFile(files.certFile, certificate.cert);
  await writeFile(files.keyFile, certificate.private);
  return files;
}
