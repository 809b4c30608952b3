/** Everything that is known of one slice: fetches, versions in each target, rejects, hold. */
import { addDays, type Day, dayAt, inRange } from '../../core/days.ts';
import { asEtlError } from '../../core/errors.ts';
import { bornMs } from '../../core/ids.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { DriftRecord, FetchRecord, RejectRecord, SliceContent } from '../../core/records.ts';
import type { HeldSlice } from '../../core/slices.ts';
import { Engine, quoteText, readParquet } from '../../engine/duckdb.ts';
import type { HoldRecord, QueryResult } from '../../warehouse/target.ts';
import { pipelineNamed, type RunContext } from '../context.ts';
import { allCheckHolds } from '../publish/kept-holds.ts';
import { askTarget } from './ask-target.ts';

export interface TargetVersions {
  readonly target: string;
  /** Receipts of the slice, oldest first; null when the target could not be asked. */
  readonly receipts: QueryResult | null;
  readonly error: string | null;
}

export interface Explanation {
  readonly pipeline: string;
  readonly day: Day;
  readonly content: SliceContent | null;
  readonly moved: boolean;
  readonly held: HeldSlice | null;
  /** What a check keeps out of a target, though the lake has applied it. */
  readonly held_by_check: HoldRecord | null;
  /** Requests whose window covered the day, or that were made on it; the newest of them, oldest first. */
  readonly fetches: readonly FetchRecord[];
  /** How many there are of them. */
  readonly fetch_count: number;
  readonly rejects: readonly RejectRecord[];
  /** What the answer that brought the slice showed that the contract does not know, and the checks that it broke; all its days. */
  readonly drift: readonly DriftRecord[];
  readonly targets: readonly TargetVersions[];
}

const REJECTS_SHOWN = 100;
/** A night of look-ups has thousands. */
const FETCHES_SHOWN = 200;

export async function explain(context: RunContext, name: string, day: Day): Promise<Explanation> {
  const pipeline = pipelineNamed(context, name);
  const entry = (await context.lake.slices(name)).get(day);
  const fetches: FetchRecord[] = [];
  let count = 0;
  for await (const fetch of fetchesSince(context, pipeline, day)) {
    if (!concerns(fetch, day, context.timeZone)) continue;
    count += 1;
    fetches.push(fetch);
    if (fetches.length > FETCHES_SHOWN) fetches.shift();
  }
  const file = entry ? context.lake.rejectsFile(entry) : null;
  const checkHolds = await allCheckHolds(context);
  return {
    pipeline: name,
    day,
    content: entry?.content ?? null,
    moved: entry?.moved ?? false,
    held: entry?.held ?? null,
    held_by_check: checkHolds.find((h) => h.pipeline === name && h.slice_day === day) ?? null,
    fetches,
    fetch_count: count,
    rejects: file ? await rejectsIn(context, [file], REJECTS_SHOWN) : [],
    drift: entry ? await driftOf(context, name, entry.content.fetch_id) : [],
    targets: await versions(context, name, day),
  };
}

/** No run is longer than this. */
const LONGEST_RUN_DAYS = 31;

/** Nobody asks for a day before it has come. What has no window concerns the day on which it was asked, and no later one. */
async function* fetchesSince({ raw }: RunContext, { name, source }: Pipeline, day: Day): AsyncGenerator<FetchRecord> {
  const untilMs = source.isByRange ? Number.POSITIVE_INFINITY : Date.parse(addDays(day, LONGEST_RUN_DAYS));
  for await (const fetch of raw.fetches(name, addDays(day, -LONGEST_RUN_DAYS))) {
    if (bornMs(fetch.fetch_id) > untilMs) return;
    yield fetch;
  }
}

function concerns(fetch: FetchRecord, day: Day, timeZone: string): boolean {
  const { window_from: from, window_to: to } = fetch;
  return from && to ? inRange(day, { from, to }) : dayAt(Date.parse(fetch.finished_at), timeZone) === day;
}

async function versions(context: RunContext, name: string, day: Day): Promise<TargetVersions[]> {
  const select = `SELECT digest, rows, rejects, duplicates, settled, sums, fetch_id, loaded_at, superseded_at FROM etl.receipt
    WHERE pipeline = ${quoteText(name)} AND slice_day = ${quoteText(day)} ORDER BY loaded_at`;
  const found: TargetVersions[] = [];
  for (const target of context.targets) {
    try {
      const receipts = (await target.exists()) ? await target.query(select, 1000) : null;
      found.push({ target: target.name, receipts, error: null });
    } catch (thrown) {
      found.push({ target: target.name, receipts: null, error: asEtlError(thrown).message });
    }
  }
  return found;
}

/** Nothing where no target can be asked: that stands among them. */
async function driftOf(context: RunContext, pipeline: string, fetchId: string): Promise<DriftRecord[]> {
  const select = `SELECT kind, field, count, example FROM etl.drift_by_fetch
    WHERE pipeline = ${quoteText(pipeline)} AND fetch_id = ${quoteText(fetchId)} ORDER BY kind, field`;
  const { result } = await askTarget(context, select, 1000);
  return (result?.rows ?? []).map(([kind, field, count, example]) => ({
    pipeline,
    fetch_id: fetchId,
    kind: String(kind),
    field: String(field),
    count: Number(count),
    example: String(example),
  }));
}

/** Rejects of the lake, newest days first; of one pipeline or all. */
export async function listRejects(
  context: RunContext,
  name: string | undefined,
  limit: number,
): Promise<RejectRecord[]> {
  const pipelines = name === undefined ? context.pipelines : [pipelineNamed(context, name)];
  const files: string[] = [];
  for (const pipeline of pipelines)
    for (const entry of (await context.lake.slices(pipeline.name)).values()) {
      const file = context.lake.rejectsFile(entry);
      if (file) files.push(file);
    }
  return files.length === 0 ? [] : rejectsIn(context, files, limit);
}

async function rejectsIn(context: RunContext, files: readonly string[], limit: number): Promise<RejectRecord[]> {
  const engine = await Engine.open({ tempDir: context.paths.work, ...context.engine });
  try {
    const rows = await engine.rows(
      `SELECT pipeline, slice_day::VARCHAR AS slice_day, fetch_id, item, reason, detail, raw FROM ${readParquet(files)}
       ORDER BY slice_day DESC, pipeline, item LIMIT ${limit}`,
    );
    return rows.map((row) => ({ ...row, item: Number(row.item) }) as unknown as RejectRecord);
  } finally {
    engine.close();
  }
}
