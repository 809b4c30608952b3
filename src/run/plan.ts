/** What is about to be done for a pipeline, and what that will cost. */
import type { Pipeline } from '../core/pipeline.ts';
import type { DueReason } from '../core/plan.ts';

export interface Plan {
  readonly pipeline: Pipeline;
  /** The least; refused batches and failures come on top. */
  readonly calls: number;
  /** Whether there is something to ask for, or to take in. */
  readonly isDue: boolean;
  /** Slices that are asked for whole. */
  readonly slices: number;
  /** What people are shown of it. */
  readonly details: PlanDetails;
}

export interface PlanDetails {
  readonly windows?: readonly WindowEstimate[];
  readonly lookups?: LookupEstimate;
  readonly following?: FollowingEstimate;
  readonly file?: FileEstimate;
  readonly list?: ListEstimate;
  readonly inbox?: InboxEstimate;
}

export interface WindowEstimate {
  readonly from: string;
  readonly to: string;
  readonly days: number;
  readonly reasons: Readonly<Partial<Record<DueReason, number>>>;
}

export interface LookupEstimate {
  readonly listed: number;
  readonly due: Readonly<Record<string, number>>;
  readonly left_out: number;
  /** Of the list, what is not fit to be asked. */
  readonly rejects: number;
  readonly notes: readonly string[];
}

/** What is followed up after requests of ours and push messages. */
export interface FollowingEstimate {
  readonly due: Readonly<Record<string, number>>;
  readonly left_out: number;
}

export interface FileEstimate {
  /** Whether the name of the newest file is asked for; the file itself only when it is another one than the last. */
  readonly asks: boolean;
  readonly asked_at: string | null;
  readonly last_file: string | null;
}

/** A list that is asked for whole every time. */
export interface ListEstimate {
  readonly asked_at: string | null;
}

export interface InboxEstimate {
  readonly messages: number;
  readonly bytes: number;
}
