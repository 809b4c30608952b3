import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { Command } from 'commander';
import { expect, onTestFinished, test } from 'vitest';
import { addAnswerOptions } from '../../../src/cli/query/options.ts';
import { sqlAsOperand, sqlFrom } from '../../../src/cli/query/text.ts';
import { LIMITS } from '../../../src/core/limits.ts';

async function parsed(...words: string[]) {
  const program = new Command('program').exitOverride().configureOutput({ writeErr: () => undefined });
  const command = addAnswerOptions(program.command('sql').argument('[query]').option('--file <path>'));
  command.exitOverride().action(() => undefined);
  program.option('--verbose');
  sqlAsOperand(command);
  await program.parseAsync(['sql', ...words], { from: 'user' });
  return { query: command.args[0], ...command.opts() };
}

test.each<[string[], Record<string, unknown>]>([
  [['-- what is sold\nSELECT 1'], { query: '-- what is sold\nSELECT 1' }],
  [['--what is sold\nSELECT 1', '--format', 'csv'], { query: '--what is sold\nSELECT 1', format: 'csv' }],
  [['--json', '---\nSELECT 1', '--limit', '5'], { query: '---\nSELECT 1', json: true, limit: 5 }],
  [['--', '-- a comment\nSELECT 1'], { query: '-- a comment\nSELECT 1' }],
  [['--file=my query.sql'], { query: undefined, file: 'my query.sql' }],
  [['--verbose', 'SELECT 1'], { query: 'SELECT 1' }],
])('%j is understood', async (words, expected) => {
  expect(await parsed(...words)).toMatchObject(expected);
});

test.each([['--formt'], ['--limit=x']])('%s is still a wrong option', async (word) => {
  await expect(parsed('SELECT 1', word)).rejects.toThrow(/option/);
});

const piped = (...parts: (string | Buffer)[]) => Readable.from(parts);

async function inFile(text: string) {
  const cwd = await mkdtemp(path.join(tmpdir(), 'partner-etl-sql-'));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  await writeFile(path.join(cwd, 'a.sql'), text);
  return cwd;
}

test('SQL comes from the argument, a file or stdin, in this order', async () => {
  const cwd = await inFile('\ufeff-- a\nSELECT 2;\n');
  const euro = Buffer.from("SELECT '€'");
  const stdin = () => piped(euro.subarray(0, 9), euro.subarray(9));
  expect(await sqlFrom({ cwd, stdin: stdin() }, 'SELECT 1', undefined)).toBe('SELECT 1');
  expect(await sqlFrom({ cwd, stdin: stdin() }, undefined, 'a.sql')).toBe('-- a\nSELECT 2;\n');
  for (const [query, file] of [[], ['-'], [undefined, '-']])
    expect(await sqlFrom({ cwd, stdin: stdin() }, query, file)).toBe("SELECT '€'");
});

test('what is no SQL, too much of it or twice there is wrong usage', async () => {
  const cwd = await inFile('-- nothing but /* this */\n;');
  const terminal = Object.assign(new PassThrough(), { isTTY: true });
  const code = (query?: string, file?: string, stdin: Readable | null = null) =>
    sqlFrom({ cwd, stdin }, query, file).then(
      () => 'taken',
      ({ kind, code }) => `${kind}/${code}`,
    );
  expect(await code('SELECT 1', 'a.sql')).toBe('usage/two_queries');
  expect(await code(undefined, 'a.sql')).toBe('usage/no_sql');
  expect(await code(undefined, 'b.sql')).toBe('usage/sql_file');
  expect(await code(undefined, undefined)).toBe('usage/no_sql');
  expect(await code(undefined, undefined, terminal)).toBe('usage/no_sql');
  expect(await code(undefined, undefined, piped(' \n'))).toBe('usage/no_sql');
  expect(await code(undefined, undefined, piped('x'.repeat(LIMITS.sqlBytes + 1)))).toBe('usage/sql_size');
});
