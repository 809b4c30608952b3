/**
 * The list of push subscriptions: one call tells all there are, so what is not on the list is gone. A night asks once, keeps the
 * answer in the vault, and adds what came, changed and went. An answer that is no list changes nothing.
 */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { dayAt } from '../../core/days.ts';
import { asEtlError, EtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import { receiveLookup } from '../../extract/lookup-answer.ts';
import { linesSource } from '../../normalise/told.ts';
import { subscriptionListCall } from '../../partner/subscriptions.ts';
import { AnswerReader, countRecords } from '../../sources/reader.ts';
import { readMemo, writeMemo } from '../../store/memo.ts';
import type { RunContext } from '../context.ts';
import { withNightCalls } from '../keys/night-calls.ts';
import { applyTold, type ObservingOptions, type ObservingResult } from '../merge/observing.ts';
import type { Partners } from '../partners.ts';
import type { Plan } from '../plan.ts';
import type { Session } from '../session.ts';

/** When the list was asked for last, and how many stood on it: for those who look. */
const shape = z.object({ askedAt: z.string(), listed: z.int().nonnegative() });
type Listed = z.infer<typeof shape>;

/** The list is always due. */
export async function planList(context: RunContext, pipeline: Pipeline): Promise<Plan> {
  const listed = await readListed(context, pipeline);
  return { pipeline, calls: 1, isDue: true, slices: 0, details: { list: { asked_at: listed?.askedAt ?? null } } };
}

/** Asks for the list and applies it. Errors are in the tally. */
export async function fetchList(session: Session, partners: Partners, pipeline: Pipeline): Promise<void> {
  const { context, tally } = session;
  const folder = path.join(session.work, pipeline.name);
  context.progress.begin(pipeline.name, 1, 'call');
  try {
    const fetch = await askList(session, partners, pipeline);
    const { rows, changed, isHeld } = await applyList(session, pipeline, fetch, folder);
    if (!isHeld) await keepListed(context, pipeline, { askedAt: fetch.finished_at, listed: fetch.items ?? rows });
    context.progress.window(pipeline.name, { from: '', to: '', rows, changed });
  } catch (thrown) {
    if (!context.signal.aborted) tally.errors.push(asEtlError(thrown).about({ pipeline: pipeline.name }));
  } finally {
    await rm(folder, { recursive: true, force: true });
    context.progress.end(pipeline.name);
  }
}

/** A stored list → subscriptions that came, changed and went. Errors: those of `AnswerReader`, `failed/damaged_answer`. */
export async function applyList(
  session: Session,
  pipeline: Pipeline,
  fetch: FetchRecord,
  folder: string,
  options: ObservingOptions = {},
): Promise<ObservingResult> {
  const { context, ledger, tally } = session;
  await mkdir(folder, { recursive: true });
  const body = await storedBody(context, fetch);
  const reader = await AnswerReader.open(pipeline, [], folder, context.timeZone);
  await reader.take({ fetch, asked: null, body }).catch(async (error) => {
    await reader.close();
    throw error;
  });
  const { rows: listed, drift } = await reader.close();
  const { file, lines, longestLineBytes } = listed;
  const { fetch_id: fetchId, finished_at: at } = fetch;
  const result = await applyTold(
    session,
    {
      pipeline,
      whole: { pipeline, lines, source: linesSource(pipeline, file, longestLineBytes) },
      parts: [],
      isWhole: { day: dayAt(Date.parse(at), context.timeZone), at, fetchId, gone: { is_present: 'false' } },
      refusedFiles: [],
      fetchId,
      outDir: path.join(folder, 'slices'),
    },
    options,
  );
  ledger.drift.push(...drift, ...result.drift);
  tally.add(result);
  return result;
}

/** When the list was asked for last, and how many stood on it; null before the first time. */
export function readListed({ state }: Pick<RunContext, 'state'>, pipeline: Pipeline): Promise<Listed | null> {
  return readMemo(state.db, memoOf(pipeline), shape);
}

async function askList(session: Session, partners: Partners, pipeline: Pipeline): Promise<FetchRecord> {
  const { context } = session;
  const fetch = await withNightCalls(session, partners, pipeline, 1, async ({ partner, place }) => {
    const call = subscriptionListCall(
      partner.settings,
      pipeline.name,
      (answer) => receiveLookup(answer, null, (document) => countRecords(pipeline, document), place),
      context.signal,
    );
    return (await partner.client.call(call)).record;
  });
  await context.step('answer-received', pipeline.name);
  return fetch;
}

async function storedBody(context: RunContext, fetch: FetchRecord): Promise<Uint8Array> {
  for await (const { body } of context.vault.readAnswers([fetch])) return body;
  throw new EtlError('failed', 'damaged_answer', `the vault does not hold the answer of fetch ${fetch.fetch_id}`, {
    concern: { pipeline: fetch.pipeline, requestId: fetch.fetch_id },
    hint: `ask for the list again: partner-etl run ${fetch.pipeline}`,
  });
}

function keepListed({ state }: RunContext, pipeline: Pipeline, listed: Listed): Promise<void> {
  return writeMemo(state, memoOf(pipeline), listed, listed.askedAt);
}

function memoOf({ name }: Pipeline): string {
  return `listed ${name}`;
}
