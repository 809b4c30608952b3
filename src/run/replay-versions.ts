/** Replay and release of pipelines whose rows are versions: look-ups, the reductions file, and lists. */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { type Day, type DayRange, dayAt } from '../core/days.ts';
import { asEtlError, assert, EtlError } from '../core/errors.ts';
import { type Pipeline, partsOf } from '../core/pipeline.ts';
import type { FetchRecord } from '../core/records.ts';
import { type Engine, quoteText, readParquet } from '../engine/duckdb.ts';
import { pendingAnswers } from './applied.ts';
import type { RunContext } from './context.ts';
import { demandAnswers } from './demand-answers.ts';
import type { VersionPlace } from './held.ts';
import { applyList } from './lists.ts';
import { applyAnswers } from './lookups.ts';
import type { ObservingOptions, ObservingResult } from './observing.ts';
import { demandUnprunedSince } from './pruned.ts';
import { applyStored } from './reductions-file.ts';
import { remake } from './remaking.ts';
import { type RunOutcome, runSession, type Session } from './session.ts';
import { sliceProblem } from './slice-problem.ts';

/**
 * Makes the versions from the range's first day on afresh from stored answers. It goes to the end, whatever the range says: what
 * is a new version on a day hangs on what was known before it. Errors: `usage/nothing_stored`, `failed/missing_answer`.
 */
export function replayVersions(
  given: RunContext,
  pipeline: Pipeline,
  command: string,
  range: DayRange,
): Promise<RunOutcome> {
  return runSession(given, command, [pipeline], async (session) => {
    const { context } = session;
    const fetches = await appliedSince(session, pipeline, range.from);
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
    const last = dayOf(context, fetches.at(-1)!);
    if (last > range.to)
      context.progress.note(`${pipeline.name}: made afresh until ${last}, since each day stands on the one before`);
    context.progress.begin(pipeline.name, fetches.length, 'answer');
    const work = (place: VersionPlace) =>
      pipeline.source.kind === 'lookup'
        ? takeAnswers(session, pipeline, fetches, range.from, place)
        : takeWholes(session, pipeline, fetches, place);
    const { done } = await pendingAnswers(context, pipeline);
    session.tally.changed = await remake(session, pipeline, range.from, work);
    if (pipeline.source.kind === 'lookup' && !(await hasHold(context, pipeline))) await done();
    const { rows, changed } = session.tally;
    context.progress.window(pipeline.name, { from: range.from, to: last, rows, changed, units: fetches.length });
    context.progress.end(pipeline.name);
  });
}

/** Answers of that day and later; those that are held stay out. */
async function appliedSince({ context, engine }: Session, pipeline: Pipeline, from: Day): Promise<FetchRecord[]> {
  const { kind } = pipeline.source;
  const isFile = kind === 'file';
  const isApplied = isFile
    ? await appliedFiles(context, engine, pipeline)
    : await (kind === 'list' ? appliedLists : appliedAnswers)(context, pipeline);
  const found: FetchRecord[] = [];
  for await (const fetch of context.vault.fetches(pipeline.name)) {
    if (fetch.outcome !== 'ok' || fetch.vault_path === null) continue;
    if (isFile && fetch.notes?.file_name === undefined) continue;
    if (dayOf(context, fetch) >= from && isApplied(fetch)) found.push(fetch);
  }
  demandUnprunedSince(pipeline, (fetch) => dayOf(context, fetch), found);
  return found;
}

type IsApplied = (fetch: FetchRecord) => boolean;

async function appliedAnswers(context: RunContext, pipeline: Pipeline): Promise<IsApplied> {
  const pending = (await hasHold(context, pipeline)) ? (await pendingAnswers(context, pipeline)).fetches : [];
  const left = new Set(pending.map(({ fetch_id: id }) => id));
  return ({ fetch_id: id }) => !left.has(id);
}

/** Of lists nothing is pending: every one counts but that which is held now. */
async function appliedLists({ lake }: RunContext, pipeline: Pipeline): Promise<IsApplied> {
  const held = new Set([...(await lake.slices(pipeline.name)).values()].map(({ held }) => held?.content.fetch_id));
  return ({ fetch_id: id }) => !held.has(id);
}

/**
 * A file that was held, and that nobody released before a newer one came, was never applied: its day has an empty slice, and no
 * record of it. Of a day that the lake knows nothing of, or whose records are lost or damaged, every file counts.
 */
async function appliedFiles(context: RunContext, engine: Engine, pipeline: Pipeline): Promise<IsApplied> {
  const [files] = partsOf(context.pipelines, pipeline);
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
  return (fetch) => known.get(dayOf(context, fetch))?.has(fetch.fetch_id) ?? true;
}

async function hasHold({ lake }: RunContext, pipeline: Pipeline): Promise<boolean> {
  return [...(await lake.slices(pipeline.name)).values()].some(({ held }) => held !== null);
}

async function takeAnswers(
  session: Session,
  pipeline: Pipeline,
  fetches: readonly FetchRecord[],
  from: Day,
  place: VersionPlace,
): Promise<void> {
  const folder = path.join(session.work, `replay-${pipeline.name}`);
  await mkdir(folder, { recursive: true });
  const refusedFiles = await listRejects(session, pipeline, from, folder);
  const nothing = async () => undefined;
  await applyAnswers(session, pipeline, { fetches, done: nothing }, folder, { place, refusedFiles, isReleased: true });
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

/** Files and lists are each the whole: one is applied behind the other. */
async function takeWholes(
  session: Session,
  pipeline: Pipeline,
  fetches: readonly FetchRecord[],
  place: VersionPlace,
): Promise<void> {
  for (const [i, fetch] of fetches.entries()) {
    const folder = path.join(session.work, `replay-${pipeline.name}-${i}`);
    await applyWhole(session, pipeline, fetch, folder, { place, isReleased: true });
    await rm(folder, { recursive: true, force: true });
  }
}

function applyWhole(
  session: Session,
  pipeline: Pipeline,
  fetch: FetchRecord,
  folder: string,
  options: ObservingOptions,
): Promise<ObservingResult> {
  return (pipeline.source.kind === 'list' ? applyList : applyStored)(session, pipeline, fetch, folder, options);
}

/** Applies what is held of such a pipeline: the answers that are pending, or the file or list of that fetch. */
export async function releaseVersions(session: Session, pipeline: Pipeline, heldFetchId: string): Promise<void> {
  const { context } = session;
  const folder = path.join(session.work, `release-${pipeline.name}`);
  await mkdir(folder, { recursive: true });
  if (pipeline.source.kind === 'lookup') {
    const pending = await pendingAnswers(context, pipeline);
    await applyAnswers(session, pipeline, pending, folder, { isReleased: true });
    return;
  }
  for await (const fetch of context.vault.fetches(pipeline.name))
    if (fetch.fetch_id === heldFetchId) await applyWhole(session, pipeline, fetch, folder, { isReleased: true });
}

function dayOf({ timeZone }: RunContext, { finished_at: at }: FetchRecord): Day {
  return dayAt(Date.parse(at), timeZone);
}
