/**
 * The image's commands as plain commands: a fresh copy of what the image holds that nobody may write to, the image's environment, a
 * user without rights, and one folder that it owns.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { imageEnvironment, lastOf } from '../../tidy/compose.ts';
import { REPOSITORY } from '../../tidy/sources.ts';

const isRoot = process.getuid?.() === 0;
const idOf = (option: string) => Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' }));
const nobody = isRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {};

let base: string;
/** Stands for /app, and for /data. */
let app: string;
let data: string;

/** Folders and files for everybody to read and nobody to write. */
function seal(place: string): void {
  const stats = lstatSync(place);
  if (stats.isSymbolicLink()) return;
  if (stats.isDirectory()) for (const name of readdirSync(place)) seal(path.join(place, name));
  chmodSync(place, stats.isDirectory() ? 0o555 : 0o444);
}

function unseal(place: string): void {
  if (!lstatSync(place).isDirectory()) return;
  chmodSync(place, 0o755);
  for (const name of readdirSync(place)) unseal(path.join(place, name));
}

beforeAll(() => {
  base = mkdtempSync(path.join(tmpdir(), 'partner-etl-image-'));
  chmodSync(base, 0o755);
  app = path.join(base, 'app');
  data = path.join(base, 'data');
  mkdirSync(app);
  for (const name of ['bin', 'config', 'sql', 'src/serve/page/assets', 'package.json'])
    cpSync(path.join(REPOSITORY, name), path.join(app, name), { recursive: true });
  cpSync(inject('build'), path.join(app, 'dist'), { recursive: true });
  symlinkSync(path.join(REPOSITORY, 'node_modules'), path.join(app, 'node_modules'));
  seal(app);
  mkdirSync(data, { mode: 0o700 });
  mkdirSync(path.join(data, 'tmp'));
  if (nobody.uid !== undefined)
    for (const place of [data, path.join(data, 'tmp')]) chownSync(place, nobody.uid, nobody.gid);
});

afterAll(() => {
  unseal(app);
  rmSync(base, { recursive: true, force: true });
});

const placed = (text: string) => text.replaceAll('/app/', `${app}/`).replaceAll(/^\/data\b/g, data);

/** The image's ENTRYPOINT with the words of a command, and its environment with what else is given. */
function command(words: readonly string[]) {
  const [program = '', ...first] = (JSON.parse(lastOf('ENTRYPOINT')) as string[]).map(placed);
  expect(program).toBe('node');
  const image = Object.entries(imageEnvironment()).map(([name, value]) => [name, placed(value)]);
  const env: Record<string, string> = { ...Object.fromEntries(image), TMPDIR: path.join(data, 'tmp') };
  return { file: process.execPath, words: [...first, ...words], options: { cwd: data, env, ...nobody } };
}

function typed(words: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const { file, words: all, options } = command(words);
  return new Promise((resolve) => {
    execFile(file, all, options, (error, out, err) => resolve({ code: Number(error?.code ?? 0), out, err }));
  });
}

describe('as a user without rights, in a tree that nobody may write to', () => {
  test('the tree really is read-only', () => {
    const script = `require('node:fs').writeFileSync(${JSON.stringify(path.join(app, 'config', 'x'))}, '')`;
    expect(() => execFileSync(process.execPath, ['-e', script], { ...nobody, stdio: 'ignore' })).toThrow();
    accessSync(app, constants.R_OK);
  });

  test('--version', async () => {
    expect(await typed(['--version'])).toEqual({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), err: '' });
  });

  test('doctor finds nothing broken but the credentials that are missing', async () => {
    const { code, out } = await typed(['doctor', '--json']);
    const { checks } = JSON.parse(out) as { checks: { check: string; state: string; detail: string }[] };
    expect(checks.filter(({ state }) => state === 'broken').map(({ check }) => check)).toEqual(['credentials']);
    expect(checks.find(({ check }) => check === 'settings')?.detail).toContain('container.yaml');
    expect(code).toBe(1);
  });

  test('sandbox, until it is told to stop', async () => {
    const { file, words, options } = command(['sandbox', '--port', '0', '--json']);
    const child = spawn(file, words, { ...options, stdio: ['ignore', 'pipe', 'ignore'] });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    let out = '';
    await new Promise<void>((resolve, reject) => {
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        out += text;
        if (out.endsWith('}\n')) resolve();
      });
      child.once('exit', () => reject(new Error(`it ended: ${out}`)));
    });
    const { environment } = JSON.parse(out) as { environment: Record<string, string> };
    expect(environment.PARTNER_BASE_URL).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });

  test('demo, into the folder that is its own', async () => {
    const { code, out, err } = await typed(['demo', '--orders-per-day', '20', '--home', 'demo']);
    expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('The last seven days, from warehouse.fact_order_item:');
    expect(readdirSync(path.join(data, 'demo'))).toContain('warehouse.duckdb');
  }, 180_000); // a whole night of every pipeline
});

describe('the health check', () => {
  const [, words] = /^.*?CMD (\[.*\])$/.exec(lastOf('HEALTHCHECK')) ?? [];
  const [program, ...rest] = JSON.parse(words ?? '[]') as string[];

  async function verdict(port: number): Promise<number> {
    expect(program).toBe('node');
    const own = rest.map((word) => word.replace(':8420/', `:${port}/`));
    return new Promise((resolve) => {
      execFile(process.execPath, own, nobody, (error) => resolve(Number(error?.code ?? 0)));
    });
  }

  test.each([
    [200, 0],
    [503, 1],
  ])('an answer %i is verdict %i', async (status, expected) => {
    const server = createServer(({ url }, answer) => answer.writeHead(url === '/healthz/live' ? status : 404).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    expect(await verdict((server.address() as AddressInfo).port)).toBe(expected);
  });

  test('no answer is verdict 1', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    expect(await verdict(port)).toBe(1);
  });
});
