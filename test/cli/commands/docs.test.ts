/** `docs` as it is typed where there is no warehouse yet. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pipelines } from '../../../pipelines/index.ts';
import { readQuestions } from '../../../src/warehouse/dictionary/questions.ts';
import { run } from '../surroundings.ts';

const NAMES = ['dictionary.html', 'dictionary.md'];
const filesIn = async (folder: string) => Promise.all(NAMES.map((name) => readFile(path.join(folder, name), 'utf8')));

describe('without a warehouse and without credentials', () => {
  let cwd: string;
  let env: Record<string, string>;
  beforeEach(async () => {
    cwd = await mkdtemp(path.join(tmpdir(), 'partner-etl-docs-'));
    env = { PARTNER_ETL_HOME: path.join(cwd, 'home') };
  });
  afterEach(() => rm(cwd, { recursive: true }));

  test('docs writes both files below the home directory, with every table, and nothing else', async () => {
    const { code, stdout, stderr } = await run(['docs'], { cwd, env });
    expect({ code, err: stderr.text }).toEqual({ code: 0, err: '' });
    expect(stdout.text).toMatch(
      /^wrote home\/docs\/dictionary\.html\nwrote home\/docs\/dictionary\.md\n\d+ tables, [\d,]+ columns, \d+ questions?\n$/,
    );
    expect(await readdir(path.join(cwd, 'home'))).toEqual(['docs']);
    expect((await readdir(path.join(cwd, 'home', 'docs'))).sort()).toEqual(NAMES);
    const [html, markdown] = await filesIn(path.join(cwd, 'home', 'docs'));
    for (const { table } of pipelines) {
      expect(html).toContain(`id="warehouse.${table}"`);
      expect(markdown).toContain(`<a id="warehouse.${table}"></a>`);
    }
    for (const { question } of await readQuestions('duckdb')) expect(markdown).toContain(`. ${question}`);
  });

  test('--out names another folder; again it is the same, byte for byte; --json says what was written', async () => {
    const first = await run(['docs', '--out', 'a/b'], { cwd, env });
    const again = await run(['docs', '--out', 'c', '--json'], { cwd, env });
    expect([first.code, again.code]).toEqual([0, 0]);
    expect(await filesIn(path.join(cwd, 'a/b'))).toEqual(await filesIn(path.join(cwd, 'c')));
    const said = JSON.parse(again.stdout.text);
    expect(said).toMatchObject({ tables: expect.any(Number), columns: expect.any(Number), answers: false });
    expect(said.files).toEqual(
      await Promise.all(
        NAMES.map(async (name) => {
          const file = path.join(cwd, 'c', name);
          return { file, bytes: (await readFile(file)).length };
        }),
      ),
    );
  });

  test('--answers says to run first, and writes nothing', async () => {
    const { code, stderr } = await run(['docs', '--answers', '--out', 'a'], { cwd, env });
    expect(code).toBe(1);
    expect(stderr.text).toContain('fix: load something first: partner-etl run');
    expect(await readdir(cwd)).not.toContain('a');
  });

  test('a folder that cannot be made is said with the file', async () => {
    await writeFile(path.join(cwd, 'taken'), '');
    const { code, stderr } = await run(['docs', '--out', 'taken'], { cwd, env });
    expect(code).toBe(1);
    expect(stderr.text).toContain(path.join(cwd, 'taken', 'dictionary.html'));
  });
});
