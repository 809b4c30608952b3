import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addDays,
  type Day,
  dayAt,
  dayNumber,
  dayOfNumber,
  daysBetween,
  daysOf,
  inRange,
  isDay,
  maxDay,
  mergeDays,
  minDay,
  monthOf,
  parseDay,
} from '../../src/core/days.ts';

const day = (text: string) => text as Day;
const at = (text: string, timeZone: string) => dayAt(Date.parse(text), timeZone);

describe('a day is yyyy-mm-dd of a day in the calendar', () => {
  it.each([
    ['2026-03-01', true],
    ['2024-02-29', true],
    ['2000-02-29', true],
    ['2026-02-29', false],
    ['0000-01-01', false],
    ['0001-01-01', true],
    ['1900-02-29', false],
    ['2026-04-31', false],
    ['2026-13-01', false],
    ['2026-00-10', false],
    ['2026-01-00', false],
    ['2026-3-1', false],
    ['20260301', false],
    ['01-03-2026', false],
    ['2026-03-01T00:00:00Z', false],
    [' 2026-03-01', false],
    ['2026-03-01\n', false],
    ['', false],
  ])('%j: %s', (text, isOne) => {
    expect(isDay(text)).toBe(isOne);
  });

  it('what is none is wrong usage, and the message says what it was read for', () => {
    expect(parseDay('2024-02-29')).toBe('2024-02-29');
    expect(() => parseDay('2026-02-29', 'startDay')).toThrow(
      expect.objectContaining({ kind: 'usage', code: 'bad_day', message: 'startDay: "2026-02-29" is not a day' }),
    );
  });
});

describe('counting', () => {
  it.each([
    ['2026-03-01', 0, '2026-03-01'],
    ['2026-02-28', 1, '2026-03-01'],
    ['2024-02-28', 1, '2024-02-29'],
    ['2024-03-01', -1, '2024-02-29'],
    ['2025-12-31', 1, '2026-01-01'],
    ['2026-01-01', -1, '2025-12-31'],
    ['2026-03-28', 2, '2026-03-30'],
    ['2024-01-01', 366, '2025-01-01'],
    ['1970-01-01', -1, '1969-12-31'],
  ])('%s and %i days is %s', (from, days, to) => {
    expect(addDays(day(from), days)).toBe(to);
    expect(daysBetween(day(from), day(to))).toBe(days);
  });

  it.each([
    ['2024-02-28', '2024-03-01', ['2024-02-28', '2024-02-29', '2024-03-01']],
    ['2025-12-31', '2026-01-01', ['2025-12-31', '2026-01-01']],
    ['2026-03-01', '2026-03-01', ['2026-03-01']],
    ['2026-03-02', '2026-03-01', []],
  ])('from %s to %s are %j', (from, to, days) => {
    expect(daysOf({ from: day(from), to: day(to) })).toEqual(days);
  });

  it('both ends belong to a range', () => {
    const range = { from: day('2026-02-27'), to: day('2026-03-01') };
    const days = ['2026-02-26', '2026-02-27', '2026-02-28', '2026-03-01', '2026-03-02'];
    expect(days.filter((one) => inRange(day(one), range))).toEqual(days.slice(1, 4));
  });

  it('the earlier, the later, the month', () => {
    expect(minDay(day('2025-12-31'), day('2026-01-01'))).toBe('2025-12-31');
    expect(maxDay(day('2025-12-31'), day('2026-01-01'))).toBe('2026-01-01');
    expect(monthOf(day('2025-12-31'))).toBe('2025-12');
  });

  it('a day and its number name each other, and both sort alike', () => {
    const number = fc.integer({ min: -100_000, max: 100_000 });
    fc.assert(
      fc.property(number, number, (a, b) => {
        expect(dayNumber(dayOfNumber(a))).toBe(a);
        expect(isDay(dayOfNumber(a))).toBe(true);
        expect(dayOfNumber(a) < dayOfNumber(b)).toBe(a < b);
      }),
    );
  });
});

describe('the day that it is somewhere', () => {
  it.each([
    ['winter, before midnight', '2026-01-14T22:59:59.999Z', 'Europe/Amsterdam', '2026-01-14'],
    ['winter, midnight', '2026-01-14T23:00:00Z', 'Europe/Amsterdam', '2026-01-15'],
    ['the night of the spring change begins', '2026-03-28T23:00:00Z', 'Europe/Amsterdam', '2026-03-29'],
    ['the hour that is skipped', '2026-03-29T01:00:00Z', 'Europe/Amsterdam', '2026-03-29'],
    ['the short day ends', '2026-03-29T21:59:59Z', 'Europe/Amsterdam', '2026-03-29'],
    ['and the next begins an hour earlier', '2026-03-29T22:00:00Z', 'Europe/Amsterdam', '2026-03-30'],
    ['the night of the autumn change begins', '2026-10-24T22:00:00Z', 'Europe/Amsterdam', '2026-10-25'],
    ['the long day ends', '2026-10-25T22:59:59Z', 'Europe/Amsterdam', '2026-10-25'],
    ['and the next begins an hour later', '2026-10-25T23:00:00Z', 'Europe/Amsterdam', '2026-10-26'],
    ['a leap day', '2024-02-28T23:00:00Z', 'Europe/Amsterdam', '2024-02-29'],
    ['new year', '2025-12-31T23:00:00Z', 'Europe/Amsterdam', '2026-01-01'],
    ['UTC', '2025-12-31T23:00:00Z', 'UTC', '2025-12-31'],
    ['west of it', '2026-03-01T07:59:59Z', 'America/Los_Angeles', '2026-02-28'],
    ['far east of it', '2026-02-28T10:00:00Z', 'Pacific/Kiritimati', '2026-03-01'],
    ['a zone that skips midnight', '2018-11-04T03:00:00Z', 'America/Sao_Paulo', '2018-11-04'],
    ['a zone that skipped a day', '2011-12-30T10:00:00Z', 'Pacific/Apia', '2011-12-31'],
  ])('%s: %s in %s is %s', (_, instant, timeZone, is) => {
    expect(at(instant, timeZone)).toBe(is);
  });
});

describe('merging days into ranges', () => {
  it.each<[string, string[], number, string[]]>([
    ['nothing', [], 7, []],
    ['one day', ['2026-03-01'], 7, ['2026-03-01..2026-03-01']],
    ['neighbours', ['2026-03-01', '2026-03-02'], 7, ['2026-03-01..2026-03-02']],
    ['any order and more than once', ['2026-03-02', '2026-03-01', '2026-03-02'], 7, ['2026-03-01..2026-03-02']],
    ['over the end of a month', ['2026-02-28', '2026-03-01'], 7, ['2026-02-28..2026-03-01']],
    [
      'a leap day that is missing',
      ['2024-02-28', '2024-03-01'],
      7,
      ['2024-02-28..2024-02-28', '2024-03-01..2024-03-01'],
    ],
    ['a gap', ['2026-03-01', '2026-03-03'], 7, ['2026-03-01..2026-03-01', '2026-03-03..2026-03-03']],
    [
      'cut at the longest',
      ['2026-03-01', '2026-03-02', '2026-03-03'],
      2,
      ['2026-03-01..2026-03-02', '2026-03-03..2026-03-03'],
    ],
    ['one day each', ['2026-03-01', '2026-03-02'], 1, ['2026-03-01..2026-03-01', '2026-03-02..2026-03-02']],
  ])('%s', (_, days, longest, ranges) => {
    expect(mergeDays(days.map(day), longest).map(({ from, to }) => `${from}..${to}`)).toEqual(ranges);
  });

  it('the ranges hold exactly the days, in order, none twice, none longer than the longest', () => {
    const numbers = fc.array(fc.integer({ min: 20_000, max: 20_060 }), { maxLength: 60 });
    fc.assert(
      fc.property(numbers, fc.integer({ min: 1, max: 12 }), (chosen, longest) => {
        const ranges = mergeDays(chosen.map(dayOfNumber), longest);
        expect(ranges.flatMap(daysOf)).toEqual([...new Set(chosen)].sort((a, b) => a - b).map(dayOfNumber));
        for (const { from, to } of ranges) expect(daysBetween(from, to)).toBeLessThan(longest);
      }),
    );
  });
});
