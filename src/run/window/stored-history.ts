/** All answers to a report that are stored, taken in once more in the order of time: the slices with the beginnings of their rows, and the history. */
import { type Day, FIRST_DAY } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { prunedWords } from '../../core/pruned.ts';
import type { FetchRecord } from '../../core/records.ts';
import type { RunContext } from '../context.ts';
import type { Session } from '../session.ts';
import type { Into, Request, Requests } from '../sources/source.ts';
import type { Applied } from '../tally.ts';
import { releaseDay } from './stored-days.ts';
import { takeFromRawStore } from './taken.ts';
import { applyWindow } from './window.ts';

/** Errors: `usage/nothing_stored`, `failed/pruned_history`; `failed/no_history` where the answers make other slices than the lake has. */
export async function storedHistory(session: Session, pipeline: Pipeline): Promise<Requests> {
  const fetches = await allAnswers(session.context, pipeline);
  const each = [...fetches.map((fetch) => again(session, pipeline, fetch)), conclusion(session, pipeline)];
  return { total: fetches.length, unit: 'answer', each, remadeFrom: FIRST_DAY };
}

async function allAnswers({ raw }: RunContext, pipeline: Pipeline): Promise<FetchRecord[]> {
  const fetches: FetchRecord[] = [];
  for await (const fetch of raw.fetches(pipeline.name)) {
    if (fetch.outcome !== 'ok' || !fetch.raw_path || !fetch.window_from || !fetch.window_to) continue;
    if (fetch.pruned_at !== undefined)
      throw new EtlError(
        'failed',
        'pruned_history',
        `${pipeline.name}: an answer that the history was made of was ${prunedWords(fetch.pruned_at)}`,
        { concern: { pipeline: pipeline.name }, hint: `restore lake/${pipeline.table}_history from a backup` },
      );
    fetches.push(fetch);
  }
  if (fetches.length === 0)
    throw new EtlError('usage', 'nothing_stored', `the raw store holds no answer of ${pipeline.name}`, {
      hint: `fetch it: partner-etl run ${pipeline.name}`,
    });
  return fetches.sort((a, b) => (a.finished_at < b.finished_at ? -1 : 1));
}

/** With the lake that is made. */
function inPlace({ context }: Session, { place }: Into): RunContext {
  return { ...context, lake: place.lake };
}

function again(session: Session, pipeline: Pipeline, fetch: FetchRecord): Request {
  const range = { from: fetch.window_from!, to: fetch.window_to! };
  return {
    range,
    async fetch(folder) {
      const taken = await takeFromRawStore(session.context, pipeline, fetch, folder);
      const apply = (into: Into) => applyWindow(inPlace(session, into), session.engine, pipeline, taken);
      return { apply, shown: range };
    },
  };
}

/** What was held and is not any more was released; then every slice must be what the lake has of it, or nothing is taken over. */
function conclusion(session: Session, pipeline: Pipeline): Request {
  return {
    fetch: async (folder) => ({
      async apply(into) {
        const context = inPlace(session, into);
        const known = await session.context.lake.slices(pipeline.name);
        for (const [day, { held }] of await context.lake.slices(pipeline.name))
          if (held && known.get(day)?.content.fetch_id === held.content.fetch_id)
            await releaseDay({ ...session, context }, pipeline, { day, held }, folder);
        const made = await context.lake.slices(pipeline.name);
        for (const [day, { content }] of known)
          if ((made.get(day)?.content.digest ?? null) !== content.digest) throw noHistory(pipeline, day);
        return NOTHING;
      },
    }),
  };
}

const NOTHING: Applied = { rows: 0, rejects: 0, duplicates: 0, changed: 0, unchanged: 0, held: 0, drift: [] };

function noHistory({ name, table }: Pipeline, day: Day): EtlError {
  return new EtlError('failed', 'no_history', `${name} ${day}: the stored answers do not make what the lake holds`, {
    concern: { pipeline: name, day },
    hint: `replay the day first: partner-etl replay ${name} --from ${day} --to ${day}; else restore lake/${table}_history from a backup`,
  });
}
