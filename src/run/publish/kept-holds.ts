/**
 * What is remembered of slices that a blocking check keeps out of a target, and of those that a person has released.
 *
 * The lake holds such a slice like any other, and the target lacks it, so every publication tries it again: it gets in as
 * soon as its content, or the check, is another one, or when it was released. The state keeps what was held for those who look between
 * publications, and the digests that were released; lost, a slice is held again.
 */
import { isoTime } from '../../core/clock.ts';
import type { Day } from '../../core/days.ts';
import { childrenOf, type Pipeline, parentName } from '../../core/pipeline.ts';
import { type CheckHoldRow, readCheckHolds, writeCheckHolds, writeReleased } from '../../store/tables/check-holds.ts';
import type { HoldRecord, ShownHold } from '../../warehouse/target.ts';
import type { RunContext } from '../context.ts';

/** A hold; where slices come with another pipeline's answers, that one's, since it is the one that people name. */
export interface CheckHold extends HoldRecord {
  /** The check that keeps it back; of several the first. */
  readonly check: string;
  readonly fix: string;
}

type WithState = Pick<RunContext, 'state'>;

export async function holdsIn({ state }: WithState, target: string): Promise<CheckHold[]> {
  return (await readCheckHolds(state.db, target)).map(holdIn);
}

/** Those of all targets that are switched on, once for each slice. */
export async function allCheckHolds({ state, targets }: WithState & Pick<RunContext, 'targets'>): Promise<CheckHold[]> {
  const names = targets.map(({ name }): string => name);
  const rows = await readCheckHolds(state.db);
  return withoutTwice(rows.filter(({ target }) => names.includes(target)).map(holdIn));
}

export async function keepHolds(
  { state }: WithState,
  target: string,
  before: readonly CheckHold[],
  holds: readonly CheckHold[],
): Promise<void> {
  if (sameHolds(before, holds)) return;
  const rows = holds.map(({ check, ...hold }) => ({ ...hold, check_name: check }));
  await writeCheckHolds(state, target, rows);
}

function holdIn({ target: _, check_name: check, slice_day, ...hold }: CheckHoldRow): CheckHold {
  return { ...hold, slice_day: slice_day as Day, check };
}

/** Whether they keep back the same contents for the same reasons. */
export function sameHolds(some: readonly ShownHold[], others: readonly ShownHold[]): boolean {
  const text = (holds: readonly ShownHold[]) =>
    JSON.stringify(holds.map((h) => [h.pipeline, h.slice_day, h.digest, h.detail]).sort());
  return text(some) === text(others);
}

/** Remembers that what checks hold of this slice is to be published. Returns whether they hold anything. */
export async function releaseFromChecks(context: RunContext, pipeline: Pipeline, day: Day): Promise<boolean> {
  const held = (await allCheckHolds(context)).some((hold) => hold.pipeline === pipeline.name && hold.slice_day === day);
  if (!held) return false;
  const released = new Map<string, string>();
  for (const { name } of [pipeline, ...childrenOf(context.pipelines, pipeline)]) {
    const content = (await context.lake.slices(name)).get(day)?.content;
    if (content) released.set(content.digest, isoTime(context.clock.now()));
  }
  await writeReleased(context.state, released);
  return true;
}

/** The first of those that name the same slice: `etl.hold` has a row a slice. */
export function withoutTwice<T extends HoldRecord>(holds: readonly T[]): T[] {
  const named = new Map<string, T>();
  for (const hold of holds) {
    const name = `${hold.pipeline} ${hold.slice_day}`;
    if (!named.has(name)) named.set(name, hold);
  }
  return [...named.values()];
}

/** Whether a check keeps a slice, or the whole that it is a part of, out of a target. */
export async function heldByChecks(context: RunContext): Promise<(pipeline: Pipeline, day: Day) => boolean> {
  const held = new Set((await allCheckHolds(context)).map((hold) => `${hold.pipeline} ${hold.slice_day}`));
  return (pipeline, day) => held.has(`${pipeline.name} ${day}`) || held.has(`${parentName(pipeline)} ${day}`);
}
