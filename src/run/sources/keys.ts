/** Things by their keys: products, commission rates, processes, links. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { isoTime } from '../../core/clock.ts';
import type { Day } from '../../core/days.ts';
import { asEtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { Engine, quoteText, readParquet } from '../../engine/duckdb.ts';
import type { RunContext } from '../context.ts';
import { pendingAnswers } from '../keys/applied.ts';
import { readAsked } from '../keys/asked.ts';
import { askingOf } from '../keys/keys-calls.ts';
import { applyAnswers, runLookups } from '../keys/lookups.ts';
import { hasHold, replayVersions, type StoredAnswers } from '../merge/replay-versions.ts';
import type { Session } from '../session.ts';
import { type LookupStatus, versionStatus } from '../status/status-days.ts';
import type { Source } from './source.ts';

export const keysSource: Source = {
  plan: (context, engine, pipeline, folder) => askingOf(pipeline).plan(context, engine, pipeline, folder),
  budget: (settings, pipeline) => askingOf(pipeline).budget(settings, pipeline),
  run: runLookups,
  replay: (context, pipeline, replay) => replayVersions(context, pipeline, replay, stored),
  async release(session, pipeline) {
    const folder = path.join(session.work, `release-${pipeline.name}`);
    await mkdir(folder, { recursive: true });
    const pending = await pendingAnswers(session.context, pipeline);
    await applyAnswers(session, pipeline, pending, folder, { isReleased: true });
  },
  status: async (context, pipeline) => versionStatus(context, pipeline, await askedStatus(context, pipeline)),
};

const stored: StoredAnswers = {
  async applied({ context }, pipeline) {
    const pending = (await hasHold(context, pipeline)) ? (await pendingAnswers(context, pipeline)).fetches : [];
    const left = new Set(pending.map(({ fetch_id: id }) => id));
    return ({ fetch_id: id }) => !left.has(id);
  },
  async take(session, pipeline, fetches, { from, place }) {
    const folder = path.join(session.work, `replay-${pipeline.name}`);
    await mkdir(folder, { recursive: true });
    const refusedFiles = await listRejects(session, pipeline, from, folder);
    const nothing = async () => undefined;
    await applyAnswers(session, pipeline, { fetches, done: nothing }, folder, {
      place,
      refusedFiles,
      isReleased: true,
    });
  },
};

/** What of the lists could not be asked is in no answer: it stays as it was set aside. */
async function listRejects(
  { engine, context }: Session,
  pipeline: Pipeline,
  from: Day,
  folder: string,
): Promise<string[]> {
  const files: string[] = [];
  for (const [day, entry] of await context.lake.slices(pipeline.name)) {
    const rejects = day >= from ? context.lake.rejectsFile(entry) : null;
    if (rejects) files.push(rejects);
  }
  const kept: string[] = [];
  for (const [i, rejects] of files.entries()) {
    const file = path.join(folder, `list-rejects-${i}.ndjson`);
    const lines = await engine
      .run(
        `COPY (SELECT fetch_id, item, slice_day AS day, reason, detail, raw FROM ${readParquet([rejects])} WHERE fetch_id LIKE 'r%')
         TO ${quoteText(file)} (FORMAT json)`,
      )
      .catch((thrown) => {
        const { message } = asEtlError(thrown);
        context.log.warn(
          `${rejects} is damaged: what a list of EANs had in it that could not be asked is not known any more`,
          { pipeline: pipeline.name, error: message },
        );
        return 0;
      });
    if (lines > 0) kept.push(file);
  }
  return kept;
}

/** What came of the keys when they were asked last. */
async function askedStatus(context: RunContext, pipeline: Pipeline): Promise<LookupStatus> {
  const engine = await Engine.open({ tempDir: context.paths.work });
  try {
    await readAsked(engine, context, pipeline);
    const rows = await engine.rows(
      'SELECT outcome, count(*) AS n, max(epoch_ms(asked_at)) AS at FROM asked GROUP BY outcome ORDER BY outcome',
    );
    const outcomes = Object.fromEntries(rows.map((row) => [String(row.outcome), Number(row.n)]));
    const newestMs = Math.max(0, ...rows.map((row) => Number(row.at)));
    return { outcomes, asked_at: newestMs === 0 ? null : isoTime(newestMs) };
  } finally {
    engine.close();
  }
}
