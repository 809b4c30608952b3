/**
 * What a window's answer is before it becomes slices: taken in from the service, or from the raw store; and what its days held until then.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { type Day, type DayRange, inRange } from '../../core/days.ts';
import { guardSlice } from '../../core/guard.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { FetchRecord, SliceContent } from '../../core/records.ts';
import type { Engine } from '../../engine/duckdb.ts';
import { receive, type SplitAnswer, splitAnswer } from '../../extract/answer.ts';
import { type NormaliseInput, normalise } from '../../normalise/normalise.ts';
import { reportCall } from '../../partner/calls/reports.ts';
import type { Partner, RunContext } from '../context.ts';

/** Files of what days held before a commit; null for a day that held nothing. */
export type Before = (day: Day) => string | null;

export interface TakenIn {
  readonly range: DayRange;
  readonly answer: SplitAnswer;
  readonly fetch: FetchRecord;
  /** Scratch folder of this window. */
  readonly folder: string;
}

/** Calls the service for a window; the answer is in the raw store and split when this resolves. `folder` is there. */
export async function takeIn(
  context: RunContext,
  partner: Partner,
  pipeline: Pipeline,
  range: DayRange,
  folder: string,
): Promise<TakenIn> {
  const call = reportCall(
    partner.settings.calls,
    pipeline,
    range,
    async (answer) => {
      const received = await receive(answer, pipeline, context.raw, folder, partner.settings.answerBytes);
      const { sha256, rawPath, bytesDecoded } = received;
      return { value: received, sha256, rawPath, bytesDecoded, items: received.split.items };
    },
    context.signal,
  );
  const { value, record } = await partner.client.call(call);
  await context.step('answer-received', `${pipeline.name} ${range.from}`);
  return { range, answer: value, fetch: record, folder };
}

/** The same from the raw store, without a call. Errors: `failed/damaged_answer`. */
export async function takeFromRawStore(
  context: RunContext,
  pipeline: Pipeline,
  fetch: FetchRecord,
  folder: string,
): Promise<TakenIn> {
  const answer = await splitAnswer(context.raw.answer(fetch, true), pipeline, folder);
  return { range: { from: fetch.window_from!, to: fetch.window_to! }, answer, fetch, folder };
}

/** What `normalise` makes of a response: slices of those days. */
export function normaliseInput(
  context: RunContext,
  pipeline: Pipeline,
  { range, answer, fetch, folder }: TakenIn,
  days: readonly Day[],
  isKnown: NormaliseInput['isKnown'],
  current: Before,
): NormaliseInput {
  const { linesFile, splitRejectsFile, split } = answer;
  return {
    pipeline,
    range,
    days,
    linesFile,
    lines: split.lines,
    longestLineBytes: split.longestLineBytes,
    hasExponents: split.hasExponents,
    splitRejectsFile,
    splitRejects: split.rejects,
    fetchId: fetch.fetch_id,
    fetchedAt: fetch.finished_at,
    rawAnswer: () => context.raw.answer(fetch),
    timeZone: context.timeZone,
    outDir: path.join(folder, 'out'),
    isKnown,
    current,
  };
}

/** Of rows whose history is kept; by the lake's files, and where that of a day is damaged, what the stored answers before this one make of the day. */
export async function filesBefore(
  context: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  fetch: FetchRecord,
  days: readonly Day[],
  damaged: ReadonlySet<Day>,
  folder: string,
): Promise<Before> {
  if (!pipeline.keepsHistory) return () => null;
  const slices = await context.lake.slices(pipeline.name);
  const files = new Map<Day, string | null>();
  for (const day of days)
    if (damaged.has(day)) files.set(day, await madeAgain(context, engine, pipeline, fetch, day, folder));
  return (day) => {
    const entry = slices.get(day);
    return files.get(day) ?? (entry && !damaged.has(day) ? context.lake.rowsFile(entry) : null);
  };
}

/**
 * The file of a day as it was before an answer, with the beginnings of its rows: each stored answer that covers the day, oldest first, beside
 * the one before it. Null where there is none.
 */
async function madeAgain(
  context: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  until: FetchRecord,
  day: Day,
  folder: string,
): Promise<string | null> {
  let [file, before]: [string | null, SliceContent | null] = [null, null];
  const current = (await context.lake.slices(pipeline.name)).get(day)?.content;
  for (const [i, fetch] of (await answersOf(context, pipeline, day)).entries()) {
    if (fetch.finished_at >= until.finished_at || fetch.pruned_at !== undefined) continue;
    const own = path.join(folder, `before-${day}-${i}`);
    await mkdir(own, { recursive: true });
    const taken = await takeFromRawStore(context, pipeline, fetch, own);
    const then = file;
    const input = normaliseInput(
      context,
      pipeline,
      taken,
      [day],
      () => false,
      () => then,
    );
    const [slice] = (await normalise(engine, input)).slices;
    // What was held then, and not released since, was never there.
    if (!slice || (guardSlice(before, slice.content, context.guard) && fetch.fetch_id !== current?.fetch_id)) continue;
    if (before?.digest !== slice.content.digest) file = slice.file;
    before = slice.content;
  }
  return file;
}

/** Every answer that covers the day, oldest first. */
async function answersOf(context: RunContext, pipeline: Pipeline, day: Day): Promise<FetchRecord[]> {
  const answers: FetchRecord[] = [];
  for await (const fetch of context.raw.fetches(pipeline.name)) {
    const { outcome, raw_path, window_from: from, window_to: to } = fetch;
    if (outcome === 'ok' && raw_path && from && to && inRange(day, { from, to })) answers.push(fetch);
  }
  return answers.sort((a, b) => (a.finished_at < b.finished_at ? -1 : 1));
}
