import { describe, expect, test } from 'vitest';
import { fieldsAbout, type Log, logWith, sliceText } from '../../src/core/log.ts';

describe('logWith', () => {
  test('lines of every level carry the fields; what a line says itself counts more; the log itself stays as it is', () => {
    const lines: unknown[] = [];
    const at =
      (level: string) =>
      (message: string, fields?: Record<string, unknown>): void =>
        void lines.push([level, message, fields]);
    const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
    const ofRun = logWith(logWith(log, { run: 'r1' }), { pipeline: 'orders' });
    ofRun.debug('a');
    ofRun.info('b', { rows: 1 });
    ofRun.warn('c', { pipeline: 'products' });
    ofRun.error('d');
    log.info('e');
    expect(lines).toEqual([
      ['debug', 'a', { run: 'r1', pipeline: 'orders' }],
      ['info', 'b', { run: 'r1', pipeline: 'orders', rows: 1 }],
      ['warn', 'c', { run: 'r1', pipeline: 'products' }],
      ['error', 'd', { run: 'r1', pipeline: 'orders' }],
      ['info', 'e', undefined],
    ]);
  });
});

test.each([
  [{}, {}],
  [
    { pipeline: 'orders', day: '2026-03-01' },
    { pipeline: 'orders', slice: '2026-03-01' },
  ],
  [
    { window: '2026-03-01..2026-03-07', requestId: 'f1' },
    { slice: '2026-03-01..2026-03-07', request: 'f1' },
  ],
  [{ window: '2026-03-01..2026-03-01' }, { slice: '2026-03-01' }],
  [{ day: '2026-03-02', window: '2026-03-01..2026-03-07' }, { slice: '2026-03-02' }],
  [
    { target: 'duckdb', file: 'x' },
    { target: 'duckdb', file: 'x' },
  ],
])('an error about %j is logged as %j', (concern, fields) => {
  expect(fieldsAbout(concern)).toEqual(fields);
});

test('a window of one day is named like the day', () => {
  expect([sliceText('2026-03-01', '2026-03-01'), sliceText('2026-03-01', '2026-03-02')]).toEqual([
    '2026-03-01',
    '2026-03-01..2026-03-02',
  ]);
});
