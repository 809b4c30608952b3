/**
 * The records that stages hand to each other and to the bookkeeping, as plain JSON values.
 * Times are ISO 8601 UTC with milliseconds; exact sums are decimal text, never numbers.
 */
import type { Day } from './days.ts';

/** One invocation that moves data: a row of `run` in the state, of `etl.run` in a target. */
export interface RunRecord {
  readonly run_id: string;
  readonly command: string;
  readonly pipelines: readonly string[];
  readonly started_at: string;
  readonly ended_at: string | null;
  /** null while it runs, or when it was killed. */
  readonly result: RunResult | null;
  readonly exit_code: number | null;
  readonly summary: RunSummary | null;
}

export type RunResult = 'done' | 'failed' | 'set_aside' | 'refused' | 'interrupted';

export interface RunSummary {
  readonly windows: number;
  readonly calls: number;
  readonly rows: number;
  readonly slices_changed: number;
  readonly slices_unchanged: number;
  readonly slices_held: number;
  readonly rejects: number;
  readonly duplicates: number;
  /** Look-ups that were due and that the budgets of the night left out. */
  readonly left_out: number;
  readonly errors: readonly string[];
  /** Codes of the errors, each once; only where there are any. */
  readonly codes?: readonly string[];
  /** By endpoint, only of those that had to wait. */
  readonly waits?: Readonly<Record<string, BudgetWait>>;
  /** What was published into which target; only in the state, since a target has its record before that. */
  readonly published?: readonly PublishedRecord[];
}

/** Calls that had to wait for their turn, and for how long all of them together. */
export interface BudgetWait {
  readonly calls: number;
  readonly ms: number;
}

export interface PublishedRecord {
  readonly target: string;
  readonly slices: number;
  readonly rows: number;
  readonly ms: number;
}

/** One request and its answer. A request that failed is a fetch too: it has no `sha256` and no `raw_path`. */
export interface FetchRecord {
  /** Also the request id that stands in the logs and was sent as X-Request-Id. */
  readonly fetch_id: string;
  readonly run_id: string;
  readonly pipeline: string;
  /** Of a call to the service, as its budget is called. What came from the inbox has none. */
  readonly endpoint?: string;
  readonly window_from: Day | null;
  readonly window_to: Day | null;
  readonly method: string;
  readonly url: string;
  /** 1 for the first try of a call. */
  readonly attempt: number;
  readonly started_at: string;
  readonly finished_at: string;
  readonly status: number | null;
  readonly content_type: string | null;
  /** Bytes of the body as they came over the wire, and after undoing Content-Encoding. */
  readonly bytes_received: number;
  readonly bytes_decoded: number;
  /** Of the decoded body, lower-case hex. */
  readonly sha256: string | null;
  /** The object of the raw store that holds the body, where `#12` is behind it on its line 12 (from 0); one that ends in `.gz` is gzip. */
  readonly raw_path: string | null;
  /** Items that the splitter counted; null where the body was no report. */
  readonly items: number | null;
  readonly outcome: 'ok' | 'failed';
  readonly error_code: string | null;
  readonly error_message: string | null;
  /** What the answer said beside its body and a replay needs, such as the name of a file. */
  readonly notes?: Readonly<Record<string, string>>;
  /** When retention deleted the answer; the record stays. Absent while the answer is there. */
  readonly pruned_at?: string;
}

/** A fetch whose answer retention has deleted. */
export interface PrunedFetch {
  readonly fetch_id: string;
  readonly pruned_at: string;
}

/** Exact sums of the money, percentage and count columns of a slice: column → decimal text, null where no row has one. */
export type ControlSums = Readonly<Record<string, string | null>>;

/** What a slice holds, as content: two slices of one digest are the same. */
export interface SliceContent {
  readonly day: Day;
  /** Identity of content: pipeline, version, rows, rejects. Lower-case hex. */
  readonly digest: string;
  readonly rows: number;
  readonly rejects: number;
  readonly duplicates: number;
  readonly sums: ControlSums;
  readonly settled: boolean;
  readonly version: number;
  readonly fetch_id: string;
  /** When that fetch was finished. */
  readonly fetched_at: string;
  /** Smallest and largest key text (the first key column), null without rows or without a key. */
  readonly key_min: string | null;
  readonly key_max: string | null;
}

/** A reject: a row that could not be loaded, with its raw text and the reason. */
export interface RejectRecord {
  readonly pipeline: string;
  readonly slice_day: Day;
  readonly fetch_id: string;
  /** Position of the item in the answer, from 0. */
  readonly item: number;
  /** Stable code, e.g. `bad_number`, `outside_window`, `conflicting_key`. */
  readonly reason: string;
  /** What exactly: usually the field and its value. */
  readonly detail: string;
  /** Raw text as received; cut at LIMITS.rejectRawBytes, bytes that are no UTF-8 shown as U+FFFD. */
  readonly raw: string;
}

/** Something in the answer that the contract does not know. */
export interface DriftRecord {
  readonly pipeline: string;
  readonly fetch_id: string;
  /** `unknown_field`, `number_as_text`, `text_as_number`, `rounded`, `nul_removed`, `lone_surrogate`, `unknown_status`, … */
  readonly kind: string;
  readonly field: string;
  readonly count: number;
  readonly example: string;
  /** Of a check that warns, `check:<name>`: the days on which it found something, and what a person does, with D for the day. */
  readonly check?: { readonly days: readonly Day[]; readonly fix: string };
}
