import { describe, expect, test } from 'vitest';
import { createProgress, duration } from '../../../src/cli/print/progress.ts';
import { Screen } from '../../../src/cli/print/screen.ts';
import { HandClock, TextWriter } from '../surroundings.ts';

const WINDOW = { from: '2026-01-01', to: '2026-01-07', rows: 1500, changed: 2 };

function show(terminal?: { isTTY: boolean; columns: number }, quiet = false) {
  const out = new TextWriter(terminal);
  const clock = new HandClock();
  const screen = new Screen(out);
  const say = (text: string) => screen.print(text);
  return { out, clock, screen, progress: createProgress({ screen, say, isLive: screen.isTTY, clock, quiet }) };
}

/** What stands on the terminal after everything was written: moves up and erasures carried out. */
function visible(text: string): string[] {
  let lines: string[] = [];
  // biome-ignore lint/complexity/useRegexLiterals: an escape character in a literal is refused by another rule
  for (const piece of text.split(new RegExp('(\\u001b\\[\\d+A\\r\\u001b\\[J)'))) {
    const up = /\[(\d+)A/.exec(piece)?.[1];
    if (up !== undefined) lines = lines.slice(0, lines.length - Number(up));
    else lines.push(...piece.split('\n').slice(0, -1));
  }
  return lines;
}

describe('on a terminal', () => {
  const TERMINAL = { isTTY: true, columns: 80 };

  test('calls that wait have a live line, which says why, until they go on', () => {
    const { out, clock, progress } = show({ isTTY: true, columns: 120 });
    progress.begin('products', 2, 'call');
    progress.wait({ endpoint: 'product', ms: 60_000, why: 'rate-limit' });
    clock.ms += 20_000;
    progress.begin('orders', 1);
    expect(visible(out.text)).toEqual([
      'products: 0/2 calls, 0 rows',
      'orders: 0/1 window, 0 rows',
      'product: waits 40 s, since the service says that no call is left until then (X-RateLimit-Reset)',
    ]);
    clock.ms += 40_000;
    progress.window('orders', WINDOW);
    expect(visible(out.text)).toHaveLength(2);
  });

  test('the line of a wait that was broken off goes with the last pipeline', () => {
    const { out, progress } = show({ isTTY: true, columns: 120 });
    progress.begin('orders', 2);
    progress.wait({ endpoint: 'orders', ms: 600_000, why: 'retry-after' });
    progress.end('orders');
    expect(visible(out.text)).toEqual(['orders: 0 of 2 windows, 0 rows, 0 slices changed, took 0 s']);
  });

  test('a wait that belongs to no pipeline is a line that stays', () => {
    const { out, progress } = show({ isTTY: true, columns: 120 });
    progress.wait({ endpoint: 'reductions', ms: 3_000_000, why: 'budget' });
    expect(out.text).toBe('reductions: waits 50 min, since the budget of its calls is used up until then\n');
  });

  test('each pipeline has one live line with windows, rows, rate and time left', () => {
    const { out, clock, progress } = show(TERMINAL);
    progress.begin('orders', 4);
    progress.begin('promotions', 1);
    clock.ms += 3000;
    progress.window('orders', WINDOW);
    expect(visible(out.text)).toEqual([
      'orders: 1/4 windows, 1,500 rows, 500 rows/s, about 9 s left',
      'promotions: 0/1 window, 0 rows',
    ]);
  });

  test('where calls have a budget of the night, what is left of it is said', () => {
    const { out, clock, progress } = show({ isTTY: true, columns: 120 });
    progress.begin('products', 40, 'call', { kind: 'night', calls: 5000 });
    clock.ms += 3000;
    progress.window('products', { ...WINDOW, rows: 1 });
    expect(visible(out.text)).toEqual([
      'products: 1/40 calls, 1 row, 0 rows/s, 4,999 calls left in the budget, about 117 s left',
    ]);
  });

  test.each([
    [
      'where the budget is one of a short time, what there is room for now is said',
      1,
      1,
      '1 of 2 calls a second left, ',
    ],
    ['an hour is called so', 3600, 0, '0 of 2 calls an hour left, '],
    ['any other span is said in seconds', 90, 2, '2 of 2 calls in 90 s left, '],
    ['what nobody knows is not said', 60, null, ''],
  ])('%s', (_, perSeconds, left, text) => {
    const { out, clock, progress } = show({ isTTY: true, columns: 120 });
    progress.begin('orders', 4, 'window', { kind: 'rate', calls: 2, perSeconds, left: () => left });
    clock.ms += 3000;
    progress.window('orders', WINDOW);
    expect(visible(out.text)).toEqual([`orders: 1/4 windows, 1,500 rows, 500 rows/s, ${text}about 9 s left`]);
  });

  test('a finished pipeline leaves a line behind, above those that go on', () => {
    const { out, clock, progress } = show(TERMINAL);
    progress.begin('orders', 1);
    progress.begin('promotions', 2);
    clock.ms += 3000;
    progress.window('orders', WINDOW);
    progress.end('orders');
    expect(visible(out.text)).toEqual([
      'orders: 1 window, 1,500 rows, 2 slices changed, took 3 s',
      'promotions: 0/2 windows, 0 rows',
    ]);
  });

  test('what is said meanwhile stands above the live lines', () => {
    const { out, screen, progress } = show(TERMINAL);
    progress.begin('orders', 1);
    progress.note('a note');
    screen.print('a warning\nof two lines');
    expect(visible(out.text)).toEqual(['a note', 'a warning', 'of two lines', 'orders: 0/1 window, 0 rows']);
  });

  test('a live line never wraps', () => {
    const { out, progress } = show({ isTTY: true, columns: 20 });
    progress.begin('a-pipeline-with-a-long-name', 100);
    expect(visible(out.text)).toEqual(['a-pipeline-with-a-…']);
  });

  test('many windows in a moment are drawn once', () => {
    const { out, clock, progress } = show(TERMINAL);
    progress.begin('orders', 1000);
    const before = out.text.length;
    clock.ms += 1;
    for (let i = 0; i < 500; i++) progress.window('orders', WINDOW);
    expect(out.text.length).toBe(before);
    clock.ms += 1000;
    progress.window('orders', WINDOW);
    expect(visible(out.text)).toEqual([expect.stringMatching(/^orders: 501\/1,000 windows, 751,500 rows/)]);
  });
});

describe('elsewhere', () => {
  test('calls that wait are said once, with the reason', () => {
    const { out, progress } = show();
    progress.begin('products', 2, 'call');
    progress.wait({ endpoint: 'product', ms: 60_000, why: 'retry-after' });
    expect(out.lines.slice(1)).toEqual(['product: waits 60 s, since the service asked for it (Retry-After)']);
  });

  test('there are plain lines: beginning, now and then one, end', () => {
    const { out, clock, progress } = show();
    progress.begin('orders', 40);
    for (let i = 0; i < 40; i++) {
      clock.ms += 1000;
      progress.window('orders', WINDOW);
    }
    progress.end('orders');
    expect(out.lines).toEqual([
      'orders: 40 windows to fetch',
      'orders: 10/40 windows, 15,000 rows, 1,500 rows/s, about 30 s left',
      'orders: 20/40 windows, 30,000 rows, 1,500 rows/s, about 20 s left',
      'orders: 30/40 windows, 45,000 rows, 1,500 rows/s, about 10 s left',
      'orders: 40/40 windows, 60,000 rows, 1,500 rows/s',
      'orders: 40 windows, 60,000 rows, 80 slices changed, took 40 s',
    ]);
  });

  test.each([
    ['window', 'windows to fetch'],
    ['call', 'calls to make'],
    ['message', 'messages to take in'],
    ['answer', 'answers to load again from the raw store'],
    ['row', 'rows to load'],
  ] as const)('what is done with a %s is said', (unit, words) => {
    const { out, progress } = show();
    progress.begin('orders', 2, unit);
    expect(out.lines).toEqual([`orders: 2 ${words}`]);
  });

  test('a publication says how many rows there are, and what takes long besides', () => {
    const { out, clock, progress } = show();
    progress.begin('duckdb', 40_000, 'row');
    progress.step('duckdb', 'loading');
    for (let i = 0; i < 2; i++) {
      clock.ms += 10_000;
      progress.window('duckdb', { ...WINDOW, rows: 20_000, changed: 0 });
    }
    progress.step('duckdb', 'running the checks');
    clock.ms += 10_000;
    progress.step('duckdb', 'writing the file');
    progress.end('duckdb');
    expect(out.lines).toEqual([
      'duckdb: 40,000 rows to load',
      'duckdb: 20,000/40,000 rows, 2,000 rows/s, about 10 s left, loading',
      'duckdb: 40,000/40,000 rows, 2,000 rows/s, loading',
      'duckdb: 40,000/40,000 rows, 1,333 rows/s, writing the file',
      'duckdb: 40,000 rows, took 30 s',
    ]);
  });

  test('what takes in many at once counts them all', () => {
    const { out, progress } = show();
    progress.begin('products', 20, 'answer');
    progress.window('products', { ...WINDOW, units: 20 });
    progress.end('products');
    expect(out.lines.at(-1)).toBe('products: 20 answers, 1,500 rows, 2 slices changed, took 0 s');
  });

  test('a pipeline that stopped early says how far it came', () => {
    const { out, progress } = show();
    progress.begin('orders', 3);
    progress.window('orders', WINDOW);
    progress.end('orders');
    expect(out.lines.at(-1)).toBe('orders: 1 of 3 windows, 1,500 rows, 2 slices changed, took 0 s');
  });

  test('with --quiet there is nothing', () => {
    const { out, progress } = show(undefined, true);
    progress.begin('orders', 1);
    progress.window('orders', WINDOW);
    progress.note('a note');
    progress.end('orders');
    expect(out.text).toBe('');
  });
});

test.each([
  [0, '0 s'],
  [119_000, '119 s'],
  [120_000, '2 min'],
  [7_100_000, '118 min'],
  [9_000_000, '2 h 30 min'],
])('%i ms are said as %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});
