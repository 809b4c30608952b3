/** A file that replaces the one before: its name is asked for, and the file when the name is another one. */
import type { Day } from '../../core/days.ts';
import { assert } from '../../core/errors.ts';
import { childrenOf, type Pipeline } from '../../core/pipeline.ts';
import { type Engine, readParquet } from '../../engine/duckdb.ts';
import { dayOfFetch, type RunContext } from '../context.ts';
import { type IsApplied, replayVersions, type StoredAnswers } from '../merge/replay-versions.ts';
import { releaseWhole, takeWholes } from '../merge/wholes.ts';
import { applyStored } from '../reductions/file.ts';
import { nameAskedAt, planReductions } from '../reductions/plan.ts';
import { fetchReductions } from '../reductions/reductions.ts';
import { versionStatus } from '../status/status-days.ts';
import { sliceProblem } from '../verify/slice-problem.ts';
import type { Source } from './source.ts';

export const fileSource: Source = {
  plan: planReductions,
  budget: () => null,
  run: fetchReductions,
  replay: (context, pipeline, replay) => replayVersions(context, pipeline, replay, stored),
  release: (session, pipeline, { held }) => releaseWhole(session, pipeline, held.content.fetch_id, applyStored),
  status: async (context, pipeline) =>
    versionStatus(context, pipeline, { outcomes: {}, asked_at: await nameAskedAt(context) }),
};

const stored: StoredAnswers = {
  async applied({ context, engine }, pipeline) {
    const isApplied = await appliedFiles(context, engine, pipeline);
    // Answers that tell the name of the newest file are no files.
    return (fetch) => fetch.notes?.file_name !== undefined && isApplied(fetch);
  },
  take: (session, pipeline, fetches, { place }) => takeWholes(session, pipeline, fetches, place, applyStored),
};

/**
 * A file that was held, and that nobody released before a newer one came, was never applied: its day has an empty slice, and no
 * record of it. Of a day that the lake knows nothing of, or whose records are lost or damaged, every file counts.
 */
async function appliedFiles(context: RunContext, engine: Engine, pipeline: Pipeline): Promise<IsApplied> {
  const [files] = childrenOf(context.pipelines, pipeline);
  assert(files, `${pipeline.name} has no part for its files`);
  const known = new Map<Day, ReadonlySet<string>>();
  for (const [day, { content }] of await context.lake.slices(pipeline.name))
    if (content.rows === 0) known.set(day, new Set());
  for (const [day, entry] of await context.lake.slices(files.name)) {
    const file = context.lake.rowsFile(entry);
    if (file === null) continue;
    if ((await sliceProblem(engine, context.lake, files, entry)) !== null) known.delete(day);
    else {
      const rows = await engine.rows(`SELECT fetch_id FROM ${readParquet([file])}`);
      known.set(day, new Set(rows.map((row) => String(row.fetch_id))));
    }
  }
  return (fetch) => known.get(dayOfFetch(context, fetch))?.has(fetch.fetch_id) ?? true;
}
