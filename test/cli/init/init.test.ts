import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readEnvFile } from '../../../src/cli/env-file.ts';
import { settingsText } from '../../../src/cli/init/settings.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { loadConfig } from '../../../src/config.ts';
import { parseDay } from '../../../src/core/days.ts';
import { place } from '../../config/place.ts';
import { fakeContext, run } from '../surroundings.ts';

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
    expect(stdout.lines.slice(0, 7)).toEqual([
      'wrote config/local.yaml',
      '',
      'Still to be set in the environment:',
      '  export PARTNER_BASE_URL=https://…',
      '  export PARTNER_AUTH_URL=https://…',
      '  export PARTNER_CLIENT_ID=…',
      '  export PARTNER_CLIENT_SECRET_FILE=/path/to/a/file/with/mode/600',
    ]);
    expect(stdout.text).toMatch(/^ok +node +Node \d/m);
    expect(stdout.lines.at(-1)).toBe('Next: fix what is broken, and ask again: partner-etl doctor');
    expect(await readdir(root)).toEqual(['config']);
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
    expect(JSON.parse(ran.stdout.text)).toEqual({
      ...{ file: path.join(root, 'config/local.yaml'), written: ['config/local.yaml'], environment: [] },
      doctor: { healthy: true, checks: expect.any(Array) },
    });
    const config = await loadConfig({ env, cwd: root, packageRoot: root });
    expect(config.partners.reports).toMatchObject({
      baseUrl: 'https://api.example.com',
      authUrl: 'https://login.example.com',
    });
    expect(['promotions', 'orders', 'commissions'].map((name) => config.pipelines[name])).toEqual(
      Array(3).fill(expect.objectContaining({ startDay: '2023-01-01' })),
    );
    expect(await readFile(path.join(root, 'config/local.yaml'), 'utf8')).not.toContain('s3cret');
  });

  test('every setting that it shows as a comment is a real one', async () => {
    const uncommented = settingsText({ startDay: parseDay('2023-01-01'), eans: 'my: "eans".csv' }).replaceAll(
      /^( *)# (?=( *)\w+:)/gm,
      '$1',
    );
    expect(uncommented).toContain('\n  baseUrl: https://api.example.com\n');
    expect(uncommented).toContain('\n    minRows: 20\n');
    const root = await place(uncommented);
    const { files, eans } = await loadConfig({ env: {}, cwd: root, packageRoot: root });
    expect(files).toHaveLength(2);
    expect(eans.file).toBe(path.join(root, 'my: "eans".csv'));
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

const BOTH = ['--base-url', 'https://api.example.com', '--auth-url', 'https://login.example.com'];
const uid = process.getuid?.() ?? null;

describe('credentials', () => {
  test('go into .env, which nobody else can read, and the doctor looks with them', async () => {
    const root = await place();
    await writeFile(path.join(root, 'secret'), 's3cret-s3cret\n');
    await chmod(path.join(root, 'secret'), 0o600);
    const words = ['--client-id', 'me', '--client-secret-file', 'secret', '--postgres-url', 'none', '--yes'];
    const { code, stdout } = await run(['init', ...BOTH, ...words], { cwd: root, packageRoot: root });
    expect(code).toBe(0);
    expect(stdout.lines.slice(0, 3)).toEqual(['wrote config/local.yaml', 'wrote .env (mode 600)', expect.anything()]);
    expect(stdout.text).toMatch(/^ok +credentials +client me at https:\/\/api\.example\.com$/m);
    expect(stdout.lines.slice(-3)).toEqual(['Nothing is broken.', '', 'Next: partner-etl run']);
    expect((await stat(path.join(root, '.env'))).mode & 0o777).toBe(0o600);
    expect(await readEnvFile(root, {}, uid)).toEqual({
      PARTNER_CLIENT_ID: 'me',
      PARTNER_CLIENT_SECRET_FILE: path.join(root, 'secret'),
    });
  });

  test.each<[string, string[]]>([
    ['an id with white space', ['--client-id', 'a b']],
    ['a secret in a file that is not there', ['--client-secret-file', 'nowhere']],
    ['an address of another kind', ['--postgres-url', 'mysql://me@host/db']],
    ['a password, which others could read,', ['--postgres-url', 'postgres://me:pw-pw@host/db']],
    ['a password among parameters', ['--postgres-url', 'postgres://me@host/db?password=pw-pw']],
  ])('%s is wrong usage, and nothing is written', async (_, words) => {
    const root = await place();
    const { code, stderr } = await run(['init', ...words], { cwd: root, packageRoot: root });
    expect(code).toBe(2);
    expect(stderr.text).not.toContain('pw-pw');
    expect([await readdir(root), await readdir(path.join(root, 'config'))]).toEqual([['config'], ['default.yaml']]);
  });

  test('a .env that is there is left as it is, and so is everything else', async () => {
    const root = await place();
    await writeFile(path.join(root, '.env'), '# mine\n');
    const { code, stderr } = await run(['init', '--client-id', 'me'], { cwd: root, packageRoot: root });
    expect([code, stderr.text]).toEqual([2, expect.stringContaining('.env exists already')]);
    expect(await readFile(path.join(root, '.env'), 'utf8')).toBe('# mine\n');
    expect(await readdir(path.join(root, 'config'))).toEqual(['default.yaml']);
  });
});

/** Answers typed on a terminal, each when its question stands there. */
async function typedAnswers(
  root: string,
  talk: readonly (readonly [string, string])[],
  env = {},
  words: string[] = [],
) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const fake = fakeContext({ env, cwd: root, packageRoot: root, isTTY: true, columns: 200, stdin });
  const left = [...talk];
  let seen = 0;
  const { stdout } = fake;
  const write = stdout.write.bind(stdout);
  stdout.write = (text: string) => {
    write(text);
    const [next] = left;
    if (next === undefined || !stdout.text.slice(seen).includes(next[0])) return;
    seen = stdout.text.length;
    left.shift();
    if (next[1] === END) setImmediate(() => stdin.end());
    else setImmediate(() => stdin.write(next[1] === CTRL_C ? CTRL_C : `${next[1]}\r`));
  };
  const code = await runProgram(['init', ...words], fake.context);
  return { ...fake, code, left };
}

const CTRL_C = String.fromCharCode(3);
const END = 'the input ends';

describe('on a terminal', () => {
  const TALK = [
    ['Address of the partner service', 'ftp://api.example.com'],
    ['an https address', 'https://api.example.com'],
    ['Address of its authentication', 'https://login.example.com'],
    ['CSV file of EANs', 'no-such.csv'],
    ['cannot be read', 'eans.csv'],
    ['Client id', 'me'],
    ['Client secret', "s3cret 'of' mine"],
    ['Postgres', ''],
    ['Ask the service now', 'n'],
  ] as const;

  test('it asks for what it needs until the answer will do, and shows no secret', async () => {
    const root = await place();
    await writeFile(path.join(root, 'eans.csv'), 'ean\n');
    const { code, left, stdout, stderr } = await typedAnswers(root, TALK);
    expect([left, stderr.text, code]).toEqual([[], '', 0]);
    expect(stdout.text).toContain('https://login.example.com');
    expect(stdout.text + stderr.text).not.toContain('s3cret');
    const env = await readEnvFile(root, {}, uid);
    expect(env).toEqual({ PARTNER_CLIENT_ID: 'me', PARTNER_CLIENT_SECRET: "s3cret 'of' mine" });
    const config = await loadConfig({ env, cwd: root, packageRoot: root });
    expect(config.partners.reports).toMatchObject({
      ...{ baseUrl: 'https://api.example.com', authUrl: 'https://login.example.com' },
      credentials: { clientId: 'me', clientSecret: "s3cret 'of' mine" },
    });
    expect(config.eans.file).toBe(path.join(root, 'eans.csv'));
    expect(await readFile(path.join(root, 'config/local.yaml'), 'utf8')).not.toContain('s3cret');
  });

  test('the codes that draw a prompt reach the terminal as they are', async () => {
    const root = await place();
    const { stdout } = await typedAnswers(root, [['Address of the partner service', END]]);
    expect(stdout.text).toContain('\u001b[1G\u001b[0JAddress of the partner service: ');
    expect(stdout.text).not.toContain('\ufffd');
  });

  test('what an option or a variable tells is not asked for', async () => {
    const root = await place();
    const env = { PARTNER_CLIENT_ID: 'me', PARTNER_CLIENT_SECRET: 's3cret-s3cret', PARTNER_ETL_POSTGRES_URL: '' };
    const talk = [
      ['CSV file', ''],
      ['Postgres', ''],
      ['Ask the service', 'n'],
    ] as const;
    const { code, left, stdout } = await typedAnswers(root, talk, env, BOTH);
    expect([code, left]).toEqual([0, []]);
    expect(stdout.text).not.toContain('Client');
    expect(await readdir(root)).toEqual(['config']);
  });

  test('with --yes it asks nothing', async () => {
    const { code, stdout } = await typedAnswers(await place(), [], {}, ['--yes']);
    expect(code).toBe(0);
    expect(stdout.text).not.toContain('Address of');
  });

  test.each([
    [CTRL_C, 1, 'interrupted by SIGINT'],
    [END, 2, 'the input ended before all questions were answered'],
  ])('%j at a question: nothing is written', async (last, expected, said) => {
    const root = await place();
    const talk = [
      ['Address of the partner service', 'https://api.example.com'],
      ['authentication', last],
    ] as const;
    const { code, stderr } = await typedAnswers(root, talk);
    expect([code, stderr.text]).toEqual([expected, expect.stringContaining(said)]);
    expect([await readdir(root), await readdir(path.join(root, 'config'))]).toEqual([['config'], ['default.yaml']]);
  });
});
