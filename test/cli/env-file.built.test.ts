/** The program as a process reads .env of the folder in which it is started. */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';

async function started(words: readonly string[], mode: number) {
  const cwd = await mkdtemp(path.join(tmpdir(), 'partner-etl-env-'));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  const lines = [
    'PARTNER_CLIENT_ID=from-the-file',
    'PARTNER_BASE_URL=https://api.invalid',
    'PARTNER_CLIENT_SECRET=s3cret-s3cret',
  ];
  await writeFile(path.join(cwd, '.env'), lines.join('\n'));
  await chmod(path.join(cwd, '.env'), mode);
  const env = { PARTNER_AUTH_URL: 'https://login.invalid' };
  return new Promise<{ code: number; out: string; err: string }>((resolve) => {
    const script = path.join(inject('build'), 'src/main.js');
    execFile(process.execPath, [script, ...words], { cwd, env }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out, err }),
    );
  });
}

test('credentials may stand in .env', async () => {
  const { code, out, err } = await started(['doctor'], 0o600);
  expect(out).toContain('client from-the-file at https://api.invalid');
  expect([code, err]).toEqual([0, '']);
  expect(out).not.toContain('s3cret');
});

test('one that others can read stops the program with its fix', async () => {
  const { code, out, err } = await started(['doctor'], 0o644);
  expect([code, out]).toEqual([2, '']);
  expect(err).toMatch(/^partner-etl: .*\.env can be used by others \(mode 644\)\n {2}fix: chmod 600 \.env\n$/);
});

test('help and version do not look at it', async () => {
  expect(await started(['--version'], 0o644)).toMatchObject({ code: 0, err: '' });
  expect(await started(['run', '--help'], 0o644)).toMatchObject({ code: 0, err: '' });
});
