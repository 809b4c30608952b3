/**
 * A file that replaces the one before: its name is asked for, and the file when the name is another one. What a file says is compared
 * with what the one before said; lines that came and went are the slice of the day.
 */
import path from 'node:path';
import type { Day } from '../../core/days.ts';
import { asEtlError, assert, EtlError } from '../../core/errors.ts';
import { LIMITS } from '../../core/limits.ts';
import { type Pipeline, partsOf } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import { type Engine, readParquet } from '../../engine/duckdb.ts';
import { type FileDestination, receiveFile } from '../../extract/file.ts';
import { dispositionName, recordable } from '../../partner/calls/file-name.ts';
import { reductionsFileCall, reductionsNameCall } from '../../partner/calls/lookups.ts';
import type { Answer } from '../../partner/client.ts';
import { dayOfFetch, type Partner, type RunContext } from '../context.ts';
import { bringBack } from '../merge/observing.ts';
import { type IsApplied, storedSince } from '../merge/stored.ts';
import { applyFile, driftOf, type ReadFile, readFile, readStoredFile } from '../reductions/applying.ts';
import {
  type AskedName,
  type FilePlan,
  keepAskedName,
  keepLoaded,
  lastFile,
  planReductions,
  readAskedName,
} from '../reductions/plan.ts';
import type { Session } from '../session.ts';
import { versionStatus } from '../status/status-days.ts';
import { sliceProblem } from '../verify/slice-problem.ts';
import type { Request, Response, Source } from './source.ts';

export const fileSource: Source<FilePlan> = {
  plan: planReductions,
  budget: () => null,
  /** A run that was killed may have left a file that it did not apply. */
  async pending(session, pipeline) {
    const { context } = session;
    const asked = await readAskedName(context);
    const left = asked === null || asked.isLoaded ? null : await unappliedFile(session, pipeline, asked);
    if (asked === null || left === null) return null;
    const fetch = async (folder: string) => {
      // One that cannot be read was an error of the run that fetched it, and is fetched again.
      const file = await readStoredFile(context, pipeline, left, folder).catch((thrown) => {
        if (asEtlError(thrown).kind === 'bug') throw thrown;
        return null;
      });
      return file && response(session, pipeline, file, folder, () => keepLoaded(context, asked));
    };
    return { total: 0, unit: 'file', each: [{ fetch }] };
  },
  async requests(session, partners, { pipeline, isDue, askedAt, lastFile: last }) {
    const { context, tally } = session;
    if (!isDue) {
      context.progress.note(`${pipeline.name}: the name was asked at ${askedAt}, it is asked again later`);
      return null;
    }
    const fetch = async (folder: string) => {
      const partner = await partners.of(pipeline);
      const name = await askName(session, partner, pipeline, folder);
      if (name === last) {
        tally.unchanged += 1;
        await keepAskedName(context, name, true);
        return null;
      }
      await keepAskedName(context, name, false);
      const file = await fetchFile(session, partner, pipeline, name, folder);
      return response(session, pipeline, file, folder, () => keepAskedName(context, name, true));
    };
    return { total: 1, unit: 'file', each: [{ fetch }] };
  },
  async stored(session, pipeline, { range }) {
    const { context, engine } = session;
    const isApplied = await appliedFiles(context, engine, pipeline);
    return storedSince(
      session,
      pipeline,
      range,
      // Answers that tell the name of the newest file are no files.
      (fetch) => fetch.notes?.file_name !== undefined && isApplied(fetch),
      (fetches) => fetches.map((fetch) => storedRequest(session, pipeline, fetch)),
      (place) => bringBack(session, pipeline, place),
    );
  },
  async held(session, pipeline, { held }) {
    const each: Request[] = [];
    for await (const fetch of session.context.raw.fetchesWith([held.content.fetch_id]))
      each.push(storedRequest(session, pipeline, fetch));
    return { total: 0, unit: 'file', each };
  },
  async status(context, pipeline) {
    const asked = await readAskedName(context);
    return versionStatus(context, pipeline, { outcomes: {}, asked_at: asked?.askedAt ?? null });
  },
};

/** Asks for the name of the newest file. */
async function askName(session: Session, partner: Partner, pipeline: Pipeline, folder: string): Promise<string> {
  const to: FileDestination = {
    ...destination(session, pipeline, folder),
    extension: 'txt',
    mostBytes: LIMITS.nameBytes,
  };
  const call = reductionsNameCall(
    partner.settings,
    pipeline.name,
    async (answer) => {
      const received = await receiveFile(answer, to);
      return { ...received, value: nameIn(received.head.toString('utf8'), received.rawPath), items: null };
    },
    session.context.signal,
  );
  return (await partner.client.call(call)).value;
}

/** The bare name; a page of somebody else's passes, so it is asked again. */
function nameIn(text: string, rawPath: string): string {
  const name = recordable(text.replace(/^\ufeff/, ''));
  if (name !== null && !/^[<{[]/.test(name)) return name;
  throw new EtlError('retry', 'no_file_name', 'the answer for the name of the newest reductions file is no name', {
    hint: `what was received lies in ${rawPath}`,
  });
}

/** Fetches the file of that name, and reads it. */
async function fetchFile(
  session: Session,
  partner: Partner,
  pipeline: Pipeline,
  asked: string,
  folder: string,
): Promise<ReadFile> {
  const { context, ledger } = session;
  const decodedFile = path.join(folder, 'decoded');
  const to = { ...destination(session, pipeline, folder), decodedFile };
  const call = reductionsFileCall(
    partner.settings,
    pipeline.name,
    async (answer: Answer) => {
      const { head: _, ...received } = await receiveFile(answer, to);
      const named = dispositionName(answer.header('content-disposition'));
      const notes = { asked_name: asked, file_name: named ?? asked };
      return { ...received, value: named, items: null, notes };
    },
    context.signal,
  );
  const { value: named, record } = await partner.client.call(call);
  await context.step('answer-received', pipeline.name);
  if (named === null) ledger.drift.push(driftOf(pipeline, record, 'no_file_name', 'Content-Disposition', asked));
  return readFile(context, pipeline, record, decodedFile, folder).catch((thrown) => {
    const { code, message } = asEtlError(thrown);
    ledger.drift.push(driftOf(pipeline, record, code, 'header', message));
    throw thrown;
  });
}

function destination({ context }: Session, pipeline: Pipeline, folder: string): FileDestination {
  const { raw } = context;
  const mostBytes = LIMITS.reductionsFileBytes;
  return { raw, pipeline: pipeline.name, folder, extension: 'csv', decodedFile: null, mostBytes };
}

function storedRequest(session: Session, pipeline: Pipeline, fetch: FetchRecord): Request {
  return {
    fetch: async (folder) =>
      response(
        session,
        pipeline,
        await readStoredFile(session.context, pipeline, fetch, folder),
        folder,
        async () => undefined,
      ),
  };
}

function response(
  session: Session,
  pipeline: Pipeline,
  file: ReadFile,
  folder: string,
  done: () => Promise<void>,
): Response {
  return {
    async apply(into) {
      const applied = await applyFile(session, pipeline, file, into, folder);
      await done();
      return applied;
    },
    shown: { from: file.fetch.notes?.file_name ?? '', to: '' },
  };
}

/** The newest answer with a file of that name, if it is not what was loaded last. */
async function unappliedFile(
  { context, engine }: Session,
  pipeline: Pipeline,
  { askedAt, name }: AskedName,
): Promise<FetchRecord | null> {
  let left: FetchRecord | null = null;
  for await (const fetch of context.raw.fetches(pipeline.name, askedAt.slice(0, 10)))
    if (fetch.outcome === 'ok' && fetch.notes?.asked_name === name && fetch.finished_at >= askedAt) left = fetch;
  const last = await lastFile(engine, { lake: context.lake, under: null }, context.pipelines, pipeline);
  return left?.fetch_id === last?.fetchId ? null : left;
}

/**
 * A file that was held, and that nobody released before a newer one came, was never applied: its day has an empty slice, and no
 * record of it. Of a day that the lake knows nothing of, or whose records are lost or damaged, every file counts.
 */
async function appliedFiles(context: RunContext, engine: Engine, pipeline: Pipeline): Promise<IsApplied> {
  const [files] = partsOf(context.pipelines, pipeline);
  assert(files, `${pipeline.name} has no child for its files`);
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
