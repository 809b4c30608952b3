/** What the browser loads: found from the built program as from the sources, complete, and sound by the checker of types. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import { assets } from '../../../src/serve/page/views/index.ts';
import { packageRoot } from '../../support/nights.ts';

const run = promisify(execFile);

it('the built program has the same ones, under the same names', async () => {
  const built = (await import(path.join(inject('build'), 'src/serve/page/views/index.js'))) as {
    readonly assets: typeof assets;
  };
  expect([...built.assets()]).toEqual([...assets()]);
});

it('every module that a script imports is among them, and none comes from elsewhere', () => {
  const imported = [...assets()].flatMap(([name, { body }]) =>
    [...String(body).matchAll(/^import [^;]*?'([^']+)';|\bimport\('([^']+)'\)\.then/gm)].map(([, still, late]) => {
      expect([name, still ?? late]).toEqual([name, expect.stringMatching(/^\.\/[a-z-]+\.[0-9a-f]{12}\.js$/)]);
      return (still ?? late)!.slice(2);
    }),
  );
  expect(imported.length).toBeGreaterThan(3);
  expect(imported.filter((name) => !assets().has(name))).toEqual([]);
});

it('none loads anything by a whole address', () => {
  const loading = /(?:url\(['"]?|@import\s*['"]|(?:fetch|import)\(['"`]|\bfrom\s*['"])(?:https?:)?\/\//;
  expect([...assets()].filter(([, { body }]) => loading.test(String(body))).map(([name]) => name)).toEqual([]);
});

it('the scripts are sound by the checker of types', async () => {
  const tsc = path.join(packageRoot, 'node_modules', '.bin', 'tsc');
  const found = await run(tsc, ['-p', path.join(packageRoot, 'src/serve/page/assets')]).catch(
    (failure: { stdout: string }) => failure,
  );
  // Only the scripts: what they import as types is checked where it belongs.
  expect(found.stdout.split('\n').filter((line) => line.startsWith('src/serve/page/assets/'))).toEqual([]);
});
