/**
 * Days and ranges of days: the calendar in which slices live.
 *
 * A Day is the text `yyyy-mm-dd`, so that it sorts, prints and compares as it stands and never meets a time zone.
 */
import { EtlError } from './errors.ts';

export type Day = string & { readonly __day: true };

/** Earlier than any day of an answer. */
export const FIRST_DAY = '0001-01-01' as Day;

/** An inclusive range of days. */
export interface DayRange {
  readonly from: Day;
  readonly to: Day;
}

/** There is no year 0: Postgres refuses it, and DuckDB takes it for 1 before Christ. */
const SHAPE = /^(?!0000)\d{4}-\d{2}-\d{2}$/;
export const MS_PER_DAY = 86_400_000;

/** Whether the text is a day that exists in the calendar. */
export function isDay(text: string): text is Day {
  if (!SHAPE.test(text)) return false;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().slice(0, 10) === text;
}

/** Parses `yyyy-mm-dd`; refuses everything else with a usage error that names what it was read for. */
export function parseDay(text: string, what = 'day'): Day {
  if (isDay(text)) return text;
  throw new EtlError('usage', 'bad_day', `${what}: "${text}" is not a day`, {
    hint: 'write it as yyyy-mm-dd, for example 2026-03-01',
  });
}

/** Days since 1970-01-01. */
export function dayNumber(day: Day): number {
  return Date.parse(`${day}T00:00:00Z`) / MS_PER_DAY;
}

export function dayOfNumber(number: number): Day {
  return new Date(number * MS_PER_DAY).toISOString().slice(0, 10) as Day;
}

export function addDays(day: Day, days: number): Day {
  return dayOfNumber(dayNumber(day) + days);
}

/** Days from `a` to `b`; negative when `b` is earlier. */
export function daysBetween(a: Day, b: Day): number {
  return dayNumber(b) - dayNumber(a);
}

/** Every day of the inclusive range, in order; empty when `from` is after `to`. */
export function daysOf({ from, to }: DayRange): Day[] {
  const first = dayNumber(from);
  const count = Math.max(0, dayNumber(to) - first + 1);
  return Array.from({ length: count }, (_, i) => dayOfNumber(first + i));
}

export function inRange(day: Day, range: DayRange): boolean {
  return day >= range.from && day <= range.to;
}

export function minDay(a: Day, b: Day): Day {
  return a < b ? a : b;
}

export function maxDay(a: Day, b: Day): Day {
  return a > b ? a : b;
}

/** The calendar month of a day, `yyyy-mm`. */
export function monthOf(day: Day): string {
  return day.slice(0, 7);
}

/** Making a formatter costs a hundred times as much as using it. */
const formatters = new Map<string, Intl.DateTimeFormat>();

/** The day that it is at an instant (milliseconds since the epoch) in an IANA time zone. */
export function dayAt(ms: number, timeZone: string): Day {
  let formatter = formatters.get(timeZone);
  if (!formatter) {
    formatter = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
    formatters.set(timeZone, formatter);
  }
  return parseDay(formatter.format(ms), 'today');
}

/**
 * Merges days into inclusive ranges of neighbours, none longer than `longest` days.
 * The days may come in any order and more than once.
 */
export function mergeDays(days: Iterable<Day>, longest: number): DayRange[] {
  const numbers = [...new Set([...days].map(dayNumber))].sort((a, b) => a - b);
  const ranges: { first: number; last: number }[] = [];
  for (const n of numbers) {
    const open = ranges.at(-1);
    if (open && n === open.last + 1 && n - open.first < longest) open.last = n;
    else ranges.push({ first: n, last: n });
  }
  return ranges.map(({ first, last }) => ({ from: dayOfNumber(first), to: dayOfNumber(last) }));
}
