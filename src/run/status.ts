/** How things stand: freshness, the grid of days, holds, rejects, drift, runs, and how far each target is behind the lake. */
import { isoTime } from '../core/clock.ts';
import { addDays, type Day, dayAt, daysBetween, daysOf } from '../core/days.ts';
import { asEtlError } from '../core/errors.ts';
import { isNamed, type Pipeline } from '../core/pipeline.ts';
import { daysOfInterest, horizonOf } from '../core/plan.ts';
import type { DriftRecord, RunRecord } from '../core/records.ts';
import type { SliceEntry } from '../core/slices.ts';
import { Engine } from '../engine/duckdb.ts';
import { driftOfRuns, lastRuns } from '../store/runs.ts';
import type { HoldRecord } from '../warehouse/target.ts';
import { askTarget } from './ask-target.ts';
import { readAsked } from './asked.ts';
import { isAtWork } from './at-work.ts';
import { allCheckHolds } from './check-holds.ts';
import type { RunContext } from './context.ts';
import { planInbox } from './inbox.ts';
import { readListed } from './lists.ts';
import { planInput } from './plans.ts';
import { missingIn, standingHolds } from './publish.ts';
import { nameAskedAt } from './reductions-plan.ts';
import { needsOf, type Point, sentenceOf } from './verdict.ts';

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

export interface TargetStatus {
  readonly target: string;
  /** Slices of the lake that the target does not have; null when it could not be asked. */
  readonly slices_behind: number | null;
  readonly error: string | null;
}

/** What the last runs saw that the contract does not know, or that breaks a check that only warns. */
export interface SeenDrift extends DriftRecord {
  /** When it was seen first, as far as a target knows; else the beginning of the oldest of the last runs that saw it. */
  readonly first_seen_at: string;
}

export interface Status {
  readonly today: Day;
  readonly pipelines: readonly PipelineStatus[];
  readonly targets: readonly TargetStatus[];
  readonly holds: readonly HoldRecord[];
  readonly drift: readonly SeenDrift[];
  readonly runs: readonly RunRecord[];
  /** Of the run that is at work now. */
  readonly run_at_work: string | null;
  readonly verdict: Verdict;
}

export interface Verdict {
  readonly sentence: string;
  readonly needs: readonly Point[];
}

const RUNS_SHOWN = 5;
/** Oddities read from a target. */
const DRIFT_READ = 10_000;

/** Of the pipelines alone, without asking a target. */
export async function pipelineStatuses(context: RunContext): Promise<PipelineStatus[]> {
  const pipelines: PipelineStatus[] = [];
  for (const pipeline of context.pipelines.filter(isNamed))
    pipelines.push(await statusFor(pipeline)(context, pipeline));
  return pipelines;
}

export async function statusOf(context: RunContext): Promise<Status> {
  const pipelines = await pipelineStatuses(context);
  const targets: TargetStatus[] = [];
  for (const target of context.targets) {
    try {
      targets.push({ target: target.name, slices_behind: (await missingIn(context, target)).length, error: null });
    } catch (thrown) {
      targets.push({ target: target.name, slices_behind: null, error: asEtlError(thrown).message });
    }
  }
  const runs = await lastRuns(context.state.db, RUNS_SHOWN);
  const holds = await standingHolds(context);
  const run_at_work = (await isAtWork(context, runs[0])) ? (runs[0]?.run_id ?? null) : null;
  const drift = await driftSeen(context, runs);
  const verdict = verdictOf({ pipelines, targets, holds, runs, run_at_work });
  return { today: context.today, verdict, pipelines, targets, holds, drift, runs, run_at_work };
}

function verdictOf({ pipelines, targets, holds, runs, run_at_work }: Omit<Status, 'today' | 'drift' | 'verdict'>) {
  const judged = {
    pipelines: pipelines.map((p) => ({ ...p, failed: p.counts.failed, gaps: gapsOf(p) })),
    ...{ targets, runs, holds: holds.length, isAtWork: run_at_work !== null },
    rejects: pipelines.reduce((sum, { rejects }) => sum + rejects, 0),
  };
  const needs = needsOf(judged);
  return { sentence: sentenceOf(judged, needs.length), needs };
}

function gapsOf({ days, newest }: PipelineStatus): number {
  return newest === null ? 0 : days.filter(({ day, state }) => state === 'missing' && day < newest).length;
}

function statusFor({ source, versions }: Pipeline) {
  if (source.kind === 'inbox') return inboxStatus;
  return versions ? versionStatus : pipelineStatus;
}

async function pipelineStatus(context: RunContext, pipeline: Pipeline): Promise<PipelineStatus> {
  const input = await planInput(context, pipeline);
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

/** Of a pipeline whose rows are versions: fresh is what was asked lately. */
async function versionStatus(context: RunContext, pipeline: Pipeline): Promise<PipelineStatus> {
  const lookups = await lookupStatus(context, pipeline);
  const newest = lookups.asked_at === null ? null : dayAt(Date.parse(lookups.asked_at), context.timeZone);
  const days_behind = newest === null ? null : Math.max(0, daysBetween(newest, context.today));
  return { ...(await eventStatus(context, pipeline)), newest, days_behind, lookups };
}

/** Of messages nobody knows whether more should have come. */
async function inboxStatus(context: RunContext, pipeline: Pipeline): Promise<PipelineStatus> {
  const newest = [...(await context.lake.slices(pipeline.name)).keys()].at(-1) ?? null;
  const { messages, bytes } = await planInbox(context, pipeline);
  return { ...(await eventStatus(context, pipeline)), newest, days_behind: null, inbox: { messages, bytes } };
}

/** Where a day without rows lacks nothing: the days are those since the first row. */
async function eventStatus(context: RunContext, pipeline: Pipeline) {
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

async function lookupStatus(context: RunContext, pipeline: Pipeline): Promise<LookupStatus> {
  if (pipeline.source.kind === 'file') return { outcomes: {}, asked_at: await nameAskedAt(context) };
  if (pipeline.source.kind === 'list') {
    const known = await readListed(context, pipeline);
    return { outcomes: known ? { listed: known.listed } : {}, asked_at: known?.askedAt ?? null };
  }
  const engine = await Engine.open({ tempDir: context.paths.work });
  try {
    await readAsked(engine, context, pipeline);
    const rows = await engine.rows(
      'SELECT outcome, count(*) AS n, max(epoch_ms(asked_at)) AS at FROM asked GROUP BY outcome ORDER BY outcome',
    );
    const outcomes = Object.fromEntries(rows.map((row) => [String(row.outcome), Number(row.n)]));
    const newestMs = Math.max(0, ...rows.map((row) => Number(row.at)));
    return { outcomes, asked_at: newestMs === 0 ? null : isoTime(newestMs) };
  } finally {
    engine.close();
  }
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
  for await (const fetch of context.vault.fetches(pipeline.name, since)) {
    if (!fetch.window_from || !fetch.window_to) continue;
    for (const day of daysOf({ from: fetch.window_from, to: fetch.window_to }))
      if (fetch.outcome === 'failed' && fetch.fetch_id > (slices.get(day)?.content.fetch_id ?? '')) failed.add(day);
      else failed.delete(day);
  }
  return failed;
}

/** One record for each kind and field of the last runs, with what a target knows of it: count and example over all answers. */
async function driftSeen(context: RunContext, runs: readonly RunRecord[]): Promise<SeenDrift[]> {
  const byField = new Map<string, SeenDrift>();
  const drift = await driftOfRuns(
    context.state.db,
    runs.map(({ run_id }) => run_id),
  );
  for (const run of runs)
    for (const record of drift.get(run.run_id) ?? []) {
      const known = byField.get(driftName(record));
      const count = record.count + (known?.count ?? 0);
      byField.set(driftName(record), { ...(known ?? record), count, first_seen_at: run.started_at });
    }
  if (byField.size === 0) return [];
  const all = await driftInTarget(context);
  return [...byField].map(([name, seen]) => ({ ...seen, ...all.get(name) }));
}

function driftName({ pipeline, kind, field }: Pick<DriftRecord, 'pipeline' | 'kind' | 'field'>): string {
  return [pipeline, kind, field].join('\n');
}

/** What `etl.drift` says; nothing where no target can be asked: that is told among them. */
async function driftInTarget(
  context: RunContext,
): Promise<ReadonlyMap<string, Pick<SeenDrift, 'count' | 'first_seen_at'>>> {
  const select = `SELECT pipeline, kind, field, count, CAST(floor(extract(epoch FROM first_seen_at) * 1000) AS BIGINT) FROM etl.drift`;
  const { result } = await askTarget(context, select, DRIFT_READ);
  return new Map(
    (result?.rows ?? []).map(([pipeline, kind, field, count, atMs]) => [
      driftName({ pipeline: String(pipeline), kind: String(kind), field: String(field) }),
      { count: Number(count), first_seen_at: isoTime(Number(atMs)) },
    ]),
  );
}
