/** What plans will cost: calls, bytes and minutes under the budgets, judged by what came before. */
import { daysOf } from '../core/days.ts';
import type { Pipeline } from '../core/pipeline.ts';
import type { EndpointBudget } from '../partner/settings.ts';
import type { RunContext } from './context.ts';
import { partnerIfAny } from './partners.ts';
import type { Plan, PlanDetails } from './plan.ts';
import { missingIn } from './publish/publish.ts';
import { sourceOf } from './sources/index.ts';

export interface PipelineEstimate extends PlanDetails {
  readonly pipeline: string;
  /** The least; refused batches and failures come on top. */
  readonly calls: number;
}

export interface PlanEstimate {
  readonly today: string;
  readonly pipelines: readonly PipelineEstimate[];
  readonly calls: number;
  readonly slices: number;
  /** Decoded bytes to expect of reports; null while a pipeline concerned has no history. */
  readonly bytes: number | null;
  /** The least that the budgets allow; the service's own time comes on top. */
  readonly minutes: number;
  /** Slices that a target lacks and the lake has. */
  readonly fromLake: readonly { readonly target: string; readonly slices: number }[];
}

export async function estimatePlans(context: RunContext, plans: readonly Plan[]): Promise<PlanEstimate> {
  let bytes: number | null = 0;
  for (const { pipeline, slices } of plans.filter((plan) => plan.slices > 0)) {
    const perDay = await bytesPerDay(context, pipeline);
    bytes = bytes === null || perDay === null ? null : bytes + perDay * slices;
  }
  const fromLake = [];
  for (const target of context.targets) {
    fromLake.push({ target: target.name, slices: (await missingIn(context, target)).length });
  }
  return {
    today: context.today,
    pipelines: plans.map(({ pipeline, calls, details }) => ({ pipeline: pipeline.name, calls, ...details })),
    calls: plans.reduce((sum, { calls }) => sum + calls, 0),
    slices: plans.reduce((sum, { slices }) => sum + slices, 0),
    bytes: bytes === null ? null : Math.round(bytes),
    minutes: secondsOf(context, plans) / 60,
    fromLake,
  };
}

/** How long the calls of the plans take at the least, by their budgets. */
export function secondsOf(context: RunContext, plans: readonly Plan[]): number {
  return plans.reduce((seconds, { pipeline, calls }) => {
    const budget = calls === 0 ? null : budgetOf(context, pipeline);
    return budget ? seconds + (calls * budget.perSeconds) / budget.calls : seconds;
  }, 0);
}

/** The budget of the pipeline's calls; null where it makes none, or no service is configured. */
function budgetOf(context: RunContext, pipeline: Pipeline): EndpointBudget | null {
  const { area } = pipeline.source;
  const settings = area && partnerIfAny(context, area);
  return settings && sourceOf(pipeline).budget(settings, pipeline);
}

/** Decoded bytes a day, over the answers of the newest months; null without any. */
async function bytesPerDay(context: RunContext, pipeline: Pipeline): Promise<number | null> {
  const newest = [...(await context.lake.slices(pipeline.name)).values()].at(-1)?.content.fetched_at.slice(0, 7);
  if (newest === undefined) return null;
  let [bytes, days] = [0, 0];
  for await (const fetch of context.raw.fetches(pipeline.name, newest)) {
    if (fetch.outcome !== 'ok' || !fetch.window_from || !fetch.window_to) continue;
    bytes += fetch.bytes_decoded;
    days += daysOf({ from: fetch.window_from, to: fetch.window_to }).length;
  }
  return days === 0 ? null : bytes / days;
}
