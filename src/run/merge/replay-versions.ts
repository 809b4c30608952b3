/** Replay of pipelines whose rows are versions: keys, files, and lists. */
import type { Day } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import { dayOfFetch, type RunContext } from '../context.ts';
import { pendingAnswers } from '../keys/applied.ts';
import { demandUnprunedSince } from '../prune/pruned.ts';
import { type RunOutcome, runSession, type Session } from '../session.ts';
import type { Replay } from '../sources/source.ts';
import { demandAnswers } from '../verify/demand-answers.ts';
import type { VersionPlace } from './held.ts';
import { remake } from './remaking.ts';

export type IsApplied = (fetch: FetchRecord) => boolean;

/** What a source does with its stored answers. */
export interface StoredAnswers {
  /** Which of them the lake has: those that are held, or were never applied, stay out. */
  applied(session: Session, pipeline: Pipeline): Promise<IsApplied>;
  /** Takes them in, in their order, into a place where nothing of these days is known. */
  take(session: Session, pipeline: Pipeline, fetches: readonly FetchRecord[], into: Into): Promise<void>;
}

export interface Into {
  readonly from: Day;
  readonly place: VersionPlace;
}

/**
 * Makes the versions from the range's first day on afresh from stored answers. It goes to the end, whatever the range says: what
 * is a new version on a day hangs on what was known before it. Errors: `usage/nothing_stored`, `failed/missing_answer`.
 */
export function replayVersions(
  given: RunContext,
  pipeline: Pipeline,
  { command, range }: Replay,
  stored: StoredAnswers,
): Promise<RunOutcome> {
  return runSession(given, command, [pipeline], async (session) => {
    const { context } = session;
    const fetches = await appliedSince(session, pipeline, range.from, stored);
    if (fetches.length === 0)
      throw new EtlError(
        'usage',
        'nothing_stored',
        `the vault holds no answer of ${pipeline.name} since ${range.from}`,
        {
          hint: `ask for what is due: partner-etl run ${pipeline.name}`,
        },
      );
    await demandAnswers(session, pipeline, range.from, fetches);
    const last = dayOfFetch(context, fetches.at(-1)!);
    if (last > range.to)
      context.progress.note(`${pipeline.name}: made afresh until ${last}, since each day stands on the one before`);
    context.progress.begin(pipeline.name, fetches.length, 'answer');
    const { done } = await pendingAnswers(context, pipeline);
    const work = (place: VersionPlace) => stored.take(session, pipeline, fetches, { from: range.from, place });
    session.tally.changed = await remake(session, pipeline, range.from, work);
    if (!(await hasHold(context, pipeline))) await done();
    const { rows, changed } = session.tally;
    context.progress.window(pipeline.name, { from: range.from, to: last, rows, changed, units: fetches.length });
    context.progress.end(pipeline.name);
  });
}

/** Answers of that day and later; those that are held stay out. */
async function appliedSince(
  session: Session,
  pipeline: Pipeline,
  from: Day,
  stored: StoredAnswers,
): Promise<FetchRecord[]> {
  const { context } = session;
  const isApplied = await stored.applied(session, pipeline);
  const found: FetchRecord[] = [];
  for await (const fetch of context.vault.fetches(pipeline.name)) {
    if (fetch.outcome !== 'ok' || fetch.vault_path === null) continue;
    if (dayOfFetch(context, fetch) >= from && isApplied(fetch)) found.push(fetch);
  }
  demandUnprunedSince(pipeline, (fetch) => dayOfFetch(context, fetch), found);
  return found;
}

/** Whether something of the pipeline is held. */
export async function hasHold({ lake }: RunContext, pipeline: Pipeline): Promise<boolean> {
  return [...(await lake.slices(pipeline.name)).values()].some(({ held }) => held !== null);
}
