/** Values of options as text → checked values. Commander turns the errors into "error: option '--port <number>' …", exit 2. */
import { InvalidArgumentError } from 'commander';
import { type Day, isDay } from '../core/days.ts';

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
