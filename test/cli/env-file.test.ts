import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { envLines, readEnvFile } from '../../src/cli/env-file.ts';

const uid = process.getuid?.() ?? null;

async function folderWith(text?: string, mode = 0o600): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'partner-etl-env-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  if (text === undefined) return folder;
  await writeFile(path.join(folder, '.env'), text);
  await chmod(path.join(folder, '.env'), mode);
  return folder;
}

const OURS = "PARTNER_CLIENT_ID=me\nexport PARTNER_CLIENT_SECRET='s3 cret # $x'\n# PARTNER_ETL_HOME=x\nPATH=/evil\n";

describe('.env', () => {
  test('gives what begins with PARTNER_ and is not set yet', async () => {
    const folder = await folderWith(OURS);
    expect(await readEnvFile(folder, {}, uid)).toEqual({
      PARTNER_CLIENT_ID: 'me',
      PARTNER_CLIENT_SECRET: 's3 cret # $x',
    });
    expect(await readEnvFile(folder, { PARTNER_CLIENT_ID: 'you' }, uid)).toEqual({
      PARTNER_CLIENT_SECRET: 's3 cret # $x',
    });
    // Set but empty is set: so a variable can be switched off for one command.
    expect(Object.keys(await readEnvFile(folder, { PARTNER_CLIENT_SECRET: '' }, uid))).toEqual(['PARTNER_CLIENT_ID']);
  });

  test.each([0o600, 0o400])('is taken with mode %o', async (mode) => {
    expect(await readEnvFile(await folderWith(OURS, mode), {}, uid)).toMatchObject({ PARTNER_CLIENT_ID: 'me' });
  });

  test.each([0o640, 0o604, 0o620, 0o644, 0o666])('is refused with mode %o, and the fix is said', async (mode) => {
    await expect(readEnvFile(await folderWith(OURS, mode), {}, uid)).rejects.toMatchObject({
      ...{ kind: 'usage', code: 'env_file', hint: 'chmod 600 .env' },
      message: expect.stringContaining(mode.toString(8)),
    });
  });

  test('of another user is refused', async () => {
    const folder = await folderWith(OURS);
    await expect(readEnvFile(folder, {}, (uid ?? 0) + 1)).rejects.toMatchObject({
      message: expect.stringContaining('belongs to another user'),
    });
  });

  test('that is too large is refused unread', async () => {
    const folder = await folderWith(`PARTNER_CLIENT_ID=${'x'.repeat(70_000)}\n`);
    await expect(readEnvFile(folder, {}, uid)).rejects.toMatchObject({ message: expect.stringContaining('larger') });
  });

  test.each<[string, () => Promise<string>]>([
    ['that is not there', () => folderWith()],
    ['of another program, whatever its mode', () => folderWith('DATABASE_URL=x\n', 0o644)],
    [
      'that is a folder',
      async () => {
        const folder = await folderWith();
        await mkdir(path.join(folder, '.env'));
        return folder;
      },
    ],
    [
      'that is a pipe nobody writes to',
      async () => {
        const folder = await folderWith();
        execFileSync('sh', ['-c', 'mkfifo "$0"', path.join(folder, '.env')]);
        return folder;
      },
    ],
  ])('%s gives nothing', async (_, make) => {
    expect(await readEnvFile(await make(), {}, uid)).toEqual({});
  });
});

describe('lines for such a file', () => {
  test.each([
    'plain-1.2:/@x',
    'with space',
    'a#b $HOME `id` \\n "q"',
    "it's",
    'postgres://me:p%40ss@db:5432/etl?sslmode=require&x=1',
    '*?[a]~!',
  ])('%s is read alike by Node and by a shell', (value) => {
    const [line] = envLines({ PARTNER_X: value });
    expect(parseEnv(line!)).toEqual({ PARTNER_X: value });
    const script = `${line}\nprintf %s "$PARTNER_X"`;
    expect(execFileSync('sh', ['-c', script], { encoding: 'utf8' })).toBe(value);
  });

  test.each(['it\'s "$5"', "a'\\b", 'two\nlines'])('%j fits no way of quoting, and is refused unseen', (value) => {
    expect(() => envLines({ PARTNER_CLIENT_SECRET: value })).toThrow(
      expect.objectContaining({ code: 'env_value', message: expect.not.stringContaining(value) }),
    );
  });
});
