/**
 * The list of push subscriptions: one call tells all there are, so what is not on the list is gone. A night asks once, keeps the
 * answer in the raw store, and adds what came, changed and went. An answer that is no list changes nothing.
 */
import path from 'node:path';
import { z } from 'zod';
import { dayAt } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import { receiveLookup } from '../../extract/lookup-answer.ts';
import { linesSource } from '../../normalise/observed.ts';
import { subscriptionListCall } from '../../partner/calls/subscriptions.ts';
import { AnswerReader, countRecords } from '../../sources/reader.ts';
import { readMemo, writeMemo } from '../../store/tables/memo.ts';
import type { RunContext } from '../context.ts';
import { withNightCalls } from '../keys/night-calls.ts';
import { bringBack, observeRows } from '../merge/observing.ts';
import { storedSince } from '../merge/stored.ts';
import type { Partners } from '../partners.ts';
import type { Session } from '../session.ts';
import { versionStatus } from '../status/status-days.ts';
import type { Applied } from '../tally.ts';
import type { Into, Request, Source } from './source.ts';

/** When the list was asked for last, and how many stood on it: for those who look. */
const shape = z.object({ askedAt: z.string(), listed: z.int().nonnegative() });
type Listed = z.infer<typeof shape>;

export const listSource: Source = {
  /** The list is always due. */
  async plan(context, _engine, pipeline) {
    const listed = await readListed(context, pipeline);
    return { pipeline, calls: 1, isDue: true, slices: 0, details: { list: { asked_at: listed?.askedAt ?? null } } };
  },
  budget: ({ retailer }) => retailer.subscriptions.budget,
  /** One that was not applied says less than the one that is asked for next. */
  pending: async () => null,
  async requests(session, partners, { pipeline }) {
    const fetch = async (folder: string) => {
      const fetched = await askList(session, partners, pipeline);
      return {
        async apply(into: Into) {
          const applied = await applyList(session, pipeline, fetched, into, folder);
          const listed = { askedAt: fetched.finished_at, listed: fetched.items ?? applied.rows };
          if (applied.held === 0) await keepListed(session.context, pipeline, listed);
          return applied;
        },
        shown: { from: '', to: '' },
      };
    };
    return { total: 1, unit: 'call', each: [{ fetch }] };
  },
  /** Every one counts but that which is held now. */
  async stored(session, pipeline, { range }) {
    const entries = [...(await session.context.lake.slices(pipeline.name)).values()];
    const held = new Set(entries.map((entry) => entry.held?.content.fetch_id));
    const isApplied = ({ fetch_id: id }: FetchRecord) => !held.has(id);
    const requestsFor = (fetches: readonly FetchRecord[]) =>
      fetches.map((fetch) => storedRequest(session, pipeline, fetch));
    return storedSince(session, pipeline, range, isApplied, requestsFor, (place) =>
      bringBack(session, pipeline, place),
    );
  },
  async held(session, pipeline, { held }) {
    const each: Request[] = [];
    for await (const fetch of session.context.raw.fetchesWith([held.content.fetch_id]))
      each.push(storedRequest(session, pipeline, fetch));
    return { total: 0, unit: 'call', each };
  },
  async status(context, pipeline) {
    const known = await readListed(context, pipeline);
    const outcomes: Record<string, number> = known ? { listed: known.listed } : {};
    return versionStatus(context, pipeline, { outcomes, asked_at: known?.askedAt ?? null });
  },
};

function storedRequest(session: Session, pipeline: Pipeline, fetch: FetchRecord): Request {
  return {
    fetch: async (folder) => ({
      apply: (into) => applyList(session, pipeline, fetch, into, folder),
      shown: { from: '', to: '' },
    }),
  };
}

/** A stored list → subscriptions that came, changed and went. Errors: those of `AnswerReader`, `failed/damaged_answer`. */
async function applyList(
  session: Session,
  pipeline: Pipeline,
  fetch: FetchRecord,
  into: Into,
  folder: string,
): Promise<Applied> {
  const { context } = session;
  const body = await storedBody(context, fetch);
  const reader = await AnswerReader.open(pipeline, [], folder, context.timeZone);
  await reader.take({ fetch, asked: null, body }).catch(async (error) => {
    await reader.close();
    throw error;
  });
  const { rows: listed, drift } = await reader.close();
  const { file, lines, longestLineBytes } = listed;
  const { fetch_id: fetchId, finished_at: at } = fetch;
  const rows = {
    pipeline,
    parent: { pipeline, lines, source: linesSource(pipeline, file, longestLineBytes) },
    children: [],
    complete: { day: dayAt(Date.parse(at), context.timeZone), at, fetchId },
    refusedFiles: [],
    fetchId,
    outDir: path.join(folder, 'slices'),
  };
  const applied = await observeRows(session, rows, into);
  return { ...applied, drift: [...drift, ...applied.drift] };
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
  for await (const { body } of context.raw.readAnswers([fetch])) return body;
  throw new EtlError('failed', 'damaged_answer', `the raw store does not hold the answer of fetch ${fetch.fetch_id}`, {
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
