/**
 * Slices that a blocking check keeps out of a target, and those that a person has released.
 *
 * The lake holds such a slice like any other, and the target lacks it, so every publication tries it again: it gets in as
 * soon as its content, or the check, is another one, or when it was released. The state keeps what was held for those who look between
 * publications, and the digests that were released; lost, a slice is held again.
 */
import path from 'node:path';
import { isoTime } from '../../core/clock.ts';
import type { Day } from '../../core/days.ts';
import { childrenOf, type Pipeline, parentName } from '../../core/pipeline.ts';
import { type CheckHoldRow, readCheckHolds, writeCheckHolds, writeReleased } from '../../store/check-holds.ts';
import {
  type BlockedByChecks,
  type BrokenCheck,
  brokenText,
  type Check,
  fixOn,
  readChecks,
} from '../../warehouse/checks.ts';
import type { HoldRecord, LoadSlice, ShownHold, Target } from '../../warehouse/target.ts';
import type { RunContext } from '../context.ts';

/** A hold; where slices come with another pipeline's answers, that one's, since it is the one that people name. */
export interface CheckHold extends HoldRecord {
  /** The check that keeps it back; of several the first. */
  readonly check: string;
  readonly fix: string;
}

type WithState = Pick<RunContext, 'state'>;

/** The checks that a target's slices must stand. Errors: `usage/check`. */
export function checksFor(context: RunContext, target: Target): Promise<Check[]> {
  return readChecks(target.name, path.join(context.paths.root, 'checks'), context.pipelines);
}

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

/** The slices without those that are blocked, and what is held of them; a whole and its parts stay together. */
export async function leaveOut(
  context: RunContext,
  target: Target,
  slices: readonly LoadSlice[],
  { broken }: BlockedByChecks,
  standing: readonly CheckHold[],
): Promise<{ readonly rest: LoadSlice[]; readonly held: CheckHold[] }> {
  const wholes = new Map(context.pipelines.map((pipeline) => [pipeline.name, parentName(pipeline)]));
  const nameOf = (pipeline: string, day: Day | null) => `${wholes.get(pipeline) ?? pipeline} ${day}`;
  const blocked = new Map<string, BrokenCheck[]>();
  for (const b of broken) {
    const name = nameOf(b.pipeline, b.day);
    blocked.set(name, [...(blocked.get(name) ?? []), b]);
  }
  const nameOfSlice = ({ pipeline, content }: LoadSlice) => nameOf(pipeline.name, content.day);
  const rest = slices.filter((slice) => !blocked.has(nameOfSlice(slice)));
  const held: CheckHold[] = [];
  for (const [name, found] of blocked) {
    // What is wrong with a whole may be new in its part alone.
    const left = slices.filter((slice) => nameOfSlice(slice) === name);
    const slice = left.find(({ pipeline }) => pipeline.name === found[0]?.pipeline) ?? left[0];
    if (slice) held.push(await holdOf(context, target, slice, found, standing));
  }
  return { rest, held };
}

async function holdOf(
  context: RunContext,
  target: Target,
  { pipeline, content }: LoadSlice,
  broken: readonly BrokenCheck[],
  standing: readonly CheckHold[],
): Promise<CheckHold> {
  const before = standing.find((hold) => hold.digest === content.digest && hold.slice_day === content.day);
  const published = (await target.sums(pipeline, [content.day])).get(content.day);
  return {
    pipeline: parentName(pipeline),
    slice_day: content.day,
    reason: 'check',
    detail: broken.map(brokenText).join('; '),
    digest: content.digest,
    rows: content.rows,
    rows_before: published?.rows ?? 0,
    fetch_id: content.fetch_id,
    held_at: before?.held_at ?? isoTime(context.clock.now()),
    check: broken[0]?.check ?? '',
    fix: fixOn(broken[0]?.fix ?? '', content.day),
  };
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
