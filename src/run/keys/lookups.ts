/**
 * A night of look-ups: answers that a killed run or a command left are taken in first, then what is due is asked, and then those
 * answers are taken in. What was asked is not asked again, so a night that was cut off goes on where it was.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { dayAt } from '../../core/days.ts';
import { asEtlError } from '../../core/errors.ts';
import { type Pipeline, readingOf } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import type { EanReject } from '../../extract/ean-list.ts';
import { HOPELESS } from '../../sources/batches.ts';
import { applyTold, type ObservingOptions, type ObservingResult } from '../merge/observing.ts';
import type { Partners } from '../partners.ts';
import type { Session } from '../session.ts';
import { type Pending, pendingAnswers } from './applied.ts';
import { noteAsked } from './asked.ts';
import { askingOf } from './keys-calls.ts';
import { linesOf } from './lookup-lines.ts';

/** Errors are in the tally. */
export async function runLookups(session: Session, partners: Partners, pipeline: Pipeline): Promise<void> {
  const { context, tally } = session;
  const folder = path.join(session.work, pipeline.name);
  await mkdir(folder, { recursive: true });
  try {
    await applyPending(session, pipeline, folder, []);
    await applyPending(session, pipeline, folder, await askDue(session, partners, pipeline, folder));
  } catch (thrown) {
    tally.errors.push(asEtlError(thrown).about({ pipeline: pipeline.name }));
  } finally {
    context.progress.end(pipeline.name);
    await rm(folder, { recursive: true, force: true });
  }
}

/** Asks what is due. Returns what of the list cannot be asked, and nothing else of it: a long list takes much memory. */
async function askDue(
  session: Session,
  partners: Partners,
  pipeline: Pipeline,
  folder: string,
): Promise<readonly EanReject[]> {
  const { context, engine, ledger, tally } = session;
  const asking = askingOf(pipeline);
  const plan = await asking.plan(context, engine, pipeline, folder);
  for (const note of plan.notes) context.progress.note(`${pipeline.name}: ${note}`);
  tally.leftOut += plan.leftOut;
  ledger.drift.push(...plan.drift);
  if (plan.calls === 0) return plan.rejects;
  context.progress.begin(pipeline.name, plan.calls, 'call', { kind: 'night', calls: plan.callsAllowed });
  await asking.ask(session, partners, plan);
  return plan.rejects;
}

/** Takes in the answers that were not yet, and sets aside what of the list could not be asked. */
async function applyPending(
  session: Session,
  pipeline: Pipeline,
  folder: string,
  rejects: readonly EanReject[],
): Promise<void> {
  const pending = await pendingAnswers(session.context, pipeline);
  if (pending.fetches.length === 0 && rejects.length === 0) return;
  if (isAllRefused(pipeline, pending.fetches)) {
    session.context.log.warn(
      `${pipeline.name}: the service refused whatever was asked; that says nothing about the EANs`,
      { pipeline: pipeline.name },
    );
    await pending.done();
    return;
  }
  await applyAnswers(session, pipeline, pending, folder, { rejects, isReleased: askingOf(pipeline).isNeverHeld });
}

/** Refusals of the request itself look like refusals of every EAN in it (see RefusalWatch): nothing is learnt from them. */
function isAllRefused(pipeline: Pipeline, fetches: readonly FetchRecord[]): boolean {
  const { isRefusedByKey } = readingOf(pipeline);
  return isRefusedByKey && fetches.length >= HOPELESS && fetches.every(({ status }) => (status ?? 0) >= 300);
}

export interface ApplyingOptions extends Pick<ObservingOptions, 'place' | 'isReleased'> {
  /** What of the list could not be asked. */
  readonly rejects?: readonly EanReject[];
  /** Further files of what could not become a row. */
  readonly refusedFiles?: readonly string[];
}

/** Takes answers in. They stay pending when they are held. */
export async function applyAnswers(
  session: Session,
  pipeline: Pipeline,
  pending: Pending,
  folder: string,
  { rejects = [], refusedFiles = [], ...options }: ApplyingOptions = {},
): Promise<ObservingResult> {
  const { context, engine, ledger, tally } = session;
  const outDir = path.join(folder, 'taken');
  await mkdir(outDir, { recursive: true });
  try {
    const lines = await linesOf(context, pipeline, pending.fetches, outDir);
    const refused = await refusedOf(session, rejects, lines.rejects, outDir);
    const result = await applyTold(
      session,
      {
        pipeline,
        whole: lines.whole,
        parts: lines.parts,
        refusedFiles: [...refused, ...refusedFiles],
        fetchId: newestOf(pending.fetches) ?? ledger.runId,
        outDir: path.join(outDir, 'slices'),
      },
      { ...options, onTold: (table) => noteAsked(engine, context, pipeline, table) },
    );
    tally.add({ ...result, duplicates: result.duplicates + lines.duplicates });
    ledger.drift.push(...lines.drift, ...result.drift);
    if (!result.isHeld) await pending.done();
    return result;
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
}

/** What of the list could not be asked, as rejects of today, in the file that has those of the answers. */
async function refusedOf(
  { context, ledger }: Session,
  rejects: readonly EanReject[],
  answered: { readonly file: string; readonly lines: number } | null,
  folder: string,
): Promise<string[]> {
  const files = answered !== null && answered.lines > 0 ? [answered.file] : [];
  if (rejects.length === 0) return files;
  const day = dayAt(context.clock.now(), context.timeZone);
  const file = path.join(folder, 'list-rejects.ndjson');
  const lines = rejects.map(({ line, reason, detail, raw }) =>
    JSON.stringify({ fetch_id: ledger.runId, item: line, day, reason, detail, raw }),
  );
  await writeFile(file, `${lines.join('\n')}\n`);
  return [...files, file];
}

function newestOf(fetches: readonly FetchRecord[]): string | undefined {
  return fetches.reduce<string | undefined>(
    (newest, { fetch_id: id }) => (newest === undefined || id > newest ? id : newest),
    undefined,
  );
}
