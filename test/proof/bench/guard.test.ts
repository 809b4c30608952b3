import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { exponentOf } from './fit.ts';
import { compare, told, unitOf } from './guard.ts';
import { type KeptResult, keep, readKept } from './kept.ts';

type Numbers = Readonly<Record<string, number>>;

function kept(
  at: string,
  commit: string,
  raws: Readonly<Record<string, Numbers>>,
  machine = 'two cores',
): KeptResult[] {
  const versions = { node: '20', duckdb: '1.5', postgres: '18' };
  const told = { benchmark: 'any', figure: '', limit: '', target: '', met: null };
  return Object.entries(raws).map(([name, raw]) => ({ at, commit, machine, versions, name, raw, ...told }));
}

const before = (raw: Numbers) => kept('2026-01-01T00:00:00.000Z', 'aaa', { load: raw });
const now = (raw: Numbers) => kept('2026-01-02T00:00:00.000Z', 'bbb', { load: raw });
const changed = (a: Numbers, b: Numbers) => compare(now(b), before(a));

describe('the unit of a number', () => {
  test.each([
    ['tookMs', 'Ms'],
    ['published ms', 'Ms'],
    ['published cpuMs', 'Ms'],
    ['refuseUs', 'Us'],
    ['leftBytes', 'Bytes'],
    ['peakMiB', 'MiB'],
    ['rows', null],
    ['items', null],
    ['sums', null],
    ['exponent', null],
    ['status204', null],
  ])('%s: %s', (key, unit) => {
    expect(unitOf(key)).toBe(unit);
  });
});

describe('a comparison with the last kept result', () => {
  test('tells what became more than 15 % worse or better, with both commits, the largest change first', () => {
    const found = changed(
      { aMs: 1000, bMs: 1000, cMs: 1000, dMs: 1000, eMiB: 100, fBytes: 0 },
      { aMs: 1140, bMs: 1160, cMs: 800, dMs: 2000, eMiB: 130, fBytes: 100_000 },
    );
    expect(found.regressions.map(({ key }) => key)).toEqual(['fBytes', 'dMs', 'eMiB', 'bMs']);
    expect(found.regressions[1]).toEqual({
      name: 'load',
      key: 'dMs',
      before: 1000,
      now: 2000,
      isRatio: false,
      change: 1,
      commitBefore: 'aaa',
      commitNow: 'bbb',
    });
    expect(found.improvements.map(({ key }) => key)).toEqual(['cMs']);
    expect(told(found).join('\n')).toContain('+100 %  load: dMs 1,000 → 2,000 (aaa → bbb)');
  });

  test.each<[string, Numbers, Numbers]>([
    ['a count is no cost', { rows: 10 }, { rows: 20 }],
    ['the clock is not that exact', { tookMs: 10 }, { tookMs: 25 }],
    ['nor is the allocator', { peakMiB: 20 }, { peakMiB: 26 }],
    ['a number that is new has nothing before it', {}, { tookMs: 5000 }],
    [
      'on a machine half as fast the ratio to the limit is the same',
      { aMs: 1000, limitMs: 500 },
      { aMs: 2000, limitMs: 1000 },
    ],
    ['a limit is the machine', { limitMs: 500 }, { limitMs: 5000 }],
  ])('tells nothing where there is nothing: %s', (_why, a, b) => {
    const { regressions, improvements } = changed(a, b);
    expect([...regressions, ...improvements]).toEqual([]);
  });

  test('goes by the ratio to the limit of the same run: as fast as before on a machine twice as fast is worse', () => {
    const { regressions } = changed({ aMs: 1000, limitMs: 500 }, { aMs: 1000, limitMs: 250 });
    expect(regressions).toMatchObject([{ key: 'aMs', before: 2, now: 4, isRatio: true, change: 1 }]);
  });

  test('looks at the result of that name, of the same kind of machine', () => {
    const found = compare(kept('2026-03-01T00:00:00.000Z', 'now', { load: { aMs: 1000 }, other: { aMs: 1 } }), [
      ...kept('2026-02-01T00:00:00.000Z', 'last', { load: { aMs: 500 }, night: { aMs: 10 } }),
      ...kept('2026-02-03T00:00:00.000Z', 'elsewhere', { load: { aMs: 1 } }, 'four cores'),
    ]);
    expect(found.regressions).toMatchObject([{ name: 'load', commitBefore: 'last', before: 500, now: 1000 }]);
    expect(found.compared).toBe(1);
    expect(found.unknown).toEqual(['other']);
  });
});

test('what is kept replaces the last result of its name and machine, and leaves the others', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'etl-kept-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'last.json');
  expect(readKept(file)).toEqual([]);
  const first = [
    ...kept('2026-02-01', 'a', { load: { aMs: 5 }, night: { aMs: 6 } }),
    ...kept('2026-02-01', 'a', { load: { aMs: 7 } }, 'four'),
  ];
  keep(file, first);
  const [again] = kept('2026-02-02', 'b', { load: { aMs: 8 } });
  keep(file, [again!]);
  expect(readKept(file)).toEqual([again, first[1], first[2]]);
  expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(6); // a result a line: a change shows as what it is
});

describe('an exponent', () => {
  test.each([
    [[7, 7, 7], 0],
    [[30, 300, 3000], 1],
    [[1, 100, 10_000], 2],
    [[10, 100, 10], 0], // least squares: what is too high once is no growth
  ])('of costs %j at sizes 10, 100 and 1,000 is %d', (costs, exponent) => {
    const sizes = [10, 100, 1000];
    expect(exponentOf(costs.map((cost, i) => ({ size: sizes[i]!, cost })))).toBeCloseTo(exponent, 9);
  });
});
