/**
 * Makes what look-ups and files observed part of the lake. When most of what was there is suddenly gone, nothing of it is applied:
 * it is held, and since the answers stay pending, the next night decides with newer ones, or a person releases it.
 */
import { isoTime } from '../../core/clock.ts';
import { guardCount, type HoldReason, type ShrinkGuard } from '../../core/guard.ts';
import { childrenOf, type Pipeline } from '../../core/pipeline.ts';
import { spanning } from '../../core/tracer.ts';
import { emptySlice } from '../../engine/content.ts';
import type { Lake, SliceChange } from '../../lake/lake.ts';
import type { ChangedSlice } from '../../normalise/changed-slices.ts';
import { type Observations, type ObserveInput, observe } from '../../normalise/observe.ts';
import type { Complete, ObservedRows } from '../../normalise/observed.ts';
import type { RunContext } from '../context.ts';
import type { Session } from '../session.ts';
import type { Into } from '../sources/source.ts';
import type { Applied } from '../tally.ts';
import { currentIn } from './current.ts';

export interface Observation {
  readonly pipeline: Pipeline;
  readonly parent: ObservedRows;
  readonly children: readonly ObservedRows[];
  /** Set where the rows are all there are. */
  readonly complete?: Complete;
  /** Files of what could not become a row. */
  readonly refusedFiles: readonly string[];
  readonly fetchId: string;
  readonly outDir: string;
}

/** Applies observed rows to the lake, in one commit. */
export async function observeRows(
  session: Session,
  rows: Observation,
  { place, isReleased }: Into,
  onObserved?: ObserveInput['onObserved'],
): Promise<Applied> {
  const { context, engine } = session;
  const { lake } = place;
  const { pipeline } = rows;
  const observed = async (one: ObservedRows, complete?: Complete) => ({
    observed: one,
    current: await currentIn(place, one.pipeline),
    ...(complete ? { complete } : {}),
  });
  const input: ObserveInput = {
    parent: await observed(rows.parent, rows.complete),
    children: await Promise.all(rows.children.map((child) => observed(child))),
    refusedFiles: rows.refusedFiles,
    fetchId: rows.fetchId,
    atMs: context.clock.now(),
    timeZone: context.timeZone,
    outDir: rows.outDir,
    ...(onObserved ? { onObserved } : {}),
  };
  const traced = <T>(name: string, work: () => Promise<T>) =>
    spanning(context.tracer, name, { pipeline: pipeline.name }, work);
  const found = await traced('normalise', () => observe(engine, input));
  await context.step('normalised', pipeline.name);
  const hold = isReleased ? null : collapse(found, context.guard);
  const changes = hold
    ? await holdChanges(context, lake, pipeline, found, hold)
    : await replaceChanges(context, lake, pipeline, found.slices);
  await traced('load', () => lake.commit(changes));
  await context.step('lake-committed', pipeline.name);
  const isHeld = hold !== null;
  const changed = isHeld ? 0 : found.slices.length;
  const { rejects, duplicates, drift } = found;
  const unchanged = changed > 0 || isHeld ? 0 : 1;
  return { rows: found.rows, rejects, duplicates, drift, changed, unchanged, held: isHeld ? 1 : 0 };
}

/** Why all of it must be held, or null. */
function collapse({ present, stillPresent }: Observations, guard: ShrinkGuard): HoldReason | null {
  return guardCount(present, stillPresent, guard, `${present} were there before, ${stillPresent} are now`);
}

/** The new slices; a hold that stands is over, since these answers are newer than it. */
async function replaceChanges(
  context: RunContext,
  lake: Lake,
  pipeline: Pipeline,
  slices: readonly ChangedSlice[],
): Promise<SliceChange[]> {
  const replaced = slices.map((slice): SliceChange => {
    const { content, file, rejectsFile } = slice;
    return { kind: 'replace', pipeline: slice.pipeline.name, content, files: { file, rejectsFile } };
  });
  const confirmed: SliceChange[] = [];
  for (const one of [pipeline, ...childrenOf(context.pipelines, pipeline)])
    for (const [day, entry] of await lake.slices(one.name))
      if (entry.held && !slices.some((s) => s.pipeline === one && s.content.day === day))
        confirmed.push({ kind: 'confirm', pipeline: one.name, day });
  return [...replaced, ...confirmed];
}

/** The newest slice is shown as held, as it would be; what else would change is left as it is. */
async function holdChanges(
  context: RunContext,
  lake: Lake,
  pipeline: Pipeline,
  { slices, present }: Observations,
  reason: HoldReason,
): Promise<SliceChange[]> {
  const own = slices.filter((slice) => slice.pipeline === pipeline);
  const newest = own.at(-1);
  if (!newest) return [];
  const { content, file, rejectsFile } = newest;
  const entry = (await lake.slices(pipeline.name)).get(content.day);
  const hold = { ...reason, rows_before: present, held_at: isoTime(context.clock.now()) };
  context.log.warn(`${pipeline.name} ${content.day} is held: ${reason.detail}`, {
    pipeline: pipeline.name,
    slice: content.day,
    request: content.fetch_id,
  });
  const held: SliceChange = { kind: 'hold', pipeline: pipeline.name, content, files: { file, rejectsFile }, hold };
  if (entry) return [held];
  const empty = emptySlice(pipeline, { day: content.day, fetch_id: content.fetch_id, fetched_at: content.fetched_at });
  return [{ kind: 'replace', pipeline: pipeline.name, content: empty, files: { file: null, rejectsFile: null } }, held];
}
