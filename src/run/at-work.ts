/** Which run is at work now: its record has no end, and neither has that of one that was killed. */
import type { RunRecord } from '../core/records.ts';
import type { RunContext } from './context.ts';

/** Held by every run. */
export const RUN_LOCK = 'run';

/** `newest`: the record of the run that began last. Runs exclude each other, so only that one can be at work. */
export async function isAtWork({ locks }: Pick<RunContext, 'locks'>, newest: RunRecord | undefined): Promise<boolean> {
  return newest !== undefined && newest.ended_at === null && locks.isLocked(RUN_LOCK);
}
