/** Values of options as text → checked values. Commander turns the errors into "error: option '--port <number>' …", exit 2. */
import { InvalidArgumentError } from 'commander';
import { addDays, type Day, isDay } from '../core/days.ts';

/** A day, or one that is counted from today, which only the settings know: their time zone, or the day that is pretended. */
export type DayWord = Day | { readonly daysAgo: number };

/** `today`, `yesterday` and `today-7` beside yyyy-mm-dd; `dayOn` makes days of them. */
export function dayWord(text: string): DayWord {
  if (isDay(text)) return text;
  const found = /^(?:today(?:-(\d{1,4}))?|yesterday)$/i.exec(text);
  if (found === null)
    throw new InvalidArgumentError(
      'A day is written as yyyy-mm-dd, for example 2026-03-01, or as today, yesterday or today-7.',
    );
  return { daysAgo: /^y/i.test(text) ? 1 : Number(found[1] ?? 0) };
}

export function dayOn(today: Day, word: DayWord): Day {
  return typeof word === 'string' ? word : addDays(today, -word.daysAgo);
}

export function dayValue(text: string): Day {
  if (isDay(text)) return text;
  throw new InvalidArgumentError('A day is written as yyyy-mm-dd, for example 2026-03-01.');
}

/** A parser of whole numbers between two bounds, both included. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`A whole number from ${least} to ${most} is accepted.`);
  };
}
