/** The history of a report's rows in the lake: what a commit of their slices adds to it. */
import path from 'node:path';
import { isoTime } from '../../core/clock.ts';
import { dayAt } from '../../core/days.ts';
import { LIMITS } from '../../core/limits.ts';
import { historyOf, type Pipeline } from '../../core/pipeline.ts';
import type { Engine } from '../../engine/duckdb.ts';
import type { SliceChange } from '../../lake/lake.ts';
import { endedRows, findOutdated, OUTDATED } from '../../normalise/history.ts';
import { runsBegun } from '../../store/tables/runs.ts';
import type { RunContext } from '../context.ts';
import { meets, type WholeSlice, withoutKeys } from './moved.ts';
import type { Before } from './taken.ts';
import { observedSlices } from './what-changed.ts';

export interface Ending {
  /** When the answer came, ISO 8601 UTC. */
  readonly at: string;
  readonly fetchId: string;
  readonly outDir: string;
}

/** What slices that change add to the history: a change for the commit that changes them. */
export async function historyChanges(
  context: Pick<RunContext, 'lake' | 'pipelines' | 'state' | 'timeZone'>,
  engine: Engine,
  pipeline: Pipeline,
  changes: readonly SliceChange[],
  before: Before,
  { at, fetchId, outDir }: Ending,
): Promise<SliceChange[]> {
  const history = historyOf(context.pipelines, pipeline);
  const replaced = observedSlices(changes);
  if (!history || replaced.length === 0) return [];
  const on = dayAt(Date.parse(at), context.timeZone);
  const entry = (await context.lake.slices(history.name)).get(on);
  const slice = { file: entry ? context.lake.rowsFile(entry) : null, digest: entry?.content.digest ?? null };
  const files = {
    before: replaced.flatMap(({ day }) => before(day) ?? []),
    after: replaced.flatMap(({ file }) => file ?? []),
  };
  const ended = await endedRows(
    engine,
    { rows: pipeline, history },
    { ...files, at, on, fetchId, outDir: path.join(outDir, 'history') },
    slice,
    () => lastRunEnd(context, pipeline, at),
  );
  if (ended === null) return [];
  const { content, file, rejectsFile } = ended;
  return [{ kind: 'replace', pipeline: history.name, content, files: { file, rejectsFile } }];
}

/** The end of the last run of these rows that ended before an instant, of those of the day before it: what stood there then somebody could read. */
async function lastRunEnd(
  { state }: Pick<RunContext, 'state'>,
  { name }: Pipeline,
  at: string,
): Promise<string | null> {
  const atMs = Date.parse(at);
  const runs = await runsBegun(state.db, isoTime(atMs - LIMITS.runMs), at);
  const ends = runs.flatMap(({ pipelines, ended_at: end }) => (end !== null && pipelines.includes(name) ? end : []));
  ends.sort((a, b) => Date.parse(a) - Date.parse(b));
  return ends.findLast((end) => Date.parse(end) < atMs) ?? null;
}

/**
 * What is left of a held slice where newer answers say other things of some of its items: these were seen on another day since,
 * or gone from it, and an older answer does not take that back. Null where it can be released whole. The service is asked again.
 */
export async function heldWithoutOutdated(
  context: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  held: WholeSlice,
  outDir: string,
): Promise<Extract<SliceChange, { kind: 'amend' }> | null> {
  const history = historyOf(context.pipelines, pipeline);
  const { file, content } = held;
  const { key_min: min, key_max: max, fetched_at: at, day } = content;
  if (!history || file === null || min === null || max === null) return null;
  const { lake } = context;
  const on = dayAt(Date.parse(at), context.timeZone);
  const slices = [...(await lake.slices(pipeline.name)).values()];
  const near = slices.filter((entry) => entry.content.day !== day && meets(entry.content, { min, max }));
  const ends = [...(await lake.slices(history.name)).values()].filter((entry) => entry.content.day >= on);
  const files = (entries: typeof slices) => entries.flatMap((entry) => lake.rowsFile(entry) ?? []);
  try {
    const found = await findOutdated(engine, pipeline, { file, at, others: files(near), since: files(ends) });
    return found === 0 ? null : await withoutKeys(engine, pipeline, held, OUTDATED, outDir);
  } finally {
    await engine.run(`DROP TABLE IF EXISTS ${OUTDATED}`);
  }
}
