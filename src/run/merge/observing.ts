/**
 * Makes what look-ups and files observed part of the lake. When most of what was there is suddenly gone, nothing of it is applied:
 * it is held, and since the answers stay pending, the next night decides with newer ones, or a person releases it.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { isoTime } from '../../core/clock.ts';
import { assert } from '../../core/errors.ts';
import { guardCount, type HoldReason, type ShrinkGuard } from '../../core/guard.ts';
import { childrenOf, historyOf, type Pipeline } from '../../core/pipeline.ts';
import { spanning } from '../../core/tracer.ts';
import { emptySlice } from '../../engine/content.ts';
import type { Lake, SliceChange } from '../../lake/lake.ts';
import type { ChangedSlice, Incoming } from '../../normalise/changed-slices.ts';
import { slicesBefore } from '../../normalise/merged.ts';
import { type Observations, type ObserveInput, observe } from '../../normalise/observe.ts';
import type { Complete, ObservedRows } from '../../normalise/observed.ts';
import type { RunContext } from '../context.ts';
import type { Session } from '../session.ts';
import type { Into } from '../sources/source.ts';
import type { Applied } from '../tally.ts';
import { currentIn, type VersionPlace } from './current.ts';

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
  const incoming = async (one: ObservedRows): Promise<Incoming> => ({
    observed: one,
    current: await currentIn(place, one.pipeline),
  });
  const observed = async (one: ObservedRows, complete?: Complete) => {
    const past = historyOf(context.pipelines, one.pipeline);
    assert(
      past !== null || !one.pipeline.keepsHistory,
      `the table of what rows of ${one.pipeline.name} were is not declared`,
    );
    const history = past && (await incoming({ pipeline: past, source: '', lines: 0 }));
    return { ...(await incoming(one)), history, ...(complete ? { complete } : {}) };
  };
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
    ? await holdChanges(context, lake, rows, found, hold)
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
  { pipeline, complete, fetchId }: Observation,
  { slices, present }: Observations,
  reason: HoldReason,
): Promise<SliceChange[]> {
  const own = slices.filter((slice) => slice.pipeline === pipeline);
  const last = own.at(-1);
  // Where nothing came, and rows of other days went, the day of the answer would be empty.
  const newest =
    complete && last?.content.day !== complete.day
      ? {
          content: emptySlice(pipeline, { day: complete.day, fetch_id: fetchId, fetched_at: complete.at }),
          ...{ file: null, rejectsFile: null },
        }
      : last;
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

/** Rows that ended since that day are back in the slices of the days before it, on which the work stands. */
export async function bringBack(
  { context, engine, ledger, work }: Session,
  pipeline: Pipeline,
  place: VersionPlace,
): Promise<void> {
  const before = place.under?.before;
  if (before === undefined) return;
  const outDir = path.join(work, `before-${pipeline.name}`);
  for (const one of [pipeline, ...childrenOf(context.pipelines, pipeline)]) {
    const history = one.merge && historyOf(context.pipelines, one);
    if (!history || ![...(await context.lake.slices(one.name)).keys()].some((day) => day < before)) continue;
    const since = [...(await context.lake.slices(history.name))].filter(([day]) => day >= before);
    const files = since.flatMap(([, entry]) => context.lake.rowsFile(entry) ?? []);
    const incoming = { observed: { pipeline: one, source: '', lines: 0 }, current: await currentIn(place, one) };
    const { clock, timeZone } = context;
    const taking = { refusedFiles: [], fetchId: ledger.runId, atMs: clock.now(), timeZone, outDir };
    await mkdir(outDir, { recursive: true });
    const slices = await slicesBefore(engine, incoming, files, before, taking);
    await place.lake.commit(
      slices.map((slice) => ({ kind: 'replace', pipeline: one.name, content: slice.content, files: slice })),
    );
  }
}
