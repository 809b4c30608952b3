/** The last runs, with their calls by endpoint against the budgets. */
import type { FetchRecord, RunRecord } from '../../../core/records.ts';
import { AREAS } from '../../../core/source.ts';
import { endpointOf } from '../../../partner/calls/endpoints.ts';
import type { EndpointBudget, PartnerSettings } from '../../../partner/settings.ts';
import { isAtWork } from '../../../run/at-work.ts';
import type { RunContext } from '../../../run/context.ts';
import { isCalled, partnerIfAny } from '../../../run/partners.ts';
import { fetchesOfRun } from '../../../store/tables/fetches.ts';
import { lastRuns } from '../../../store/tables/runs.ts';
import type { EndpointCalls, RunRow } from '../model.ts';

const RUNS_SHOWN = 30;

/** Of the last runs, newest first. What a run that has ended called is read once. */
export class RunRows {
  private calls = new Map<string, readonly EndpointCalls[]>();

  async read(context: RunContext): Promise<RunRow[]> {
    const records = await lastRuns(context.state.db, RUNS_SHOWN);
    const atWork = (await isAtWork(context, records[0])) ? records[0]?.run_id : null;
    const known = new Map<string, readonly EndpointCalls[]>();
    const rows: RunRow[] = [];
    for (const record of records) {
      const calls = this.calls.get(record.run_id) ?? (await callsOf(context, record));
      if (record.ended_at !== null) known.set(record.run_id, calls);
      rows.push({ ...record, duration_ms: durationOf(record), is_at_work: record.run_id === atWork, calls });
    }
    this.calls = known;
    return rows;
  }
}

function durationOf({ started_at: from, ended_at: to }: RunRecord): number | null {
  return to === null ? null : Math.max(0, Date.parse(to) - Date.parse(from));
}

interface Tally {
  readonly budget: EndpointBudget | null;
  readonly startedMs: number[];
  failed: number;
}

async function callsOf(context: RunContext, run: RunRecord): Promise<EndpointCalls[]> {
  const byEndpoint = new Map<string, Tally>();
  const called = new Map(context.pipelines.filter(isCalled).map((pipeline) => [pipeline.name, pipeline.source.area]));
  // Without credentials there are no budgets.
  const settings = new Map(AREAS.map((area) => [area, partnerIfAny(context, area)]));
  for (const fetch of await fetchesOfRun(context.state.db, run.run_id)) {
    const area = called.get(fetch.pipeline);
    if (area) count(byEndpoint, fetch, settings.get(area) ?? null, context.pipelines);
  }
  return [...byEndpoint].map(([endpoint, { budget, startedMs, failed }]) => ({
    endpoint,
    calls: startedMs.length,
    failed,
    busiest: budget && mostWithin(startedMs, budget.perSeconds * 1000),
    budget_calls: budget?.calls ?? null,
    budget_seconds: budget?.perSeconds ?? null,
  }));
}

function count(
  byEndpoint: Map<string, Tally>,
  fetch: FetchRecord,
  settings: PartnerSettings | null,
  pipelines: RunContext['pipelines'],
): void {
  const known = settings && endpointOf(fetch.url, settings, pipelines);
  const endpoint = known?.endpoint ?? fetch.pipeline;
  const tally = byEndpoint.get(endpoint) ?? { budget: known?.budget ?? null, startedMs: [], failed: 0 };
  byEndpoint.set(endpoint, tally);
  tally.startedMs.push(Date.parse(fetch.started_at));
  if (fetch.outcome === 'failed') tally.failed += 1;
}

/** The most of these instants that lie within any `windowMs`. */
export function mostWithin(instantsMs: readonly number[], windowMs: number): number {
  const sorted = instantsMs.toSorted((a, b) => a - b);
  let [most, first] = [0, 0];
  for (const [i, ms] of sorted.entries()) {
    while (ms - sorted[first]! >= windowMs) first += 1;
    most = Math.max(most, i - first + 1);
  }
  return most;
}
