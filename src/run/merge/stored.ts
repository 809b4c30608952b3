/** Stored responses of pipelines whose rows stand on the rows before them: keys, files, lists, and messages. */
import type { Day, DayRange } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import { markApplied, pendingFetches } from '../../store/tables/fetches.ts';
import { dayOfFetch, type RunContext } from '../context.ts';
import { demandUnprunedSince } from '../prune/pruned.ts';
import type { Session } from '../session.ts';
import type { Request, Requests } from '../sources/source.ts';
import { demandAnswers } from '../verify/demand-answers.ts';

export type IsApplied = (fetch: FetchRecord) => boolean;

/**
 * Requests that make the slices from the range's first day on afresh. They go to the end, whatever the range says: what is new on
 * a day hangs on what was known before it. `isApplied`: whether the lake has what a response says; what is held, or never was applied,
 * stays out. Errors: `usage/nothing_stored`, `failed/missing_answer`, `usage/pruned`.
 */
export async function storedSince(
  session: Session,
  pipeline: Pipeline,
  range: DayRange,
  isApplied: IsApplied,
  requestsFor: (fetches: readonly FetchRecord[]) => readonly Request[],
  prepare?: Requests['prepare'],
): Promise<Requests> {
  const { context } = session;
  const { name } = pipeline;
  const fetches = await appliedSince(context, pipeline, range.from, isApplied);
  if (fetches.length === 0)
    throw new EtlError('usage', 'nothing_stored', `the raw store holds no answer of ${name} since ${range.from}`, {
      hint: `ask for what is due, or take in what waits: partner-etl run ${name}`,
    });
  await demandAnswers(session, pipeline, range.from, fetches);
  const last = dayOfFetch(context, fetches.at(-1)!);
  if (last > range.to)
    context.progress.note(`${name}: made afresh until ${last}, since each day stands on the one before`);
  const pending = await pendingIds(context, pipeline);
  return {
    total: fetches.length,
    unit: 'answer',
    each: requestsFor(fetches),
    remadeFrom: range.from,
    ...(prepare ? { prepare } : {}),
    done: async () => {
      if (!(await hasHold(context, pipeline))) await markApplied(context.state, pending);
    },
  };
}

async function appliedSince(
  context: RunContext,
  pipeline: Pipeline,
  from: Day,
  isApplied: IsApplied,
): Promise<FetchRecord[]> {
  const found: FetchRecord[] = [];
  for await (const fetch of context.raw.fetches(pipeline.name)) {
    if (fetch.outcome !== 'ok' || fetch.raw_path === null) continue;
    if (dayOfFetch(context, fetch) >= from && isApplied(fetch)) found.push(fetch);
  }
  demandUnprunedSince(pipeline, (fetch) => dayOfFetch(context, fetch), found);
  return found;
}

/** Those whose responses the lake does not have yet. */
export async function pendingIds({ state }: RunContext, { name }: Pipeline): Promise<string[]> {
  return (await pendingFetches(state.db, name)).map(({ fetch_id: id }) => id);
}

/** Whether something of the pipeline is held. */
export async function hasHold({ lake }: RunContext, pipeline: Pipeline): Promise<boolean> {
  return [...(await lake.slices(pipeline.name)).values()].some(({ held }) => held !== null);
}
