/** How things stand: freshness, the grid of days, holds, rejects, drift, runs, and how far each target is behind the lake. */
import { isoTime } from '../../core/clock.ts';
import type { Day } from '../../core/days.ts';
import { asEtlError } from '../../core/errors.ts';
import { isNamed } from '../../core/pipeline.ts';
import type { DriftRecord, RunRecord } from '../../core/records.ts';
import { driftOfRuns, lastRuns } from '../../store/tables/runs.ts';
import type { HoldRecord } from '../../warehouse/target.ts';
import { isAtWork } from '../at-work.ts';
import type { RunContext } from '../context.ts';
import { missingIn, standingHolds } from '../publish/publish.ts';
import { sourceOf } from '../sources/index.ts';
import { askTarget } from './ask-target.ts';
import type { PipelineStatus } from './status-days.ts';
import { needsOf, type Point, sentenceOf } from './verdict.ts';

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
    pipelines.push(await sourceOf(pipeline).status(context, pipeline));
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

/** What `etl.drift` says; nothing where no target can be asked: that stands among them. */
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
