import { type Day, mergeDays } from '../core/days.ts';
import { quoteName, quoteText } from '../engine/duckdb.ts';

/**
 * A condition that is true on the given days. Neighbours become ranges, and the span of all stands in front, because both engines
 * find rows by a range (zone maps, index) much faster than by a long list.
 */
export function onDays(column: string, days: readonly Day[]): string {
  const name = quoteName(column);
  const ranges = mergeDays(days, Number.POSITIVE_INFINITY);
  const first = ranges[0];
  const last = ranges.at(-1);
  if (!first || !last) return 'false';
  const between = (from: Day, to: Day) => `${name} BETWEEN DATE ${quoteText(from)} AND DATE ${quoteText(to)}`;
  if (ranges.length === 1) return between(first.from, first.to);
  return `${between(first.from, last.to)} AND (${ranges.map(({ from, to }) => between(from, to)).join(' OR ')})`;
}
