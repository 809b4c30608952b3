/**
 * Things by their keys: products, commission rates, processes, links. A night asks many at once, and their answers lie in the raw store
 * before the first is applied: they are taken into the lake together, those that a run or a command left first. What was asked is not
 * asked again, so a night that was cut off goes on where it was.
 */
import path from 'node:path';
import type { Day } from '../../core/days.ts';
import { asEtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import { quoteText, readParquet } from '../../engine/duckdb.ts';
import { askedOutcomes, newestAsked } from '../../store/tables/asked.ts';
import type { RunContext } from '../context.ts';
import { applyAnswers, pendingAnswers } from '../keys/answers.ts';
import { askingOf } from '../keys/keys-calls.ts';
import type { KeysPlan } from '../keys/keys-plan.ts';
import { bringBack } from '../merge/observing.ts';
import { hasHold, pendingIds, storedSince } from '../merge/stored.ts';
import type { Session } from '../session.ts';
import { type LookupStatus, versionStatus } from '../status/status-days.ts';
import type { Into, Requests, Source } from './source.ts';

export const keysSource: Source<KeysPlan> = {
  plan: (context, engine, pipeline, folder) => askingOf(pipeline).plan(context, engine, pipeline, folder),
  budget: (settings, pipeline) => askingOf(pipeline).budget(settings, pipeline),
  pending: leftBefore,
  async requests(session, partners, plan) {
    const { context, tally, ledger } = session;
    const { pipeline, calls, callsAllowed, rejects, notes, leftOut, drift } = plan;
    for (const note of notes) context.progress.note(`${pipeline.name}: ${note}`);
    tally.leftOut += leftOut;
    ledger.drift.push(...drift);
    const fetch = async (folder: string) => {
      if (calls > 0) await askingOf(pipeline).ask(session, partners, plan);
      return pendingAnswers(session, pipeline, rejects, folder);
    };
    return { total: calls, unit: 'call', budget: { kind: 'night', calls: callsAllowed }, each: [{ fetch }] };
  },
  async stored(session, pipeline, { range }) {
    const { context } = session;
    const left = new Set((await hasHold(context, pipeline)) ? await pendingIds(context, pipeline) : []);
    const isApplied = ({ fetch_id: id }: { fetch_id: string }) => !left.has(id);
    const requestsFor = (fetches: readonly FetchRecord[]) => {
      const shown = { from: range.from, to: range.to, units: fetches.length };
      const fetch = async (folder: string) => {
        const refusedFiles = await listRejects(session, pipeline, range.from, folder);
        const answers = { fetches, rejects: [], refusedFiles };
        return { apply: (into: Into) => applyAnswers(session, pipeline, answers, into, folder), shown };
      };
      return [{ fetch }];
    };
    return storedSince(session, pipeline, range, isApplied, requestsFor, (place) =>
      bringBack(session, pipeline, place),
    );
  },
  held: leftBefore,
  status: async (context, pipeline) => versionStatus(context, pipeline, await askedStatus(context, pipeline)),
};

/** Answers that are held are pending. */
async function leftBefore(session: Session, pipeline: Pipeline): Promise<Requests> {
  const fetch = (folder: string) => pendingAnswers(session, pipeline, [], folder);
  return { total: 0, unit: 'call', each: [{ fetch }] };
}

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
async function askedStatus({ state }: RunContext, { name }: Pipeline): Promise<LookupStatus> {
  const found = await askedOutcomes(state.db, name);
  const outcomes = Object.fromEntries(found.map(({ outcome, keys }) => [outcome, keys]));
  return { outcomes, asked_at: await newestAsked(state.db, name) };
}
