import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { REPOSITORY, sourcesIn } from './sources.ts';

const LONGEST_FILE = 400;
/** Lines of the body, between its braces. */
const LONGEST_FUNCTION = 70;
const RULE = 'complexity/noExcessiveLinesPerFunction';
/** Names that become the centre of everything. */
const NO_NAME = /^(?:libs?|utils?|helpers?|common|misc|shared|tools)(?:\.\w+)*$/i;

const run = promisify(execFile);

/** Functions that are too long, as biome reports them: `file` each. */
async function longFunctionsIn(places: readonly string[], cwd = REPOSITORY): Promise<string[]> {
  const biome = path.join(REPOSITORY, 'node_modules/@biomejs/biome/bin/biome');
  const words = ['lint', `--only=${RULE}`, '--reporter=json', '--max-diagnostics=none', ...places];
  const options = { cwd, maxBuffer: 64 * 1024 * 1024 };
  // It exits with 1 when it finds something; what it found is on stdout all the same.
  const { stdout } = await run(process.execPath, [biome, ...words], options).catch(
    (failure: { stdout: string }) => failure,
  );
  const report = JSON.parse(stdout) as { diagnostics: { category: string; location: { path: unknown } }[] };
  return report.diagnostics.map(({ category, location }) => `${category} ${JSON.stringify(location.path)}`);
}

describe('sizes', () => {
  test(`no file has more than ${LONGEST_FILE} lines`, () => {
    const long = sourcesIn(['src', 'pipelines', 'test'])
      .map(({ file, text }) => ({ file, lines: text.split('\n').length - 1 }))
      .filter(({ lines }) => lines > LONGEST_FILE);
    expect(long).toEqual([]);
  });

  test(`no function has more than ${LONGEST_FUNCTION} lines`, async () => {
    expect(await longFunctionsIn(['src', 'pipelines'])).toEqual([]);
  });

  test('the limit is exact', async () => {
    const root = await mkdtemp(path.join(tmpdir(), 'partner-etl-tidy-'));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    await mkdir(path.join(root, 'src'));
    await cp(path.join(REPOSITORY, 'biome.json'), path.join(root, 'biome.json'));
    const text = (lines: number) => `export function f(g: () => void) {\n${'  g();\n'.repeat(lines)}}\n`;
    await writeFile(path.join(root, 'src/fitting.ts'), text(LONGEST_FUNCTION));
    await writeFile(path.join(root, 'src/long.ts'), text(LONGEST_FUNCTION + 1));
    expect(await longFunctionsIn(['src'], root)).toEqual([expect.stringContaining('src/long.ts')]);
  });
});

describe('names', () => {
  test('no file and no folder is called lib, utils, helpers, common or the like', () => {
    const parts = sourcesIn(['src', 'pipelines', 'test'], ['']).flatMap(({ file }) => file.split('/'));
    expect([...new Set(parts)].filter((part) => NO_NAME.test(part))).toEqual([]);
  });
});
