/** Texts that would act on a terminal or forge a line of a log, wherever such text comes out. */
import { describe, expect, test } from 'vitest';
import { describeFailure } from '../../../src/cli/print/failure.ts';
import { createLog } from '../../../src/cli/print/log.ts';
import { printCsv, printJson, printTable } from '../../../src/cli/print/output.ts';
import { harmless, Screen } from '../../../src/cli/print/screen.ts';
import { EtlError } from '../../../src/core/errors.ts';
import { fakeContext, HandClock, TextWriter } from '../../cli/surroundings.ts';

const ATTACKS: readonly (readonly [string, string])[] = [
  ['clears the screen', 'x\u001b[2J\u001b[Hy'],
  ['writes the window title', 'x\u001b]0;pwned\u0007y'],
  ['writes the clipboard', 'x\u001b]52;c;cm0gLXJmIH4=\u0007y'],
  ['clears the screen by an 8-bit control', 'x\u009b2Jy'],
  ['begins an 8-bit device string', 'x\u0090y\u009c'],
  ['writes over the line', 'paid: 100\rpaid: 999'],
  ['goes back', 'abc\b\b\bxyz'],
  ['turns the direction', 'safe\u202eexe.fdp'],
  ['isolates the direction', 'a\u2066b\u2069'],
  ['ends a line as only Unicode does', 'x\u2028{"level":"error"}'],
  ['forges a line of the log', 'x\n{"level":"error","message":"forged"}'],
  ['breaks out of JSON', 'x","level":"fatal","run":"forged'],
  ['ends a text as C does', 'x\0y'],
];
/** What no terminal may get; line breaks are ours. */
const ACTING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

describe.each(ATTACKS)('a text that %s', (_, attack) => {
  test('is one line of JSON in the log, and says there what it said', () => {
    const out = new TextWriter();
    const log = createLog({
      screen: new Screen(out),
      clock: new HandClock(),
      secrets: () => [],
      format: 'json',
      verbose: false,
      quiet: false,
    });
    log.warn(attack, { pipeline: attack, cause: new Error(attack) });
    expect(out.text).not.toMatch(/[\u2028\u2029]/);
    expect(out.lines.map((line) => line.replace(ACTING, ''))).toEqual(out.lines);
    expect(out.lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ level: 'warn', message: attack, pipeline: attack, cause: attack }),
    ]);
  });

  test('is one plain line of the log on a terminal', () => {
    const out = new TextWriter({ isTTY: true, columns: 80 });
    const log = createLog({
      screen: new Screen(out),
      clock: new HandClock(),
      secrets: () => [],
      format: 'text',
      verbose: false,
      quiet: false,
    });
    log.warn(attack, { title: attack });
    expect(out.lines).toHaveLength(1);
    expect(out.lines[0]).not.toMatch(ACTING);
  });

  test('does nothing in the lines of an error', () => {
    const error = new EtlError('failed', 'x', 'it failed', {
      hint: attack,
      cause: new Error(attack),
      concern: { file: attack },
    });
    for (const verbose of [false, true]) {
      const text = describeFailure(error, { verbose, secrets: [] });
      expect(text).not.toMatch(ACTING);
      expect(text.split('\n').filter((line) => line.startsWith('{'))).toEqual([]);
    }
  });

  test('does nothing in a table, a heading, CSV, JSON and live lines on a terminal', () => {
    const out = new TextWriter({ isTTY: true, columns: 80 });
    printTable(harmless(out), [{ title: attack }], [[attack]]);
    printCsv(harmless(out), [attack], [[attack]]);
    printJson(harmless(out), { [attack]: attack });
    expect(out.text.replaceAll('\r\n', '\n')).not.toMatch(ACTING);
    const screen = new TextWriter({ isTTY: true, columns: 80 });
    new Screen(screen).live([attack]);
    new Screen(screen).print(attack);
    expect(screen.text).not.toMatch(ACTING);
  });

  test('is whole in JSON and in CSV that go into a file', () => {
    const out = new TextWriter();
    printJson(harmless(out), { text: attack });
    expect(JSON.parse(out.text)).toEqual({ text: attack });
    const csv = new TextWriter();
    printCsv(harmless(csv), ['text'], [[attack]]);
    expect(csv.text).toContain(attack.replaceAll('"', '""'));
  });
});

test('whatever a command writes goes that way', () => {
  const { context, stdout, stderr } = fakeContext({ isTTY: true });
  context.stdout.write('a\u001b[2Jb\n');
  context.screen.print('a\u001b[2Jb');
  expect([stdout.text, stderr.text]).toEqual(['a\ufffd[2Jb\n', 'a\ufffd[2Jb\n']);
});
