import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { settingsText } from '../../src/cli/init.ts';
import { loadConfig } from '../../src/config.ts';
import { parseDay } from '../../src/core/days.ts';
import { place } from '../config/place.ts';
import { run } from './surroundings.ts';

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'partner-etl-init-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe('init', () => {
  test('writes config/local.yaml of the checkout and says what is still to be set', async () => {
    const root = await place();
    const { code, stdout } = await run(['init'], { cwd: root, packageRoot: root });
    expect(code).toBe(0);
    expect(stdout.lines).toEqual([
      'wrote config/local.yaml',
      '',
      'Still to be set in the environment:',
      '  export PARTNER_BASE_URL=https://…',
      '  export PARTNER_AUTH_URL=https://…',
      '  export PARTNER_CLIENT_ID=…',
      '  export PARTNER_CLIENT_SECRET_FILE=/path/to/a/file/with/mode/600',
      '',
      'Next: partner-etl doctor',
    ]);
    const shipped = await loadConfig({ env: {}, cwd: await emptyFolder(), packageRoot: await place() });
    const config = await loadConfig({ env: {}, cwd: root, packageRoot: root });
    expect({ ...config, home: null, files: null }).toEqual({ ...shipped, home: null, files: null });
  });

  test('never writes over a file that exists', async () => {
    const root = await place('# mine\n');
    const { code, stderr } = await run(['init'], { cwd: root, packageRoot: root });
    expect(code).toBe(2);
    expect(stderr.text).toContain('config/local.yaml exists already and was left as it is');
    expect(await readFile(path.join(root, 'config/local.yaml'), 'utf8')).toBe('# mine\n');
  });

  test('what the options gave stands in the settings', async () => {
    const root = await place();
    const words = ['--base-url', 'https://api.example.com/', '--auth-url', 'https://login.example.com'];
    const env = { PARTNER_CLIENT_ID: 'me', PARTNER_CLIENT_SECRET: 's3cret-s3cret' };
    const ran = await run(['init', ...words, '--start-day', '2023-01-01', '--json'], {
      cwd: root,
      packageRoot: root,
      env,
    });
    expect(JSON.parse(ran.stdout.text)).toEqual({ file: path.join(root, 'config/local.yaml'), environment: [] });
    const config = await loadConfig({ env, cwd: root, packageRoot: root });
    expect(config.partners.reports).toMatchObject({
      baseUrl: 'https://api.example.com',
      authUrl: 'https://login.example.com',
    });
    expect(Object.values(config.reports).map(({ startDay }) => startDay)).toEqual(Array(3).fill('2023-01-01'));
    expect(await readFile(path.join(root, 'config/local.yaml'), 'utf8')).not.toContain('s3cret');
  });

  test('every setting that it shows as a comment is a real one', async () => {
    const uncommented = settingsText({ startDay: parseDay('2023-01-01') }).replaceAll(/^( *)# (?=( *)\w+:)/gm, '$1');
    expect(uncommented).toContain('\n  baseUrl: https://api.example.com\n');
    expect(uncommented).toContain('\n    minRows: 20\n');
    const root = await place(uncommented);
    expect((await loadConfig({ env: {}, cwd: root, packageRoot: root })).files).toHaveLength(2);
  });

  test.each<[string, Record<string, string>, string[], string]>([
    ['the file that PARTNER_ETL_CONFIG names', { PARTNER_ETL_CONFIG: 'my/settings.yaml' }, [], 'my/settings.yaml'],
    ['the file that --file names', {}, ['--file', 'other.yaml'], 'other.yaml'],
  ])('writes %s', async (_, env, words, file) => {
    const cwd = await emptyFolder();
    const { code, stdout } = await run(['init', ...words], { cwd, packageRoot: await place(), env });
    expect(code).toBe(0);
    expect(stdout.lines[0]).toBe(`wrote ${file}`);
    expect(await readFile(path.join(cwd, file), 'utf8')).toContain('# Settings of this installation');
  });

  test('an installed package is not written into: the settings lie with the operator', async () => {
    const cwd = await emptyFolder();
    const packageRoot = path.join(cwd, 'node_modules/partner-etl');
    const { stdout } = await run(['init'], { cwd, packageRoot });
    expect(stdout.lines[0]).toBe('wrote partner-etl.yaml');
    expect(stdout.text).toContain(`export PARTNER_ETL_CONFIG=${path.join(cwd, 'partner-etl.yaml')}`);
  });

  test('a bad address is wrong usage and nothing is written', async () => {
    const root = await place();
    const { code, stderr } = await run(['init', '--base-url', 'http://api.example.com'], {
      cwd: root,
      packageRoot: root,
    });
    expect(code).toBe(2);
    expect(stderr.text).toContain('an https address');
    await writeFile(path.join(root, 'config/local.yaml'), '', { flag: 'wx' });
  });
});
