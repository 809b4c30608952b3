/** What `run`, `backfill` and `plan` are about to do, from what lies in the lake. Calls nothing, changes nothing. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { DayRange } from '../core/days.ts';
import type { Pipeline } from '../core/pipeline.ts';
import { type PlanInput, planBackfill, planNight } from '../core/plan.ts';
import { Engine } from '../engine/duckdb.ts';
import { sliceStates } from './checked.ts';
import { type RunContext, settingsOf } from './context.ts';
import { readFirstDay } from './first-day.ts';
import { isFollowing, planFollowing } from './following-plan.ts';
import { planInbox } from './inbox.ts';
import { planList } from './lists.ts';
import { planLookups } from './lookup-plan.ts';
import type { PipelinePlan, WindowPlan } from './pipeline-plan.ts';
import { planReductions } from './reductions-plan.ts';

export async function planInput(context: RunContext, pipeline: Pipeline): Promise<PlanInput> {
  const slices = sliceStates(await context.lake.slices(pipeline.name), context.timeZone);
  const firstDay = await readFirstDay(context, pipeline);
  return { settings: settingsOf(context, pipeline), version: pipeline.version, today: context.today, firstDay, slices };
}

export async function windowsOfNight(context: RunContext, pipeline: Pipeline): Promise<WindowPlan> {
  return { kind: 'windows', pipeline, windows: planNight(await planInput(context, pipeline)) };
}

export async function windowsToBackfill(
  context: RunContext,
  pipeline: Pipeline,
  range: DayRange,
  refetch: boolean,
): Promise<WindowPlan> {
  return { kind: 'windows', pipeline, windows: planBackfill(await planInput(context, pipeline), range, refetch) };
}

/** The plans of a night, for whoever only wants to know. */
export async function nightPlans(context: RunContext, pipelines: readonly Pipeline[]): Promise<PipelinePlan[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'partner-etl-plan-'));
  const engine = await Engine.open({ tempDir: path.join(folder, 'spill') });
  try {
    const plans: PipelinePlan[] = [];
    for (const pipeline of pipelines) plans.push(await planOf(context, engine, pipeline, folder));
    return plans;
  } finally {
    engine.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function planOf(context: RunContext, engine: Engine, pipeline: Pipeline, folder: string): Promise<PipelinePlan> {
  if (isFollowing(pipeline)) return planFollowing(context, engine, pipeline);
  if (pipeline.source.kind === 'lookup') return planLookups(context, engine, pipeline, folder);
  if (pipeline.source.kind === 'inbox') return planInbox(context, pipeline);
  if (pipeline.source.kind === 'list') return planList(context, pipeline);
  if (pipeline.source.kind === 'file') return planReductions(context, engine, pipeline);
  return windowsOfNight(context, pipeline);
}
