/**
 * The reductions file: its name is asked first, and the file is only fetched when the name differs from that of the file loaded
 * last. What it says is compared with what the one before said; lines that came and went are the slice of the day.
 */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { asEtlError, EtlError } from '../../core/errors.ts';
import { LIMITS } from '../../core/limits.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import { type FileDestination, receiveFile } from '../../extract/file.ts';
import type { Answer } from '../../partner/client.ts';
import { dispositionName, recordable } from '../../partner/file-name.ts';
import { reductionsFileCall, reductionsNameCall } from '../../partner/lookups.ts';
import type { Partner } from '../context.ts';
import type { Partners } from '../partners.ts';
import type { Session } from '../session.ts';
import { applyFile, applyStored, driftOf } from './file.ts';
import { type FilePlan, keepAskedName, planReductions } from './plan.ts';

/** Asks the name when it is time to, fetches the file when it is another one, and applies it. Errors are in the tally. */
export async function fetchReductions(session: Session, partners: Partners, pipeline: Pipeline): Promise<void> {
  const { context, engine, tally } = session;
  const folder = path.join(session.work, pipeline.name);
  const plan = await planReductions(context, engine, pipeline);
  if (!plan.isDue) {
    context.progress.note(`${pipeline.name}: the name was asked at ${plan.askedAt}, it is asked again later`);
    return;
  }
  context.progress.begin(pipeline.name, 1, 'file');
  try {
    await mkdir(folder, { recursive: true });
    const taken = plan.isUnfinished ? await takeUnfinished(session, pipeline, plan, folder) : null;
    // Where that was yesterday's, there may be a newer one.
    if (taken !== null && plan.isFresh) return;
    const partner = await partners.of(pipeline);
    const asked = await askName(session, partner, pipeline, folder);
    if (asked === (taken ?? plan.lastFile)) tally.unchanged += 1;
    else {
      await keepAskedName(context, { name: asked, isLoaded: false });
      await fetchFile(session, partner, pipeline, asked, folder);
    }
    await keepAskedName(context, { name: asked, isLoaded: true });
  } catch (thrown) {
    if (!context.signal.aborted) tally.errors.push(asEtlError(thrown).about({ pipeline: pipeline.name }));
  } finally {
    await rm(folder, { recursive: true, force: true });
    context.progress.end(pipeline.name);
  }
}

/**
 * A run that was killed may have left a file in the vault that it did not apply. Returns its name when that is done now, else null; a
 * file that cannot be applied was told of by the run that fetched it, and is fetched again.
 */
async function takeUnfinished(
  session: Session,
  pipeline: Pipeline,
  { askedAt, lastName, lastFetchId }: FilePlan,
  folder: string,
): Promise<string | null> {
  const { context } = session;
  let left: FetchRecord | null = null;
  for await (const fetch of context.vault.fetches(pipeline.name, askedAt?.slice(0, 10)))
    if (fetch.outcome === 'ok' && fetch.notes?.asked_name === lastName && fetch.finished_at >= (askedAt ?? ''))
      left = fetch;
  if (left === null || lastName === null || left.fetch_id === lastFetchId) return null;
  const drift = session.ledger.drift.length;
  try {
    await applyStored(session, pipeline, left, path.join(folder, 'stored'));
    await keepAskedName(context, { name: lastName, isLoaded: true });
    return left.notes?.file_name ?? lastName;
  } catch (thrown) {
    if (asEtlError(thrown).kind === 'bug') throw thrown;
    session.ledger.drift.length = drift;
    return null;
  }
}

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
      return { ...received, value: nameIn(received.head.toString('utf8'), received.vaultPath), items: null };
    },
    session.context.signal,
  );
  return (await partner.client.call(call)).value;
}

/** The bare name; a page of somebody else's passes, so it is asked again. */
function nameIn(text: string, vaultPath: string): string {
  const name = recordable(text.replace(/^\ufeff/, ''));
  if (name !== null && !/^[<{[]/.test(name)) return name;
  throw new EtlError('retry', 'no_file_name', 'what was told for the name of the newest reductions file is no name', {
    hint: `what was received lies in ${vaultPath}`,
  });
}

async function fetchFile(
  session: Session,
  partner: Partner,
  pipeline: Pipeline,
  asked: string,
  folder: string,
): Promise<void> {
  const { context, ledger, tally } = session;
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
  const result = await applyFile(session, pipeline, record, decodedFile, path.join(folder, 'out'));
  tally.add(result);
  const { rows, changed } = result;
  context.progress.window(pipeline.name, { from: record.notes?.file_name ?? asked, to: '', rows, changed });
}

function destination({ context }: Session, pipeline: Pipeline, folder: string): FileDestination {
  const { vault } = context;
  const mostBytes = LIMITS.reductionsFileBytes;
  return { vault, pipeline: pipeline.name, folder, extension: 'csv', decodedFile: null, mostBytes };
}
