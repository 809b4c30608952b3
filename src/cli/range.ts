/** The two options --from and --to as a range. */
import type { Day, DayRange } from '../core/days.ts';
import { EtlError } from '../core/errors.ts';

export function rangeOf({ from, to }: { readonly from: Day; readonly to: Day }): DayRange {
  if (from <= to) return { from, to };
  throw new EtlError('usage', 'bad_range', `--from ${from} is after --to ${to}`, { hint: 'both days are inclusive' });
}
