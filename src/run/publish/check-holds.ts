/** The checks of a target, and what they keep out of it; kept-holds.ts remembers that. */
import path from 'node:path';
import { isoTime } from '../../core/clock.ts';
import type { Day } from '../../core/days.ts';
import { parentName } from '../../core/pipeline.ts';
import {
  type BlockedByChecks,
  type BrokenCheck,
  brokenText,
  type Check,
  fixOn,
  readChecks,
} from '../../warehouse/checks/checks.ts';
import type { LoadSlice, Target } from '../../warehouse/target.ts';
import type { RunContext } from '../context.ts';
import type { CheckHold } from './kept-holds.ts';

/** The checks that a target's slices must stand. Errors: `usage/check`. */
export function checksFor(context: RunContext, target: Target): Promise<Check[]> {
  return readChecks(target.dialect, path.join(context.paths.root, 'checks'), context.pipelines);
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
