/** How a pipeline's days stand, for every kind of source: days that must all be there, or days on which something came. */
import { addDays, type Day, dayAt, daysBetween, daysOf } from '../../core/days.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { daysOfInterest, horizonOf, type PlanInput } from '../../core/plan.ts';
import type { SliceEntry } from '../../core/slices.ts';
import type { RunContext } from '../context.ts';
import { allCheckHolds } from '../publish/kept-holds.ts';

/** `quiet`: a day on which look-ups, a file, a list or messages brought nothing new. */
export type DayState = 'missing' | 'failed' | 'held' | 'open' | 'settled' | 'quiet';

export interface PipelineStatus {
  readonly pipeline: string;
  readonly enabled: boolean;
  /** First and last day of interest. */
  readonly from: Day;
  readonly to: Day;
  /** The newest day that is loaded, and how many days it is behind the newest day of interest. */
  readonly newest: Day | null;
  readonly days_behind: number | null;
  readonly counts: Readonly<Record<DayState, number>>;
  readonly rows: number;
  readonly rejects: number;
  readonly days: readonly { readonly day: Day; readonly state: DayState }[];
  /** Of look-ups: how many things were asked for, by what came of it last, and when the last one was asked. */
  readonly lookups?: LookupStatus;
  /** What waits in the inbox. */
  readonly inbox?: InboxStatus;
}

export interface InboxStatus {
  readonly messages: number;
  readonly bytes: number;
}

export interface LookupStatus {
  readonly outcomes: Readonly<Record<string, number>>;
  readonly asked_at: string | null;
}

/** Of a pipeline that is asked by ranges of days: what the plan of a night knows of them. */
export async function rangeStatus(context: RunContext, pipeline: Pipeline, input: PlanInput): Promise<PipelineStatus> {
  const horizon = horizonOf(input);
  const slices = await context.lake.slices(pipeline.name);
  const failed = await failedDays(context, pipeline, slices);
  const held = await heldByChecks(context, pipeline);
  const days = daysOfInterest(input).map((day) => {
    const state: DayState = held.has(day) ? 'held' : stateOf(slices.get(day), failed.has(day));
    return { day, state };
  });
  const counts = countsOf(days);
  const entries = [...slices.values()];
  const newest = [...slices.keys()].at(-1) ?? null;
  return {
    pipeline: pipeline.name,
    enabled: context.isEnabled(pipeline),
    from: days[0]?.day ?? horizon.from,
    to: horizon.to,
    newest,
    days_behind: newest === null ? null : Math.max(0, daysBetween(newest, horizon.to)),
    counts,
    rows: entries.reduce((sum, e) => sum + e.content.rows, 0),
    rejects: entries.reduce((sum, e) => sum + e.content.rejects, 0),
    days,
  };
}

/** Of a pipeline that is merged: fresh is what was asked lately. */
export async function versionStatus(
  context: RunContext,
  pipeline: Pipeline,
  lookups: LookupStatus,
): Promise<PipelineStatus> {
  const newest = lookups.asked_at === null ? null : dayAt(Date.parse(lookups.asked_at), context.timeZone);
  const days_behind = newest === null ? null : Math.max(0, daysBetween(newest, context.today));
  return { ...(await eventStatus(context, pipeline)), newest, days_behind, lookups };
}

/** Where a day without rows lacks nothing: the days are those since the first row. */
export async function eventStatus(context: RunContext, pipeline: Pipeline) {
  const slices = await context.lake.slices(pipeline.name);
  const entries = [...slices.values()];
  const { today } = context;
  const from = [...slices.keys()][0] ?? today;
  const held = await heldByChecks(context, pipeline);
  const days = daysOf({ from, to: today }).map((day) => {
    const entry = slices.get(day);
    const state: DayState =
      entry?.held || held.has(day) ? 'held' : entry && entry.content.rows > 0 ? 'settled' : 'quiet';
    return { day, state };
  });
  return {
    pipeline: pipeline.name,
    enabled: context.isEnabled(pipeline),
    from,
    to: today,
    counts: countsOf(days),
    rows: entries.reduce((sum, e) => sum + e.content.rows, 0),
    rejects: entries.reduce((sum, e) => sum + e.content.rejects, 0),
    days,
  };
}

/** Days that checks keep out of some target. */
async function heldByChecks(context: RunContext, { name }: Pipeline): Promise<ReadonlySet<Day>> {
  const holds = await allCheckHolds(context);
  return new Set(holds.filter((hold) => hold.pipeline === name).map((hold) => hold.slice_day));
}

function countsOf(days: PipelineStatus['days']): Record<DayState, number> {
  const counts = { missing: 0, failed: 0, held: 0, open: 0, settled: 0, quiet: 0 };
  for (const { state } of days) counts[state] += 1;
  return counts;
}

export function stateOf(entry: SliceEntry | undefined, hasFailed: boolean): DayState {
  if (entry?.held) return 'held';
  if (hasFailed) return 'failed';
  if (!entry) return 'missing';
  return entry.content.settled ? 'settled' : 'open';
}

/** Days whose last request of the past month failed. */
async function failedDays(
  context: RunContext,
  pipeline: Pipeline,
  slices: ReadonlyMap<Day, SliceEntry>,
): Promise<ReadonlySet<Day>> {
  const since = addDays(context.today, -31);
  const failed = new Set<Day>();
  for await (const fetch of context.raw.fetches(pipeline.name, since)) {
    if (!fetch.window_from || !fetch.window_to) continue;
    for (const day of daysOf({ from: fetch.window_from, to: fetch.window_to }))
      if (fetch.outcome === 'failed' && fetch.fetch_id > (slices.get(day)?.content.fetch_id ?? '')) failed.add(day);
      else failed.delete(day);
  }
  return failed;
}
