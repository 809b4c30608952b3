/**
 * What retention must leave in the raw store, whatever its age:
 *
 *   not_loaded   it may be the source of a slice that some target does not have yet
 *   hold         a slice that is held stands on it
 *   pending      a look-up whose answer was not taken in yet
 *   current      it is the only source of a slice: the newest answer for a day of a report, that which its slice names unless the
 *                newest is known to say the same, and of what cannot be asked for again (look-ups, lists, files, messages) every
 *                answer that brought a row or a reject
 *
 * The history of order items lies in the lake: of the answers that it was made of, only the newest for each day are kept.
 */
import { type Day, daysOf } from '../../core/days.ts';
import { childrenOf, type Pipeline } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import type { SliceEntry } from '../../core/slices.ts';
import type { Engine } from '../../engine/duckdb.ts';
import type { RunContext } from '../context.ts';
import { pendingIds } from '../merge/stored.ts';
import { allCheckHolds } from '../publish/kept-holds.ts';
import { missingIn } from '../publish/publish.ts';
import { fetchesNamed } from '../verify/answers-behind.ts';

export type Need = 'not_loaded' | 'hold' | 'pending' | 'current';

/** What is needed of one pipeline and its parts. */
export class Needs {
  private readonly byFetch = new Map<string, Need>();
  private readonly unloadedDays: ReadonlySet<Day>;
  /** Nothing may go: a slice whose sources nobody can tell is not loaded everywhere. */
  private readonly isAll: boolean;

  constructor(unloadedDays: ReadonlySet<Day>, isAll: boolean) {
    this.unloadedDays = unloadedDays;
    this.isAll = isAll;
  }

  add(fetchIds: Iterable<string>, need: Need): void {
    for (const id of fetchIds) this.byFetch.set(id, this.byFetch.get(id) ?? need);
  }

  /** Those whose answers stay, as far as they are known by name. */
  fetchIds(): Set<string> {
    return new Set(this.byFetch.keys());
  }

  /** Why the fetch's answer stays; null where nothing needs it. */
  of({ fetch_id: id, window_from: from, window_to: to }: FetchRecord): Need | null {
    const isUnloaded = from && to && daysOf({ from, to }).some((day) => this.unloadedDays.has(day));
    if (this.isAll || isUnloaded) return 'not_loaded';
    return this.byFetch.get(id) ?? null;
  }
}

/** Days of slices that some target lacks, by pipeline. */
export type Unloaded = ReadonlyMap<string, ReadonlySet<Day>>;

/** Errors: of a target that cannot be asked. */
export async function unloadedSlices(context: RunContext): Promise<Unloaded> {
  const unloaded = new Map<string, Set<Day>>();
  for (const target of context.targets)
    for (const { pipeline, content } of await missingIn(context, target)) {
      const days = unloaded.get(pipeline.name) ?? new Set<Day>();
      unloaded.set(pipeline.name, days.add(content.day));
    }
  return unloaded;
}

/** What is needed of a pipeline that people name. Errors: of a file of the lake that cannot be read. */
export async function needsOf(
  context: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  unloaded: Unloaded,
): Promise<Needs> {
  const family = [pipeline, ...childrenOf(context.pipelines, pipeline)];
  const days = new Set(family.flatMap(({ name }) => [...(unloaded.get(name) ?? [])]));
  const isReport = pipeline.source.isByRange;
  // The answers of a look-up name no days, so while anything of it is not loaded, all of it stays.
  const needs = new Needs(days, !isReport && days.size > 0);
  const names = new Set(family.map(({ name }) => name));
  for (const hold of await allCheckHolds(context)) if (names.has(hold.pipeline)) needs.add([hold.fetch_id], 'hold');
  needs.add(await pendingIds(context, pipeline), 'pending');
  const newest = await newestAnswers(context, pipeline);
  for (const { fetch_id: id } of newest.values()) needs.add([id], 'current');
  for (const one of family) {
    const slices = [...(await context.lake.slices(one.name)).values()];
    for (const entry of slices) {
      const { content, held } = entry;
      if (held) needs.add([held.content.fetch_id], 'hold');
      const isSource = isReport ? !saysSame(entry, newest.get(content.day)) : content.rows + content.rejects > 0;
      if (!(one.isHistory && isReport) && isSource) needs.add([content.fetch_id], 'current');
    }
    if (!isReport) needs.add(await fetchesNamed(context, engine, slices), 'current');
  }
  return needs;
}

/** Whether the newest answer is the one that was last seen to say what the slice holds. */
function saysSame({ held, moved, checked }: SliceEntry, newest: Newest | undefined): boolean {
  return !held && !moved && checked !== null && checked.sha256 === newest?.sha256;
}

type Newest = Pick<FetchRecord, 'fetch_id' | 'sha256'>;

/** Of a report the newest sound answer for every day; of anything else the newest one, and the newest file. */
async function newestAnswers({ raw }: RunContext, { name }: Pipeline): Promise<ReadonlyMap<string, Newest>> {
  const newest = new Map<string, Newest>();
  for await (const fetch of raw.fetches(name)) {
    if (fetch.outcome !== 'ok' || fetch.raw_path === null || fetch.pruned_at !== undefined) continue;
    const { fetch_id, sha256, window_from: from, window_to: to } = fetch;
    const answer = { fetch_id, sha256 };
    if (from && to) for (const day of daysOf({ from, to })) newest.set(day, answer);
    else newest.set(fetch.notes?.file_name === undefined ? 'answer' : 'file', answer);
  }
  return newest;
}
