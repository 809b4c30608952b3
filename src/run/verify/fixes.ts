/** Fixes of neighbouring days are one command over all of them: nobody types thirty. */
import { addDays, type Day, maxDay } from '../../core/days.ts';

/** A command over a range of days, in words: of some days, and how it is called for any others. */
export interface RangeFix {
  readonly from: Day;
  readonly to: Day;
  readonly over: (from: Day, to: Day) => string;
}

export interface WithFix {
  readonly fix: string | RangeFix;
}

/** The same in the same order, each fix as the command that is to be typed: ranges that touch are joined, where it is the same command. */
export function joinFixes<T extends WithFix>(found: readonly T[]): (Omit<T, 'fix'> & { readonly fix: string })[] {
  const joined = new Map<RangeFix, string>();
  const kinds = new Map<string, RangeFix[]>();
  for (const { fix } of found)
    if (typeof fix !== 'string') kinds.set(kindOf(fix), [...(kinds.get(kindOf(fix)) ?? []), fix]);
  for (const fixes of kinds.values())
    for (const group of touching(fixes)) {
      const to = group.reduce((last, fix) => maxDay(last, fix.to), group[0]!.to);
      for (const fix of group) joined.set(fix, fix.over(group[0]!.from, to));
    }
  return found.map((one) => ({ ...one, fix: typeof one.fix === 'string' ? one.fix : joined.get(one.fix)! }));
}

const kindOf = ({ over }: RangeFix) => over('from' as Day, 'to' as Day);

function touching(fixes: readonly RangeFix[]): RangeFix[][] {
  const groups: RangeFix[][] = [];
  let end: Day | null = null;
  for (const fix of [...fixes].sort((a, b) => (a.from < b.from ? -1 : 1))) {
    if (end === null || fix.from > addDays(end, 1)) groups.push([]);
    groups.at(-1)!.push(fix);
    end = end === null || groups.at(-1)!.length === 1 ? fix.to : maxDay(end, fix.to);
  }
  return groups;
}
