/**
 * The package as `npm pack` makes it: what is in it, and that it runs where nothing else is, in an empty folder. Its dependencies are
 * linked from here, as a test must not need a registry.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { REPOSITORY } from '../../tidy/sources.ts';

const run = promisify(execFile);

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

let base: string;
let names: string[];
/** Where the package was installed, and a folder with nothing in it. */
let installed: string;
let empty: string;

beforeAll(async () => {
  base = await mkdtemp(path.join(tmpdir(), 'partner-etl-package-'));
  // A copy, since packing builds into the folder of the package: this one has been built elsewhere.
  const tree = path.join(base, 'tree');
  const parts = await readdir(REPOSITORY);
  const left = parts.filter((name) => !/^(?:node_modules|dist.*|data|\.git|coverage)$/.test(name));
  for (const name of left) await cp(path.join(REPOSITORY, name), path.join(tree, name), { recursive: true });
  await cp(path.join(inject('build'), 'src'), path.join(tree, 'dist', 'src'), { recursive: true });
  await writeFile(path.join(tree, 'config', 'local.yaml'), "# settings of this checkout, which are nobody else's\n");
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', base], {
    cwd: tree,
  });
  const answer = JSON.parse(stdout) as Packed[] | Record<string, Packed>;
  const [packed] = Object.values(answer);
  names = packed!.files.map(({ path: name }) => name);

  const modules = path.join(base, 'node_modules');
  installed = path.join(modules, 'partner-etl');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', path.join(base, packed!.filename), '-C', installed, '--strip-components=1']);
  const others = await readdir(path.join(REPOSITORY, 'node_modules'));
  for (const name of others.filter((one) => !one.startsWith('.') && one !== 'partner-etl'))
    await symlink(path.join(REPOSITORY, 'node_modules', name), path.join(modules, name));
  empty = path.join(base, 'empty');
  await mkdir(empty);
});

afterAll(() => rm(base, { recursive: true, force: true }));

/** As somebody types it in the empty folder, with none of our variables. */
function typed(...words: string[]) {
  const { PATH, TMPDIR } = process.env;
  const env = { PATH, TMPDIR, NO_COLOR: '1' };
  return run(process.execPath, [path.join(installed, 'bin', 'partner-etl.js'), ...words], { cwd: empty, env });
}

test('it holds what the program reads and what people read, and nothing else', () => {
  for (const name of [
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
    'package.json',
    'config/default.yaml',
    'sql/state/tables.sql',
  ])
    expect(names).toContain(name);
  const folders = new Set(names.filter((name) => name.includes('/')).map((name) => name.split('/')[0]));
  expect([...folders].sort()).toEqual(['bin', 'config', 'dist', 'docs', 'sql', 'src']);
  expect(names.filter((name) => name.startsWith('src/') && !name.startsWith('src/serve/page/assets/'))).toEqual([]);
  expect(names.filter((name) => /(?:^|\/)test\/|\.test\.|\.map$|local\.yaml|\.env$/.test(name))).toEqual([
    'config/sandbox.env',
  ]);
});

test('the demo plays a night in an empty folder, and what it says to do next works there', async () => {
  const { stdout } = await typed('demo', '--orders-per-day', '20');
  expect(stdout).toMatch(/duckdb: [0-9,]+ slices, [0-9,]+ rows loaded/);
  expect(stdout).toContain('\n  partner-etl status\n');
  expect(stdout).not.toMatch(/npx|npm/);
  expect((await typed('status')).stdout).toContain('All is well');
  expect((await typed('verify')).stdout).toContain('no difference');
  expect(await readdir(empty)).toEqual(['data']);
});
