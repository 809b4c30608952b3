import { describe, expect, test } from 'vitest';
import { createLog, type LogFormat } from '../../../src/cli/print/log.ts';
import { Screen } from '../../../src/cli/print/screen.ts';
import { HandClock, TextWriter } from '../surroundings.ts';

interface Options {
  readonly isTTY?: boolean;
  readonly format?: LogFormat;
  readonly verbose?: boolean;
  readonly quiet?: boolean;
}

function logged({ isTTY = false, format = 'text', verbose = false, quiet = false }: Options): string[] {
  const out = new TextWriter(isTTY ? { isTTY, columns: 80 } : {});
  const screen = new Screen(out);
  const log = createLog({ screen, clock: new HandClock(), format, verbose, quiet, secrets: () => ['s3cret-s3cret'] });
  log.debug('detail');
  log.info('fetched', { rows: 5, bytes: 12n });
  log.warn('slow\u001b[2J', { url: 'https://x/?t=s3cret-s3cret', error: new Error('it is late') });
  log.error('broken');
  return out.lines;
}

describe('the log', () => {
  test('is JSON lines where they are asked for, dated by the clock, without secrets', () => {
    const lines = logged({ format: 'json' }).map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ level, message }) => [level, message])).toEqual([
      ['info', 'fetched'],
      ['warn', 'slow\u001b[2J'],
      ['error', 'broken'],
    ]);
    expect(lines[0]).toMatchObject({ time: '2026-03-01T08:00:00.000Z', rows: 5, bytes: '12', pid: process.pid });
    expect(lines[1]).toMatchObject({ error: 'it is late', url: 'https://x/?t=[redacted]' });
  });

  test.each([true, false])('is warnings and errors as plain lines else, on a terminal: %s', (isTTY) => {
    expect(logged({ isTTY })).toEqual([
      expect.stringMatching(/^warning: slow ?\[2J \(url=https:\/\/x\/\?t=\[redacted\] error=it is late\)$/),
      'error: broken',
    ]);
  });

  test.each<[Options, string[]]>([
    [{ verbose: true }, ['detail', 'fetched', 'slow', 'broken']],
    [{ verbose: true, format: 'json' }, ['detail', 'fetched', 'slow', 'broken']],
    [{ quiet: true }, ['broken']],
    [{ quiet: true, format: 'json' }, ['broken']],
  ])('with %j it says %j', (options, said) => {
    const lines = logged(options);
    expect(lines).toHaveLength(said.length);
    for (const [i, word] of said.entries()) expect(lines[i]).toContain(word);
  });
});
