import { describe, expect, test } from 'vitest';
import { describeFailure } from '../../../src/cli/print/failure.ts';
import { EtlError } from '../../../src/core/errors.ts';

const SECRET = 's3cret-s3cret';
const tell = (thrown: unknown, verbose = false) => describeFailure(thrown, { verbose, secrets: [SECRET] }).split('\n');

describe('a failure', () => {
  test('says what failed, where, why and what to do, without a stack', () => {
    const error = new EtlError('failed', 'http_500', 'the service answered 500 five times', {
      concern: { pipeline: 'orders', window: '2026-03-01..2026-03-07', requestId: 'f01' },
      cause: new Error('outer', { cause: new Error('socket hang up') }),
      hint: 'try again later',
    });
    expect(tell(error)).toEqual([
      'partner-etl: orders 2026-03-01..2026-03-07, request f01: the service answered 500 five times',
      '  why: socket hang up',
      '  fix: try again later',
    ]);
  });

  test('shows code and stack, also of the cause, when asked to', () => {
    const lines = tell(new EtlError('failed', 'http_500', 'broken', { cause: new Error('deep') }), true);
    expect(lines).toContain('  code: failed/http_500');
    expect(lines.some((line) => line.includes('failure.test.ts'))).toBe(true);
    expect(lines.filter((line) => line.includes('deep')).length).toBeGreaterThan(1);
  });

  test.each<[string, unknown, string[]]>([
    [
      'something that is no error',
      'just text',
      ['partner-etl: just text', expect.stringMatching(/^ {2}fix: .*--verbose/)],
    ],
    ['an error of ours alone', new EtlError('usage', 'x', 'wrong'), ['partner-etl: wrong']],
    [
      'a cause that only repeats the message',
      new EtlError('failed', 'x', 'cannot open: EACCES', { cause: new Error('EACCES') }),
      ['partner-etl: cannot open: EACCES'],
    ],
    [
      'several lines of ours',
      new EtlError('usage', 'x', '2 settings are wrong\na: b\nc: d'),
      ['partner-etl: 2 settings are wrong', '  a: b', '  c: d'],
    ],
    [
      'every address that was tried',
      new EtlError('failed', 'x', 'no way', { cause: new AggregateError([new Error('ECONNREFUSED ::1')], '') }),
      ['partner-etl: no way', '  why: ECONNREFUSED ::1'],
    ],
    [
      'a file that the message does not name',
      new EtlError('failed', 'x', 'it is damaged', { concern: { file: '/data/a.parquet', target: 'duckdb' } }),
      ['partner-etl: duckdb, /data/a.parquet: it is damaged'],
    ],
  ])('%s', (_, thrown, lines) => {
    expect(tell(thrown)).toEqual(lines);
  });

  test('neither shows a secret nor lets foreign text reach the terminal', () => {
    const hostile = `token ${SECRET}\u001b[2J\u0007 and Bearer abcdefghijklmnopqrstuvwxyz\u202e`;
    const error = new EtlError('failed', 'x', hostile, {
      concern: { file: `/${SECRET}` },
      cause: new Error(hostile),
      hint: hostile,
    });
    const text = describeFailure(error, { verbose: true, secrets: [SECRET] });
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain('abcdefghijklmnop');
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  test('stays short: long lines are cut, many lines are counted', () => {
    const lines = tell(new EtlError('usage', 'x', Array.from({ length: 100 }, () => 'x'.repeat(5000)).join('\n')));
    expect(lines.length).toBeLessThan(30);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(700);
    expect(lines.at(-1)).toBe('  and 80 more');
  });
});
