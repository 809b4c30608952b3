import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { REPOSITORY } from './surroundings.ts';

/** A package with our bin and, when given, this text as what was built. */
async function packageWith(main?: string): Promise<string> {
  const root = await mkdtemp(path.join(tmpdir(), 'partner-etl-bin-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await cp(path.join(REPOSITORY, 'bin'), path.join(root, 'bin'), { recursive: true });
  await writeFile(path.join(root, 'package.json'), '{ "type": "module" }');
  if (main === undefined) return root;
  await mkdir(path.join(root, 'dist/src'), { recursive: true });
  await writeFile(path.join(root, 'dist/src/main.js'), main);
  return root;
}

function runBin(root: string, env: Readonly<Record<string, string>>) {
  const bin = path.join(root, 'bin/partner-etl.js');
  return new Promise<{ code: number | string; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, [bin, 'run'], { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

describe('bin/partner-etl.js', () => {
  test.each([
    ['8', {}],
    ['32', { UV_THREADPOOL_SIZE: '32' }],
  ])('gives the thread pool %s threads when the environment says %j', async (size, env) => {
    const root = await packageWith('console.log(process.env.UV_THREADPOOL_SIZE, ...process.argv.slice(2));');
    expect(await runBin(root, env)).toEqual({ code: 0, stdout: `${size} run\n`, stderr: '' });
  });

  test('before the build it says what to do', async () => {
    expect(await runBin(await packageWith(), {})).toEqual({
      code: 2,
      stdout: '',
      stderr: 'partner-etl: not built yet\n  fix: npm run build\n',
    });
  });
});
