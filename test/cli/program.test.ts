import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildProgram } from '../../src/cli/program.ts';
import { EtlError, EXIT, exitCodeOf } from '../../src/core/errors.ts';
import { fakeContext, run } from './surroundings.ts';

/** Every command that is promised, as `partner-etl --help` names it. */
const PROMISED = [
  ...[
    'run',
    'backfill',
    'plan',
    'status',
    'explain',
    'rejects',
    'release',
    'replay',
    'rebuild',
    'verify',
    'lookup',
    'sql',
    'ask',
  ],
  ...['init', 'doctor', 'sandbox', 'demo'],
];

const commands = buildProgram(fakeContext().context).commands;
const byName: [string, Command][] = commands.map((command) => [command.name(), command]);

describe('the command line', () => {
  test('has the promised commands, in the order of the promise or any other', () => {
    const names = commands.map((command) => command.name());
    expect(names).toEqual(expect.arrayContaining(PROMISED));
    expect(new Set(names).size).toBe(names.length);
  });

  test('--help lists the commands and the exit codes, on stdout', async () => {
    const { code, stdout, stderr } = await run(['--help']);
    expect(code).toBe(0);
    for (const name of PROMISED) expect(stdout.text).toMatch(new RegExp(`^  ${name}\\b`, 'm'));
    for (const value of Object.values(EXIT)) expect(stdout.text).toMatch(new RegExp(`\\b${value} [a-z]`));
    expect(stderr.text).toBe('');
  });

  test('--version prints the version alone', async () => {
    const { code, stdout } = await run(['--version']);
    expect([code, stdout.text]).toEqual([0, '1.2.3\n']);
  });

  test.each(byName)('%s --help says what it does, explains every option and gives examples', async (name, command) => {
    const { code, stdout } = await run([name, '--help']);
    expect(code).toBe(0);
    expect(stdout.text).toContain('Usage: partner-etl');
    expect(stdout.text).toContain('Examples:\n  partner-etl ');
    expect(command.description() || command.summary()).not.toBe('');
    for (const option of command.options) expect(option.description).not.toBe('');
  });

  test.each(byName)('the help of %s fits terminals of any width, but for what is typed', async (name, command) => {
    for (const columns of [72, 80, 120]) {
      const { stdout } = await run([name, '--help'], { isTTY: true, columns });
      const long = stdout.lines.filter((line) => line.length > columns && !line.startsWith('  partner-etl '));
      expect(long).toEqual([]);
    }
    // A break of ours and one of the terminal's width leave half a line behind.
    expect(command.description()).not.toContain('\n');
  });

  test('so does the list of commands, also where it is wrong usage', async () => {
    const long = (lines: readonly string[]) =>
      lines.filter((line) => line.length > 80 && !line.startsWith('  partner-etl '));
    expect(long((await run(['--help'], { isTTY: true, columns: 80 })).stdout.lines)).toEqual([]);
    expect(long((await run([], { isTTY: true, columns: 80 })).stderr.lines)).toEqual([]);
  });

  test.each<[string, string[], string]>([
    ['an unknown command', ['rnu'], '(Did you mean run?)'],
    ['an unknown option', ['plan', '--jsn'], '(Did you mean --json?)'],
    ['a required option that is misspelt', ['backfill', 'orders', '--form', '2026-01-01'], '(Did you mean --from?)'],
    ['the same with a value in it', ['replay', 'orders', '--form=2026-01-01'], "'--form'\n(Did you mean --from?)"],
    ['an unknown option of a command below', ['lookup', 'product', '--langage', 'nl'], '(Did you mean --language?)'],
    ['an unknown global option', ['--verbos'], '(Did you mean --verbose?)'],
    ['a missing argument', ['backfill', '--from', '2026-01-01', '--to', '2026-01-02'], 'missing required argument'],
    ['a missing option', ['backfill', 'orders'], "required option '--from"],
    ['a value that is no day', ['backfill', 'orders', '--from', '2026-02-30', '--to', '2026-03-01'], 'yyyy-mm-dd'],
    ['a value that is no number', ['sandbox', '--port', '99999'], 'from 0 to 65535'],
    ['one argument too many', ['doctor', 'please'], 'too many arguments'],
  ])('%s is wrong usage, with the fix on stderr', async (_, words, part) => {
    const { code, stdout, stderr } = await run(words);
    expect(code).toBe(EXIT.usage);
    expect(stderr.text).toContain(part);
    expect(stderr.text).toContain('--help');
    expect(stdout.text).toBe('');
  });

  test('no command at all prints the help, as wrong usage', async () => {
    const { code, stdout, stderr } = await run([]);
    expect(code).toBe(EXIT.usage);
    expect(stderr.text).toContain('Usage: partner-etl');
    expect(stdout.text).toBe('');
  });
});

describe('while PARTNER_ETL_TODAY is set', () => {
  const env = { PARTNER_ETL_TODAY: '2026-03-01' };
  const SAID = /^PARTNER_ETL_TODAY is set: every command takes 2026-03-01 for today, and alerts /;
  let home: string;
  beforeAll(async () => {
    home = await mkdtemp(path.join(tmpdir(), 'partner-etl-today-'));
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  test.each([
    ['reports', ['status', '--json']],
    ['plans', ['plan', '--json']],
    ['explains', ['explain', 'orders', '2026-02-01', '--json']],
    ['is quiet', ['status', '--quiet', '--json']],
    ['needs no settings', ['ask', '--json']],
    ['fails', ['run']],
  ])('a command that %s says so in one line, and only on stderr', async (_, words) => {
    const { stdout, stderr } = await run(words, { env: { ...env, PARTNER_ETL_HOME: home } });
    expect(stderr.lines[0]).toMatch(SAID);
    expect(stderr.lines.filter((line) => SAID.test(line))).toHaveLength(1);
    if (words.includes('--json')) expect(() => JSON.parse(stdout.text)).not.toThrow();
  });

  test.each([[['status', '--json', '--log', 'json']], [['status', '--json', '--log', 'json', '--quiet']]])(
    'as a line of JSON where stderr has such: %j',
    async (words) => {
      const { stderr } = await run(words, { env: { ...env, PARTNER_ETL_HOME: home } });
      expect(JSON.parse(stderr.lines[0]!)).toMatchObject({ message: expect.stringMatching(SAID) });
    },
  );

  test('without it nothing is said, nor for a day that is none', async () => {
    for (const value of ['', ' ', 'tomorrow']) {
      const { stderr } = await run(['status', '--json'], { env: { PARTNER_ETL_TODAY: value, PARTNER_ETL_HOME: home } });
      expect(stderr.text).not.toContain('for today');
    }
  });
});

describe('exit codes', () => {
  test.each([
    ['usage', 2],
    ['retry', 1],
    ['failed', 1],
    ['refused', 4],
    ['locked', 75],
    ['bug', 1],
  ] as const)('an error of kind %s ends in %i', (kind, code) => {
    expect(exitCodeOf(new EtlError(kind, 'x', 'x'))).toBe(code);
  });

  test('they are the promised ones', () => {
    expect(EXIT).toEqual({ done: 0, failed: 1, usage: 2, setAside: 3, refused: 4, locked: 75 });
  });

  test('an error becomes lines on stderr and its exit code; the stack comes only with --verbose', async () => {
    const env = { PARTNER_ETL_TODAY: 'tomorrow' };
    const plain = await run(['doctor'], { env });
    expect(plain.code).toBe(EXIT.usage);
    expect(plain.stderr.lines).toEqual([
      expect.stringContaining('partner-etl: environment: PARTNER_ETL_TODAY = "tomorrow"'),
      expect.stringContaining('  fix: '),
    ]);
    const verbose = await run(['doctor', '--verbose'], { env });
    expect(verbose.stderr.text).toContain('\n  at ');
  });
});
