import { copyFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { readCertificate } from '../../../src/serve/receiver/certificate.ts';
import { writeCertificate } from '../../support/push.ts';
import { temporaryFolder } from './scene.ts';

test('a certificate with its key is read, with the day of its end', async () => {
  const certificate = await readCertificate(await writeCertificate(await temporaryFolder()));
  expect(certificate.cert).toContain('BEGIN CERTIFICATE');
  expect(certificate.expiresAtMs).toBeGreaterThan(Date.now());
});

test.each<[string, (folder: string, keyFile: string) => Promise<unknown>]>([
  ['of another certificate', async (folder, keyFile) => copyFile((await writeCertificate(folder)).keyFile, keyFile)],
  ['that is no PEM', (_, keyFile) => writeFile(keyFile, 'x')],
  ['that is empty', (_, keyFile) => writeFile(keyFile, '')],
])('a key %s is refused with the fix', async (_, spoil) => {
  const folder = await temporaryFolder();
  const files = await writeCertificate(folder);
  await spoil(await temporaryFolder(), files.keyFile);
  await expect(readCertificate(files)).rejects.toMatchObject({
    kind: 'usage',
    code: 'bad_certificate',
    hint: expect.stringContaining('push.tls.certFile'),
  });
});

test('a file that is not there is named', async () => {
  const folder = await temporaryFolder();
  const { certFile } = await writeCertificate(folder);
  const keyFile = path.join(folder, 'none.key');
  await expect(readCertificate({ certFile, keyFile })).rejects.toMatchObject({
    kind: 'usage',
    code: 'bad_certificate',
    message: expect.stringContaining(keyFile),
  });
});
