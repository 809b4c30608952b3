import { expect, it } from 'vitest';
import type { Audit } from './audit.ts';
import { compareSums, differenceOfRows } from './audit.ts';
import { AMOUNTS, type Amount } from './peer.ts';
import { type Truth, unitsOf } from './truth.ts';

const UNIT = 10n ** 20n;

it.each([
  ['12.10', (1210n * UNIT) / 100n],
  ['-0.05', (-5n * UNIT) / 100n],
  ['1e2', 100n * UNIT],
  ['0.30000000000000004', (30_000_000_000_000_004n * UNIT) / 10n ** 17n],
  ['1.0687781999999979e5', (10_687_781_999_999_979n * UNIT) / 10n ** 11n],
  ['1234567890123456789', 1_234_567_890_123_456_789n * UNIT],
])('%s is counted without a digit lost', (text, units) => {
  expect(unitsOf(text)).toBe(units);
});

it.each(['', 'NaN', '1,5', '0x10'])('"%s" is refused as a number', (text) => {
  expect(() => unitsOf(text)).toThrow('is no number');
});

const each = <T>(value: T) => Object.fromEntries(AMOUNTS.map((amount) => [amount, value])) as Record<Amount, T>;
const truth: Truth = new Map([['2026-09-01', { rows: 2, sums: each(unitsOf('0.3')), firstItem: '1' }]]);
const lying = (rows: string, keys: string, sum: string): Audit => ({
  rows: Number(rows),
  days: new Map([['2026-09-01', { rows, keys, ...each('0.300000') }]]),
  sums: each(sum),
  types: ['double'],
});

it.each([
  ['what the answer says', lying('2', '2', '0.3'), ''],
  ['a row twice', lying('3', '2', '0.3'), '2026-09-01: 3 rows of 2 items, 2 in the answer'],
  ['one item twice, another missing', lying('2', '1', '0.3'), '2026-09-01: 2 rows of 1 items, 2 in the answer'],
])('rows are compared by day and by key: %s', (_, found, told) => {
  expect(differenceOfRows(found, truth)).toBe(told);
});

it('a sum of doubles that is off is told, and that each value is right', () => {
  expect(compareSums(lying('2', '2', '0.30'), truth)).toMatchObject({ exact: true, told: 'exact (double)' });
  const { exact, rounded, told } = compareSums(lying('2', '2', '0.30000000000000004'), truth);
  expect({ exact, rounded }).toEqual({ exact: false, rounded: true });
  expect(told).toContain('5 of 5 off, quantity by 4.0e-17');
});
