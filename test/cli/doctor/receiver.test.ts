import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkReceiver } from '../../../src/cli/doctor/receiver.ts';
import { loadConfig, type PushSettings } from '../../../src/config.ts';
import { packageRoot } from '../../support/nights.ts';
import { writeCertificate } from '../../support/push.ts';

const MS_PER_DAY = 86_400_000;

let folder: string;
let settings: PushSettings;
let tls: PushSettings['tls'];
let validUntilMs: number;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'etl-doctor-'));
  settings = (await loadConfig({ env: {}, cwd: folder, packageRoot })).push;
  tls = await writeCertificate(folder);
  const { detail } = await checkReceiver({ ...settings, tls }, Date.now());
  validUntilMs = Date.parse(/until (\S+)/.exec(detail)?.[1] ?? '');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const found = async (changed: Partial<PushSettings>, nowMs = validUntilMs - 100 * MS_PER_DAY) => {
  const { state, detail, fix } = await checkReceiver({ ...settings, ...changed }, nowMs);
  return `${state}: ${detail}${fix === null ? '' : `; ${fix}`}`;
};

test.each<[string, Partial<PushSettings>, RegExp]>([
  [
    'on loopback without TLS is for a proxy',
    {},
    /^ok: plain http on 127\.0\.0\.1, port 8421, path \/push: for a proxy/,
  ],
  ['that is switched off is skipped', { enabled: false }, /^skipped: push\.enabled is false/],
  ['for everybody without TLS is warned of', { host: '0.0.0.0' }, /^warning: plain http .* https only; set push\.tls/],
  ['behind a named proxy needs none', { host: '0.0.0.0', trustedProxies: ['10.0.0.1'] }, /^ok: plain http/],
  ['that takes from anybody is warned of', { host: '::', checkSource: 'never' }, /^warning: .* anybody may send/],
])('a receiver %s', async (_, changed, expected) => {
  expect(await found(changed)).toMatch(expected);
});

test.each([
  [-100, /^ok: https on 127\.0\.0\.1, .*valid until \d{4}-\d\d-\d\d$/],
  [-3, /^warning: .*; renew the certificate; serve takes the new one by itself$/],
  [2, /^broken: .* has expired/],
])('%i days after its certificate ends', async (days, expected) => {
  expect(await found({ tls }, validUntilMs + days * MS_PER_DAY)).toMatch(expected);
});

test('a certificate that cannot be read is said with its setting', async () => {
  const missing = { ...tls, certFile: path.join(folder, 'none.pem') };
  await expect(checkReceiver({ ...settings, tls: missing }, 0)).rejects.toMatchObject({
    code: 'bad_certificate',
    message: expect.stringContaining('push.tls.certFile'),
  });
});
