/**
 * The shrink guard: a slice that suddenly holds far fewer rows than before is kept back until a person has looked.
 * Services restate days, but they seldom lose half of one; an outage on their side often looks just like that.
 */
import type { SliceContent } from './records.ts';

export interface ShrinkGuard {
  /** Slices that had fewer rows than this are never held: small numbers halve by chance. */
  readonly minRows: number;
  /** Held when fewer than this share of the rows is left, 0 to 1. */
  readonly keepRatio: number;
}

export interface HoldReason {
  readonly reason: 'shrunk' | 'emptied';
  readonly detail: string;
}

/** Why the new content must be held, or null when it may be applied. */
export function guardSlice(before: SliceContent | null, now: SliceContent, guard: ShrinkGuard): HoldReason | null {
  if (!before) return null;
  return guardCount(before.rows, now.rows, guard, `${before.rows} rows before, ${now.rows} now`);
}

/** The same for anything that is counted; `counted` says both figures in words. */
export function guardCount(before: number, now: number, guard: ShrinkGuard, counted: string): HoldReason | null {
  if (before < guard.minRows || now >= before * guard.keepRatio) return null;
  const share = `${Math.round(guard.keepRatio * 100)} %`;
  return { reason: now === 0 ? 'emptied' : 'shrunk', detail: `${counted}: less than ${share}` };
}
