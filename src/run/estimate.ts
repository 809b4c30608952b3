/** What plans will cost: calls, bytes and minutes under the budgets, judged by what came before. */
import { daysOf } from '../core/days.ts';
import { type LookupName, type Pipeline, reportOf } from '../core/pipeline.ts';
import type { DueReason, PlannedWindow } from '../core/plan.ts';
import type { EndpointBudget, PartnerSettings } from '../partner/settings.ts';
import type { RunContext } from './context.ts';
import type { FollowingPlan } from './following-plan.ts';
import type { LookupPlan } from './lookup-plan.ts';
import { areaOf } from './partners.ts';
import type { FilePlan, PipelinePlan, WindowPlan } from './pipeline-plan.ts';
import { missingIn } from './publish.ts';

export interface WindowEstimate {
  readonly from: string;
  readonly to: string;
  readonly days: number;
  readonly reasons: Readonly<Partial<Record<DueReason, number>>>;
}

export interface LookupEstimate {
  readonly listed: number;
  readonly due: LookupPlan['due'];
  readonly left_out: number;
  /** Of the list, what is not fit to be asked. */
  readonly rejects: number;
  readonly notes: readonly string[];
}

export interface FileEstimate {
  /** Whether the name of the newest file is asked for; the file itself only when it is another one than the last. */
  readonly asks: boolean;
  readonly asked_at: string | null;
  readonly last_file: string | null;
}

export interface InboxEstimate {
  readonly messages: number;
  readonly bytes: number;
}

/** What is followed up after requests of ours and push messages. */
export interface FollowingEstimate {
  readonly due: FollowingPlan['due'];
  readonly left_out: number;
}

/** A list that is asked for whole every time. */
export interface ListEstimate {
  readonly asked_at: string | null;
}

export interface PipelineEstimate {
  readonly pipeline: string;
  /** The least; refused batches and failures come on top. */
  readonly calls: number;
  readonly windows?: readonly WindowEstimate[];
  readonly lookups?: LookupEstimate;
  readonly following?: FollowingEstimate;
  readonly file?: FileEstimate;
  readonly list?: ListEstimate;
  readonly inbox?: InboxEstimate;
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

export async function estimatePlans(context: RunContext, plans: readonly PipelinePlan[]): Promise<PlanEstimate> {
  let bytes: number | null = 0;
  const pipelines = plans.map(estimateOf);
  for (const [i, plan] of plans.entries()) {
    const calls = pipelines[i]!.calls;
    if (calls === 0) continue;
    if (plan.kind !== 'windows') continue;
    const perDay = await bytesPerDay(context, plan.pipeline);
    bytes = bytes === null || perDay === null ? null : bytes + perDay * slicesOf(plan);
  }
  const fromLake = [];
  for (const target of context.targets) {
    fromLake.push({ target: target.name, slices: (await missingIn(context, target)).length });
  }
  return {
    today: context.today,
    pipelines,
    calls: pipelines.reduce((sum, { calls }) => sum + calls, 0),
    slices: plans.reduce((sum, plan) => sum + (plan.kind === 'windows' ? slicesOf(plan) : 0), 0),
    bytes: bytes === null ? null : Math.round(bytes),
    minutes: secondsOf(context, plans) / 60,
    fromLake,
  };
}

/** How long the calls of the plans take at the least, by their budgets. */
export function secondsOf(context: RunContext, plans: readonly PipelinePlan[]): number {
  return plans.reduce((seconds, plan) => {
    const { calls } = estimateOf(plan);
    const budget = calls === 0 ? null : budgetOf(context, plan);
    return budget ? seconds + (calls * budget.perSeconds) / budget.calls : seconds;
  }, 0);
}

function estimateOf(plan: PipelinePlan): PipelineEstimate {
  const pipeline = plan.pipeline.name;
  if (plan.kind === 'windows')
    return { pipeline, calls: plan.windows.length, windows: plan.windows.map(windowEstimate) };
  if (plan.kind === 'inbox') return { pipeline, calls: 0, inbox: { messages: plan.messages, bytes: plan.bytes } };
  if (plan.kind === 'file') return { pipeline, calls: plan.isDue ? 1 : 0, file: fileEstimate(plan) };
  if (plan.kind === 'list') return { pipeline, calls: plan.calls, list: { asked_at: plan.askedAt } };
  if (plan.kind === 'following')
    return { pipeline, calls: plan.calls, following: { due: plan.due, left_out: plan.leftOut } };
  const { calls, listed, due, leftOut, rejects, notes } = plan;
  return { pipeline, calls, lookups: { listed, due, left_out: leftOut, rejects: rejects.length, notes } };
}

function fileEstimate({ isDue, askedAt, lastFile }: FilePlan): FileEstimate {
  return { asks: isDue, asked_at: askedAt, last_file: lastFile };
}

function slicesOf({ windows }: WindowPlan): number {
  return windows.reduce((sum, { slices }) => sum + slices.length, 0);
}

function windowEstimate({ from, to, slices }: PlannedWindow): WindowEstimate {
  const reasons: Partial<Record<DueReason, number>> = {};
  for (const { reason } of slices) reasons[reason] = (reasons[reason] ?? 0) + 1;
  return { from, to, days: slices.length, reasons };
}

/** The budget of the calls that a plan needs; null where no service is configured. */
function budgetOf(context: RunContext, { pipeline }: PipelinePlan): EndpointBudget | null {
  const area = areaOf(pipeline);
  if (area === null) return null;
  let settings: PartnerSettings;
  try {
    settings = context.partnerSettings(area);
  } catch {
    return null;
  }
  const { source } = pipeline;
  if (source.kind === 'report') return settings.reports[reportOf(pipeline)].budget;
  if (source.kind === 'list') return settings.retailer.subscriptions.budget;
  return source.kind === 'lookup' ? lookupBudget(settings, source.lookup) : null;
}

function lookupBudget({ catalog, retailer }: PartnerSettings, lookup: LookupName): EndpointBudget {
  const budgets: Readonly<Record<LookupName, EndpointBudget>> = {
    commission: retailer.commission.budget,
    product: catalog.product.budget,
    'process-status': retailer.processStatus.budget,
    'push-link': retailer.processStatus.budget,
  };
  return budgets[lookup];
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
