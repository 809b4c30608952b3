/** The two options --from and --to as a range. */
import type { Day, DayRange } from '../core/days.ts';
import { EtlError } from '../core/errors.ts';
import { type DayWord, dayOn } from './values.ts';

/** Errors: `usage/bad_range`. */
export function rangeOf(options: { readonly from: DayWord; readonly to: DayWord }, today: Day): DayRange {
  const [from, to] = [dayOn(today, options.from), dayOn(today, options.to)];
  if (from <= to) return { from, to };
  throw new EtlError('usage', 'bad_range', `--from ${from} is after --to ${to}`, { hint: 'both days are inclusive' });
}
