/**
 * The certificate that TLS is served with: read when the receiver starts, and again when its files change, since a certificate
 * is renewed every few weeks and the receiver shall not be stopped for it.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../../core/clock.ts';
import { asEtlError, EtlError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** As PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** Epoch milliseconds. */
  readonly expiresAtMs: number;
}

const LOOK_EVERY_MS = 60_000;

/** Errors: `usage/bad_certificate`. */
export async function readCertificate({ certFile, keyFile }: CertificateFiles): Promise<Certificate> {
  const cert = await pem(certFile, 'certFile');
  const key = await pem(keyFile, 'keyFile');
  try {
    const certificate = new X509Certificate(cert);
    // An empty key would pass for one that comes later.
    if (!certificate.checkPrivateKey(createPrivateKey(key))) throw new Error('the key is that of another certificate');
    createSecureContext({ cert, key });
    return { cert, key, expiresAtMs: Date.parse(certificate.validTo) };
  } catch (cause) {
    throw new EtlError('usage', 'bad_certificate', `${certFile} and ${keyFile} are no certificate with its key`, {
      cause,
      hint: 'push.tls.certFile must hold the certificate and its chain, push.tls.keyFile its private key without a passphrase, both as PEM',
      concern: { file: certFile },
    });
  }
}

async function pem(file: string, setting: 'certFile' | 'keyFile'): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new EtlError('usage', 'bad_certificate', `push.tls.${setting}: ${file} cannot be read`, {
      cause,
      hint: 'name a PEM file that this user may read; or leave both out and let a proxy end TLS',
      concern: { file },
    });
  }
}

export interface CertificateWatch {
  readonly files: CertificateFiles;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  readonly apply: (certificate: Certificate) => void;
}

/**
 * Looks every minute whether the files have changed and applies what they then hold. A pair that does not fit (it is just being
 * replaced, file by file) is logged once and tried again at the next look; the old one is served meanwhile. Resolves at the end.
 */
export async function watchCertificate({ files, clock, log, signal, apply }: CertificateWatch): Promise<void> {
  let seen = await changedAt(files);
  let hasWarned = false;
  for (;;) {
    await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
    if (signal.aborted) return;
    const now = await changedAt(files);
    if (now === seen) continue;
    try {
      apply(await readCertificate(files));
      seen = now;
      hasWarned = false;
      log.info('the renewed certificate is served', { file: files.certFile });
    } catch (thrown) {
      if (!hasWarned) log.warn(`the renewed certificate is not served: ${asEtlError(thrown).message}`);
      hasWarned = true;
    }
  }
}

async function changedAt({ certFile, keyFile }: CertificateFiles): Promise<string> {
  const times = [certFile, keyFile].map(async (file) => (await stat(file).catch(() => null))?.mtimeMs ?? 'missing');
  return (await Promise.all(times)).join(' ');
}
