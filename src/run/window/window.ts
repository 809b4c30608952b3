/**
 * One window of one pipeline: the answer becomes slices of the lake. Two steps, so that the next answer can be on its way
 * while this one is normalised: `takeIn` calls the service (`takeFromRawStore` reads what it said), `applyWindow` changes the lake.
 */
import path from 'node:path';
import { isoTime } from '../../core/clock.ts';
import { type Day, dayAt, daysOf } from '../../core/days.ts';
import { guardSlice } from '../../core/guard.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { spanning } from '../../core/tracer.ts';
import type { Engine } from '../../engine/duckdb.ts';
import type { SliceChange } from '../../lake/lake.ts';
import { type Normalised, type NormalisedSlice, normalise } from '../../normalise/normalise.ts';
import type { CheckedSlices } from '../../store/tables/slices.ts';
import type { RunContext } from '../context.ts';
import type { Applied } from '../tally.ts';
import { damagedDays } from '../verify/slice-problem.ts';
import { isKnownAnswer } from './checked.ts';
import { historyChanges } from './history.ts';
import { amendLosers } from './moved.ts';
import { type Before, filesBefore, normaliseInput, type TakenIn } from './taken.ts';
import { whatChanges } from './what-changed.ts';

export interface ApplyOptions {
  /** Days to apply where they are not all of the window's. */
  readonly days?: readonly Day[];
  /** Normalise also an answer that was applied before. */
  readonly isReplay?: boolean;
  /** Days whose slices are damaged, or stand on an answer that is: they are written again from this one, also where they hold the same. */
  readonly anew?: ReadonlySet<Day>;
}

/** Makes what was taken in the content of the lake. */
export async function applyWindow(
  context: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  taken: TakenIn,
  options: ApplyOptions = {},
): Promise<Applied> {
  const { range, fetch } = taken;
  const days = options.days ?? daysOf(range);
  const key = { range, sha256: fetch.sha256 ?? '', version: pipeline.version };
  const slices = await context.lake.slices(pipeline.name);
  const { isReplay = false } = options;
  const anew = options.anew ?? (isReplay ? await damagedDays(engine, context.lake, pipeline, days) : NO_DAYS);
  const isSame = !isReplay && isKnownAnswer(key, slices);
  if (isSame && !days.some((day) => anew.has(day))) return await unchangedResult(context, pipeline, taken, days);
  const isKnown = (day: Day, digest: string) => {
    const entry = slices.get(day);
    if (anew.has(day)) return false;
    return entry?.content.digest === digest || entry?.held?.content.digest === digest;
  };
  const findDamaged = () => damagedDays(engine, context.lake, pipeline, days);
  const beside = async (damaged: ReadonlySet<Day>) => {
    const before = await filesBefore(context, engine, pipeline, fetch, days, damaged, taken.folder);
    const input = normaliseInput(context, pipeline, taken, days, isKnown, before);
    return { before, normalised: await normalise(engine, input) };
  };
  const { before, normalised } = await spanning(context.tracer, 'normalise', { pipeline: pipeline.name }, async () => {
    if (isReplay && options.anew === undefined) return beside(anew);
    if (days.some((day) => anew.has(day))) return beside(await findDamaged());
    // What a day held is read only where the day changes: that it cannot be is found out then.
    return beside(NO_DAYS).catch(async (error) => {
      const damaged = pipeline.keepsHistory ? await findDamaged() : NO_DAYS;
      if (damaged.size === 0) throw error;
      return beside(damaged);
    });
  });
  await context.step('normalised', `${pipeline.name} ${range.from}`);
  return await spanning(context.tracer, 'load', { pipeline: pipeline.name, rows: normalised.rows }, () =>
    commitWindow(context, engine, pipeline, taken, normalised, before),
  );
}

async function commitWindow(
  context: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  taken: TakenIn,
  normalised: Normalised,
  current: Before,
): Promise<Applied> {
  const { range, fetch } = taken;
  const decided: SliceChange[] = [];
  let held = 0;
  for (const slice of normalised.slices) {
    const change = await decide(context, pipeline, slice);
    if (change === 'held' || (change !== null && change.kind === 'hold')) held += 1;
    if (change !== null && change !== 'held') decided.push(change);
  }
  const replaced = decided.flatMap((c) => (c.kind === 'replace' ? [{ content: c.content, file: c.files.file }] : []));
  const before = await context.lake.slices(pipeline.name);
  const other = replaced.filter(({ content }) => before.get(content.day)?.content.digest !== content.digest);
  const losers = await amendLosers(engine, context.lake, pipeline, other, path.join(taken.folder, 'amended'));
  const replacing = [...decided, ...losers];
  const ended = await historyChanges(context, engine, pipeline, replacing, current, {
    at: fetch.finished_at,
    fetchId: fetch.fetch_id,
    outDir: taken.folder,
  });
  const changes = await whatChanges(context, engine, pipeline, replacing);
  const days = normalised.slices.map(({ content }) => content.day);
  await context.lake.commit([...replacing, ...ended], checkedBy(context, pipeline, taken, days));
  await context.step('lake-committed', `${pipeline.name} ${range.from}`);
  const drift = [
    ...taken.answer.split.drift.map((d) => ({ pipeline: pipeline.name, fetch_id: fetch.fetch_id, ...d })),
    ...normalised.drift,
  ];
  const { rows, rejects, duplicates } = normalised;
  const changed = replaced.length + losers.length;
  return {
    rows,
    rejects,
    duplicates,
    changed,
    unchanged: normalised.slices.length - replaced.length - held,
    held,
    drift,
    changes,
  };
}

/** What becomes of one slice: a change, nothing, or nothing because it is held already. */
async function decide(
  context: RunContext,
  pipeline: Pipeline,
  slice: NormalisedSlice,
): Promise<SliceChange | 'held' | null> {
  const { content, file, rejectsFile } = slice;
  const entry = (await context.lake.slices(pipeline.name)).get(content.day);
  const files = { file, rejectsFile };
  if (entry?.content.digest === content.digest) {
    if (!slice.isKnown) return { kind: 'replace', pipeline: pipeline.name, content, files }; // to be written anew
    return entry.held || entry.moved ? { kind: 'confirm', pipeline: pipeline.name, day: content.day } : null;
  }
  if (entry?.held?.content.digest === content.digest) return 'held';
  const reason = guardSlice(entry?.content ?? null, content, context.guard);
  if (!reason) return { kind: 'replace', pipeline: pipeline.name, content, files };
  const hold = { ...reason, rows_before: entry!.content.rows, held_at: isoTime(context.clock.now()) };
  context.log.warn(`${pipeline.name} ${content.day} is held: ${reason.detail}`, {
    pipeline: pipeline.name,
    slice: content.day,
    request: content.fetch_id,
  });
  return { kind: 'hold', pipeline: pipeline.name, content, files, hold };
}

const NO_DAYS: ReadonlySet<Day> = new Set();

function checkedBy(context: RunContext, pipeline: Pipeline, taken: TakenIn, days: readonly Day[]): CheckedSlices {
  const { fetch, range } = taken;
  const on = dayAt(Date.parse(fetch.finished_at), context.timeZone);
  return { pipeline: pipeline.name, days, by: { on, sha256: fetch.sha256 ?? '', from: range.from, to: range.to } };
}

/** Of an answer that was applied before: only that the service has said it again. */
async function unchangedResult(
  context: RunContext,
  pipeline: Pipeline,
  taken: TakenIn,
  days: readonly Day[],
): Promise<Applied> {
  const slices = await context.lake.slices(pipeline.name);
  const entries = days.flatMap((day) => slices.get(day) ?? []);
  const checked = checkedBy(context, pipeline, taken, days);
  if (entries.some((entry) => entry.checked?.on !== checked.by.on)) await context.lake.commit([], checked);
  const total = (of: (e: (typeof entries)[number]) => number) => entries.reduce((sum, e) => sum + of(e), 0);
  return {
    rows: total((e) => (e.held?.content ?? e.content).rows),
    rejects: total((e) => (e.held?.content ?? e.content).rejects),
    duplicates: total((e) => (e.held?.content ?? e.content).duplicates),
    changed: 0,
    unchanged: entries.filter((e) => !e.held).length,
    held: entries.filter((e) => e.held).length,
    drift: [],
  };
}
