/**
 * What the status page shows, as plain values: read by sources.ts, drawn by the views, and answered as JSON under /api. Amounts are exact
 * decimal text and stay so to the last: only a curve turns them into numbers, for its pixels.
 */
import type { Day } from '../../core/days.ts';
import type { RunRecord } from '../../core/records.ts';
import type { TargetStatus } from '../../run/status/status.ts';
import type { DayState, InboxStatus } from '../../run/status/status-days.ts';
import type { HoldRecord } from '../../warehouse/target.ts';
import type { Health } from '../health.ts';

/** `drifted`: loaded, but with something in the answer that the contract does not know. */
export type CellState = DayState | 'drifted';

/** One letter a day, so that ten years of days are some kilobytes: m f h o s q d, in the order of CELL_LETTERS. */
export const CELL_LETTERS: Readonly<Record<CellState, string>> = {
  missing: 'm',
  failed: 'f',
  held: 'h',
  open: 'o',
  settled: 's',
  quiet: 'q',
  drifted: 'd',
};

/** In the place of a letter: a day that nobody asks for, between those that a backfill brought and the first day of interest. In no count. */
export const NOBODYS_LETTER = '-';

export interface PipelineRow {
  readonly pipeline: string;
  readonly enabled: boolean;
  /** First day of `cells`. */
  readonly from: Day;
  /** A letter a day, from `from` on without a gap. */
  readonly cells: string;
  readonly counts: Readonly<Record<CellState, number>>;
  readonly newest: Day | null;
  readonly days_behind: number | null;
  readonly rows: number;
  readonly rejects: number;
}

export interface TokenState {
  /** Pair of credentials, by its name. Never the token. */
  readonly credentials: string;
  readonly valid_until: string | null;
  readonly requests_last_hour: number;
  /** The configured ceiling; what is left of it is the distance to a ban. */
  readonly most_per_hour: number;
  /** Until when nobody asks, after a refusal; null when the way is free. */
  readonly blocked_until: string | null;
}

export interface RunRow extends RunRecord {
  readonly duration_ms: number | null;
  /** It has no end yet; without this, one that has none was killed. */
  readonly is_at_work: boolean;
  readonly calls: readonly EndpointCalls[];
}

/** Calls of a run, and how far they went towards what the endpoint's budget allows. */
export interface EndpointCalls {
  readonly endpoint: string;
  readonly calls: number;
  readonly failed: number;
  /** Most calls that were begun within any `budget_seconds`; `budget_calls` were allowed. null: the budget is not known. */
  readonly busiest: number | null;
  readonly budget_calls: number | null;
  readonly budget_seconds: number | null;
}

/** Push messages of a day: deliveries that were taken in, and messages that were refused, as far as they are kept. */
export interface PushDay {
  readonly day: Day;
  readonly received: number;
  readonly refused: number;
}

/** Exact sums of a day, from the receipts of the commissions report. */
export interface MoneyDay {
  readonly day: Day;
  readonly revenue: string;
  readonly commission: string;
  readonly commission_approved: string;
  readonly commission_open: string;
}

/**
 * What the three reports say differently on a day, of the first target that can be asked. A group's difference is how far the report that
 * is further from the orders is away from them, whichever way: amounts of different groups do not cancel out.
 */
export interface ReconciliationRow {
  readonly day: Day;
  /** As in mart.reconciliation; `equal` too. */
  readonly class: string;
  readonly groups: number;
  readonly commission_difference: string;
  readonly revenue_difference: string;
}

export interface Reject {
  readonly pipeline: string;
  readonly slice_day: Day;
  readonly reason: string;
  readonly detail: string;
  readonly count: number;
}

export interface PageModel {
  readonly made_at: string;
  readonly today: Day;
  readonly health: Health;
  readonly pipelines: readonly PipelineRow[];
  readonly targets: readonly TargetStatus[];
  readonly tokens: readonly TokenState[];
  readonly runs: readonly RunRow[];
  readonly pushes: readonly PushDay[];
  /** What was pushed and waits to be taken in. */
  readonly inbox: InboxStatus | null;
  readonly holds: readonly HoldRecord[];
  readonly rejects: readonly Reject[];
  readonly drift: readonly {
    readonly pipeline: string;
    readonly kind: string;
    readonly field: string;
    readonly count: number;
    readonly example: string;
    readonly first_seen_at: string;
  }[];
  readonly money: readonly MoneyDay[];
  /** null: no target could be asked; why stands in `reconciliation_error`. */
  readonly reconciliation: readonly ReconciliationRow[] | null;
  readonly reconciliation_error: string | null;
}
