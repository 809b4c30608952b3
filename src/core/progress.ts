/** How long work tells where it stands; targets that are published into do so like pipelines. Whoever shows it decides how; the work itself never waits for it. */
export interface Progress {
  /** A pipeline begins, with this many windows (or calls, or files) before it. Without a budget it makes no calls. */
  begin(pipeline: string, windows: number, unit?: ProgressUnit, budget?: ProgressBudget): void;
  /** What it is at now, where that is not said by its windows. */
  step(pipeline: string, what: string): void;
  /** A window of it is done. */
  window(pipeline: string, done: WindowDone): void;
  /** No more of its windows will be done. */
  end(pipeline: string): void;
  /** Calls begin to wait for their turn. */
  wait(wait: CallWait): void;
  /** Something worth knowing now, as one line. */
  note(text: string): void;
}

/** Calls of an endpoint that wait, from now on. */
export interface CallWait {
  readonly endpoint: string;
  readonly ms: number;
  readonly why: WaitReason;
}

export type WaitReason =
  /** The service asked for a pause. */
  | 'retry-after'
  /** The service says that no call is left. */
  | 'rate-limit'
  /** Another process was given one of the two. */
  | 'another'
  /** Our own budget is used up. */
  | 'budget';

export type ProgressUnit = 'window' | 'call' | 'file' | 'message' | 'answer' | 'row';

/** What bounds the calls of a pipeline. */
export type ProgressBudget =
  /** So many calls in one night, each one a unit of progress. */
  | { readonly kind: 'night'; readonly calls: number }
  /** So many calls in any `perSeconds`; `left`: for how many there is room now, null where nobody knows yet. */
  | { readonly kind: 'rate'; readonly calls: number; readonly perSeconds: number; readonly left: () => number | null };

export interface WindowDone {
  /** First and last day, yyyy-mm-dd. */
  readonly from: string;
  readonly to: string;
  readonly rows: number;
  /** Slices whose content changed. */
  readonly changed: number;
  /** How many windows (or calls, or files) these are; 1 when absent. Where rows are the unit, they are counted by `rows`. */
  readonly units?: number;
}

/** For work that nobody watches. */
export const NO_PROGRESS: Progress = {
  begin: () => undefined,
  step: () => undefined,
  window: () => undefined,
  end: () => undefined,
  wait: () => undefined,
  note: () => undefined,
};
