/** What is about to be done for a pipeline. */
import type { Pipeline } from '../core/pipeline.ts';
import type { PlannedWindow } from '../core/plan.ts';
import type { FollowingPlan } from './following-plan.ts';
import type { LookupPlan } from './lookup-plan.ts';

/** Requests of a report. */
export interface WindowPlan {
  readonly kind: 'windows';
  readonly pipeline: Pipeline;
  readonly windows: readonly PlannedWindow[];
}

/** The reductions file: whether its name is asked for. */
export interface FilePlan {
  readonly kind: 'file';
  readonly pipeline: Pipeline;
  readonly isDue: boolean;
  /** Whether the name was asked for just now, so that there is no use in asking again. */
  readonly isFresh: boolean;
  /** The name that was told last, and when; null before the first time. */
  readonly lastName: string | null;
  readonly askedAt: string | null;
  /** Whether the file of that name was not applied yet, as far as is known. */
  readonly isUnfinished: boolean;
  /** Name of the file that was loaded last, and the fetch that brought it. */
  readonly lastFile: string | null;
  readonly lastFetchId: string | null;
}

/** The inbox: what waits there is taken in without a call. */
export interface InboxPlan {
  readonly kind: 'inbox';
  readonly pipeline: Pipeline;
  readonly messages: number;
  readonly bytes: number;
}

/** A call that tells all there are. */
export interface ListPlan {
  readonly kind: 'list';
  readonly pipeline: Pipeline;
  readonly calls: number;
  /** When it was asked for last; null before the first time. */
  readonly askedAt: string | null;
}

export type PipelinePlan = WindowPlan | LookupPlan | FollowingPlan | FilePlan | ListPlan | InboxPlan;

/** Whether it needs calls. */
export function isDue(plan: PipelinePlan): boolean {
  if (plan.kind === 'windows') return plan.windows.length > 0;
  if (plan.kind === 'inbox') return false;
  return plan.kind === 'file' ? plan.isDue : plan.calls > 0;
}
