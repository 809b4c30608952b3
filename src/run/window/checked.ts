/** What the answers of earlier runs say of slices: when each was checked last, and whether an answer brings anything new. */
import { type Day, type DayRange, dayAt, daysOf } from '../../core/days.ts';
import type { SliceState } from '../../core/plan.ts';
import type { Slices } from '../../core/slices.ts';

/** An answer to a request for a range of days, and the version of the pipeline that it is read by. */
export interface AnswerKey {
  readonly range: DayRange;
  readonly sha256: string;
  readonly version: number;
}

/**
 * Whether this very answer, to this very window, is what all its slices were last checked by: then the lake holds (or holds back)
 * what it says.
 */
export function isKnownAnswer({ range, sha256, version }: AnswerKey, slices: Slices): boolean {
  return daysOf(range).every((day) => {
    const entry = slices.get(day);
    if (!entry?.checked || entry.moved) return false;
    const { checked, held, content } = entry;
    const isSame = checked.sha256 === sha256 && checked.from === range.from && checked.to === range.to;
    return isSame && (held?.content ?? content).version === version;
  });
}

/** What the plan has to know of every slice in the lake. */
export function sliceStates(slices: Slices, timeZone: string): Map<Day, SliceState> {
  const states = new Map<Day, SliceState>();
  for (const [day, { content, moved, checked }] of slices) {
    const checkedOn = checked?.on ?? dayAt(Date.parse(content.fetched_at), timeZone);
    states.set(day, { day, checkedOn, settled: content.settled, version: content.version, moved });
  }
  return states;
}
