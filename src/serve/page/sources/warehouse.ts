/** What the page asks a warehouse: reconciliation, drift and the days that it shows on. Each of the first target that can be asked. */
import { ACCOUNT } from '../../../core/account.ts';
import { isoTime } from '../../../core/clock.ts';
import { addDays, type Day } from '../../../core/days.ts';
import { quoteText } from '../../../engine/duckdb.ts';
import type { RunContext } from '../../../run/context.ts';
import { askTarget } from '../../../run/status/ask-target.ts';
import { driftOfRuns, lastRuns } from '../../../store/tables/runs.ts';
import type { QueryResult } from '../../../warehouse/target.ts';
import type { PageModel, ReconciliationRow } from '../model.ts';

const RECONCILED_DAYS = 60;
const DRIFT_DAYS = 30;
const DRIFT_SHOWN = 200;
/** Ten years of twelve pipelines are 43,830 days. */
const DRIFTED_DAYS = 100_000;
const RUNS_READ = 30;

export interface WarehouseParts {
  readonly reconciliation: PageModel['reconciliation'];
  readonly reconciliation_error: string | null;
  readonly drift: PageModel['drift'];
  /** By pipeline. */
  readonly driftedDays: ReadonlyMap<string, ReadonlySet<Day>>;
}

/** `seen`: what the last runs saw, for when no target can be asked. */
export async function warehouseParts(context: RunContext, seen: PageModel['drift']): Promise<WarehouseParts> {
  const reconciled = await askTarget(context, reconciliationSql(addDays(context.today, -RECONCILED_DAYS)), 5_000);
  const drift = await askTarget(context, driftSql(addDays(context.today, -DRIFT_DAYS)), DRIFT_SHOWN);
  return {
    reconciliation: reconciled.result?.rows.map(reconciliationRow) ?? null,
    reconciliation_error: reconciled.error,
    drift: drift.result?.rows.map(driftRow) ?? seen,
    driftedDays: await driftedDays(context),
  };
}

/** In any case of the two reports that are held against orders the one that is further away; see ReconciliationRow. */
function reconciliationSql(since: Day): string {
  const furthest = (a: string, b: string) => `sum(greatest(abs(coalesce(${a}, 0)), abs(coalesce(${b}, 0))))`;
  return `SELECT CAST(day AS VARCHAR), class, count(*),
      ${furthest('commission_promotions_orders', 'commission_commissions_orders')},
      ${furthest('excl_vat_promotions_orders', 'excl_vat_commissions_orders')}
    FROM mart.reconciliation WHERE account = ${quoteText(ACCOUNT)} AND day >= DATE ${quoteText(since)} GROUP BY day, class ORDER BY day DESC, class`;
}

function reconciliationRow([day, group, groups, commission, revenue]: QueryResult['rows'][number]): ReconciliationRow {
  return {
    day: String(day) as Day,
    class: String(group),
    groups: Number(groups),
    commission_difference: String(commission ?? '0'),
    revenue_difference: String(revenue ?? '0'),
  };
}

function driftSql(since: Day): string {
  return `SELECT pipeline, kind, field, count, example, CAST(floor(extract(epoch FROM first_seen_at) * 1000) AS BIGINT)
    FROM etl.drift WHERE account = ${quoteText(ACCOUNT)} AND last_seen_at >= DATE ${quoteText(since)} ORDER BY last_seen_at DESC, pipeline, kind, field`;
}

function driftRow([
  pipeline,
  kind,
  field,
  count,
  example,
  atMs,
]: QueryResult['rows'][number]): PageModel['drift'][number] {
  return {
    pipeline: String(pipeline),
    kind: String(kind),
    field: String(field),
    count: Number(count),
    example: String(example),
    first_seen_at: isoTime(Number(atMs)),
  };
}

const DRIFTED_SQL = `SELECT DISTINCT r.pipeline, CAST(r.slice_day AS VARCHAR)
  FROM etl.receipt r JOIN etl.drift_by_fetch d ON d.account = r.account AND d.pipeline = r.pipeline AND d.fetch_id = r.fetch_id
  WHERE r.account = ${quoteText(ACCOUNT)} AND r.superseded_at IS NULL`;

/** Days whose current content came with an answer that showed drift. */
async function driftedDays(context: RunContext): Promise<ReadonlyMap<string, ReadonlySet<Day>>> {
  const { result } = await askTarget(context, DRIFTED_SQL, DRIFTED_DAYS);
  const days = new Map<string, Set<Day>>();
  const add = (pipeline: string, day: Day) => days.set(pipeline, (days.get(pipeline) ?? new Set()).add(day));
  for (const [pipeline, day] of result?.rows ?? []) add(String(pipeline), String(day) as Day);
  if (result) return days;
  const { db } = context.state;
  const runs = await lastRuns(db, RUNS_READ);
  const drift = await driftOfRuns(
    db,
    runs.map(({ run_id }) => run_id),
  );
  for (const seen of drift.values()) {
    const fetches = new Set(seen.map((one) => `${one.pipeline} ${one.fetch_id}`));
    for (const pipeline of new Set(seen.map((one) => one.pipeline)))
      for (const [day, { content }] of await context.lake.slices(pipeline))
        if (fetches.has(`${pipeline} ${content.fetch_id}`)) add(pipeline, day);
  }
  return days;
}
