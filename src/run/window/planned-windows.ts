/** The windows of a report that a night or a backfill asks for, from what lies in the lake. Calls nothing, changes nothing. */
import type { DayRange } from '../../core/days.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import {
  type DueReason,
  type PlanInput,
  type PlannedWindow,
  type PlanSettings,
  planBackfill,
  planNight,
} from '../../core/plan.ts';
import { type RunContext, settingsOf } from '../context.ts';
import type { Plan, WindowEstimate } from '../plan.ts';
import { sliceStates } from './checked.ts';
import { readFirstDay } from './first-day.ts';

/** Requests of a report. */
export interface WindowPlan extends Plan {
  readonly windows: readonly PlannedWindow[];
  /** Whether a night asks for them, or somebody who wants a past range. */
  readonly isOfNight: boolean;
}

export async function planInput(context: RunContext, pipeline: Pipeline): Promise<PlanInput> {
  const slices = sliceStates(await context.lake.slices(pipeline.name), context.timeZone);
  const firstDay = await readFirstDay(context, pipeline);
  return {
    settings: settingsOf<PlanSettings>(context, pipeline),
    version: pipeline.version,
    today: context.today,
    firstDay,
    slices,
  };
}

export async function windowsOfNight(context: RunContext, pipeline: Pipeline): Promise<WindowPlan> {
  return planOf(pipeline, planNight(await planInput(context, pipeline)), true);
}

export async function windowsToBackfill(
  context: RunContext,
  pipeline: Pipeline,
  range: DayRange,
  refetch: boolean,
): Promise<WindowPlan> {
  return planOf(pipeline, planBackfill(await planInput(context, pipeline), range, refetch), false);
}

function planOf(pipeline: Pipeline, windows: readonly PlannedWindow[], isOfNight: boolean): WindowPlan {
  return {
    pipeline,
    calls: windows.length,
    isDue: windows.length > 0,
    slices: windows.reduce((sum, { slices }) => sum + slices.length, 0),
    details: { windows: windows.map(windowEstimate) },
    windows,
    isOfNight,
  };
}

function windowEstimate({ from, to, slices }: PlannedWindow): WindowEstimate {
  const reasons: Partial<Record<DueReason, number>> = {};
  for (const { reason } of slices) reasons[reason] = (reasons[reason] ?? 0) + 1;
  return { from, to, days: slices.length, reasons };
}
