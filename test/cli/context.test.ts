import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { findPackage } from '../../src/disk/package-root.ts';
import { place } from '../config/place.ts';
import { fakeContext, REPOSITORY } from './surroundings.ts';

describe('the context of a command', () => {
  test('reads the settings once and tells their warnings once', async () => {
    const root = await place();
    const env = { PARTNER_BASEURL: 'https://api.example.com' };
    const { context, stderr } = fakeContext({ env, cwd: root, packageRoot: root });
    const first = await context.config();
    expect(await context.config()).toBe(first);
    expect(stderr.lines).toEqual([expect.stringContaining('did you mean PARTNER_BASE_URL?')]);
  });

  test('keeps a secret that a file holds out of the log, once the settings are read', async () => {
    const root = await place();
    await writeFile(path.join(root, 'secret'), 'from-a-file\n', { mode: 0o600 });
    const env = {
      PARTNER_BASE_URL: 'https://api.example.com',
      PARTNER_AUTH_URL: 'https://login.example.com',
      PARTNER_CLIENT_ID: 'me',
      PARTNER_CLIENT_SECRET_FILE: 'secret',
    };
    const { context, stderr } = fakeContext({ env, cwd: root, packageRoot: root });
    await context.config();
    context.log.warn('echoed: from-a-file');
    expect(stderr.text).toContain('echoed');
    expect(stderr.text).not.toContain('from-a-file');
  });

  test('knows the secrets of the environment before any settings are read', () => {
    const { context } = fakeContext({ env: { PARTNER_SHOP_CLIENT_SECRET: 'abcdef', PARTNER_CLIENT_ID: 'me' } });
    expect(context.secrets).toEqual(['abcdef']);
  });
});

test('the package is found from any folder inside it', async () => {
  for (const folder of ['', 'src/cli', 'test'])
    expect(await findPackage(path.join(REPOSITORY, folder))).toMatchObject({ root: REPOSITORY });
  await expect(findPackage(path.parse(REPOSITORY).root)).rejects.toMatchObject({ kind: 'bug' });
});
