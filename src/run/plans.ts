/** What `run`, `backfill` and `plan` are about to do, from what lies in the lake. Calls nothing, writes nothing. */
import type { DayRange } from '../core/days.ts';
import type { Pipeline } from '../core/pipeline.ts';
import { type PlanInput, planBackfill, planNight } from '../core/plan.ts';
import { CheckedDays, sliceStates } from './checked.ts';
import { type RunContext, settingsOf } from './context.ts';
import type { PipelinePlan } from './fetching.ts';
import { readFirstDay } from './first-day.ts';

export async function planInput(context: RunContext, pipeline: Pipeline): Promise<PlanInput> {
  const checked = await CheckedDays.read(context.paths.state, pipeline.name);
  const slices = sliceStates(await context.lake.slices(pipeline.name), checked, context.timeZone);
  const firstDay = await readFirstDay(context, pipeline);
  return { settings: settingsOf(context, pipeline), version: pipeline.version, today: context.today, firstDay, slices };
}

export async function nightPlans(context: RunContext, pipelines: readonly Pipeline[]): Promise<PipelinePlan[]> {
  const plans: PipelinePlan[] = [];
  for (const pipeline of pipelines) plans.push({ pipeline, windows: planNight(await planInput(context, pipeline)) });
  return plans;
}

export async function backfillPlans(
  context: RunContext,
  pipelines: readonly Pipeline[],
  range: DayRange,
  refetch: boolean,
): Promise<PipelinePlan[]> {
  const plans: PipelinePlan[] = [];
  for (const pipeline of pipelines)
    plans.push({ pipeline, windows: planBackfill(await planInput(context, pipeline), range, refetch) });
  return plans;
}
