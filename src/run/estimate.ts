/** What a plan will cost: calls, bytes and minutes under the budgets, judged by what came before. */

import { daysOf } from '../core/days.ts';
import type { Pipeline } from '../core/pipeline.ts';
import type { DueReason } from '../core/plan.ts';
import type { EndpointBudget } from '../partner/settings.ts';
import type { RunContext } from './context.ts';
import type { PipelinePlan } from './fetching.ts';
import { missingIn } from './publish.ts';

export interface WindowEstimate {
  readonly from: string;
  readonly to: string;
  readonly days: number;
  readonly reasons: Readonly<Partial<Record<DueReason, number>>>;
}

export interface PlanEstimate {
  readonly today: string;
  readonly pipelines: readonly { readonly pipeline: string; readonly windows: readonly WindowEstimate[] }[];
  readonly calls: number;
  readonly slices: number;
  /** Decoded bytes to expect; null while a pipeline concerned has no history. */
  readonly bytes: number | null;
  /** The least that the budgets allow; the service's own time comes on top. */
  readonly minutes: number;
  /** Slices that a target lacks and the lake has. */
  readonly fromLake: readonly { readonly target: string; readonly slices: number }[];
}

/** `budgets` is absent where no service is configured. */
export async function estimatePlans(
  context: RunContext,
  config: {
    readonly partner: { readonly reports: Readonly<Record<string, { readonly budget: EndpointBudget }>> } | null;
  },
  plans: readonly PipelinePlan[],
): Promise<PlanEstimate> {
  let bytes: number | null = 0;
  let seconds = 0;
  for (const { pipeline, windows } of plans) {
    const days = windows.reduce((sum, w) => sum + w.slices.length, 0);
    if (days === 0) continue;
    const perDay = await bytesPerDay(context, pipeline);
    bytes = bytes === null || perDay === null ? null : bytes + perDay * days;
    const budget = config.partner?.reports[pipeline.report]?.budget;
    if (budget) seconds += (windows.length * budget.perSeconds) / budget.calls;
  }
  const fromLake = [];
  for (const target of context.targets) {
    const lists = await Promise.all(context.pipelines.map((p) => missingIn(context, target, p)));
    fromLake.push({ target: target.name, slices: lists.flat().length });
  }
  const all = plans.flatMap((p) => p.windows);
  return {
    today: context.today,
    pipelines: plans.map(({ pipeline, windows }) => ({
      pipeline: pipeline.name,
      windows: windows.map(windowEstimate),
    })),
    calls: all.length,
    slices: all.reduce((sum, w) => sum + w.slices.length, 0),
    bytes: bytes === null ? null : Math.round(bytes),
    minutes: seconds / 60,
    fromLake,
  };
}

function windowEstimate({ from, to, slices }: PipelinePlan['windows'][number]): WindowEstimate {
  const reasons: Partial<Record<DueReason, number>> = {};
  for (const { reason } of slices) reasons[reason] = (reasons[reason] ?? 0) + 1;
  return { from, to, days: slices.length, reasons };
}

/** Decoded bytes a day, over the answers of the newest months; null without any. */
async function bytesPerDay(context: RunContext, pipeline: Pipeline): Promise<number | null> {
  const newest = [...(await context.lake.slices(pipeline.name)).values()].at(-1)?.content.fetched_at.slice(0, 7);
  if (newest === undefined) return null;
  let [bytes, days] = [0, 0];
  for await (const fetch of context.vault.fetches(pipeline.name, newest)) {
    if (fetch.outcome !== 'ok' || !fetch.window_from || !fetch.window_to) continue;
    bytes += fetch.bytes_decoded;
    days += daysOf({ from: fetch.window_from, to: fetch.window_to }).length;
  }
  return days === 0 ? null : bytes / days;
}
