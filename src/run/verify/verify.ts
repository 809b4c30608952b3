/**
 * Proof that the hops agree: each stored answer is what was received, each slice of the lake is what the state says, each
 * target holds what the lake holds, to the last digit. Finds differences and changes nothing.
 */
import { type Day, type DayRange, dayAt } from '../../core/days.ts';
import { asEtlError } from '../../core/errors.ts';
import { historyOf, isNamed, type Pipeline, parentName } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import type { SliceEntry } from '../../core/slices.ts';
import { differingSums } from '../../engine/control-sums.ts';
import { Engine, quoteName, readParquet } from '../../engine/duckdb.ts';
import { readReleased } from '../../store/tables/check-holds.ts';
import { placeOf } from '../../store/tables/fetches.ts';
import { brokenText, fixOn } from '../../warehouse/checks/checks.ts';
import {
  isReceiptOf,
  type Reading,
  type Receipt,
  type Receipts,
  receiptsOf,
  type SliceSums,
  type Target,
} from '../../warehouse/target.ts';
import type { TargetName } from '../../warehouse/target-name.ts';
import type { RunContext } from '../context.ts';
import { checksFor } from '../publish/check-holds.ts';
import { answersBehind, lostBeside } from './answers-behind.ts';
import { differingRejects, differingSlices, type LakeRejects, lakeRejects } from './deep.ts';
import { joinFixes, type RangeFix } from './fixes.ts';
import { verifyOpenLake } from './open-lake.ts';
import { fixOver, sliceProblem } from './slice-problem.ts';

export interface Difference {
  readonly hop: 'raw' | 'lake' | 'delta' | TargetName;
  readonly pipeline: string;
  readonly day: string | null;
  readonly problem: string;
  readonly fix: string;
}

/** What was compared with the lake in a target. */
export interface ComparedTarget {
  readonly target: TargetName;
  readonly slices: number;
  readonly rows: number;
  /** Checks that were run; 0 where its tables are those of an older program, its views are not as they were made, or it cannot be read. */
  readonly checks: number;
}

export interface Verification {
  readonly verdict: 'no_difference' | 'differences';
  /** Whether the rows of targets were compared one by one, and not only their counts and sums. */
  readonly deep: boolean;
  readonly answers: number;
  /** That slices were made of and that retention has deleted since; they are no difference. */
  readonly pruned: number;
  readonly slices: number;
  readonly rows: number;
  readonly targets: readonly ComparedTarget[];
  readonly differences: readonly Difference[];
  /** What breaks checks that only warn, and what was released in spite of one that blocks. */
  readonly warnings: readonly Difference[];
}

export async function verify(context: RunContext, isDeep = false): Promise<Verification> {
  const found: Found = { differences: [], warnings: [] };
  const damaged = new Set<SliceEntry>();
  const rejects = new Map<string, LakeRejects>();
  const totals = { answers: 0, pruned: 0, slices: 0, rows: 0 };
  const engine = await Engine.open({ tempDir: context.paths.work, ...context.engine });
  try {
    for (const pipeline of context.pipelines) {
      context.progress.note(`${pipeline.name}: raw`);
      const { answers, pruned } = await verifyRawStore(context, engine, pipeline, found);
      totals.answers += answers;
      totals.pruned += pruned;
      context.progress.note(`${pipeline.name}: lake`);
      for (const entry of (await context.lake.slices(pipeline.name)).values()) {
        const problem = await sliceProblem(engine, context.lake, pipeline, entry);
        totals.slices += 1;
        totals.rows += entry.content.rows;
        if (!problem) continue;
        found.differences.push(lakeDifference(pipeline, entry, problem));
        damaged.add(entry);
      }
      if (isDeep) rejects.set(pipeline.name, await lakeRejects(context, engine, pipeline, damaged));
    }
  } finally {
    engine.close();
  }
  const { differences: open, unread } = await verifyOpenLake(context);
  found.differences.push(...open.map((one) => ({ hop: 'delta' as const, ...one })));
  if (unread !== null)
    found.warnings.push({
      hop: 'delta',
      pipeline: 'all',
      day: null,
      problem: `its logs and files were looked at, but not read back: ${unread}`,
      fix: 'set engine.extensions: see docs/scaling.md',
    });
  const targets: ComparedTarget[] = [];
  for (const target of context.targets)
    targets.push(await verifyTarget(context, target, isDeep ? rejects : null, found));
  const verdict = found.differences.length === 0 ? 'no_difference' : 'differences';
  const differences = joinFixes(found.differences);
  return { verdict, deep: isDeep, ...totals, targets, differences, warnings: joinFixes(found.warnings) };
}

/** The records of fetches are rows of it. */
const STATE_FILE = 'state.db';

/** What is compared one by one, by pipeline. */
type Deep = ReadonlyMap<string, LakeRejects>;

/** What was found so far. */
interface Found {
  readonly differences: FoundDifference[];
  readonly warnings: FoundDifference[];
}

/** Whose fix may become one command together with those of neighbouring days. */
interface FoundDifference extends Omit<Difference, 'fix'> {
  readonly fix: string | RangeFix;
}

/** Reads every answer that a slice stands on. Those of a part are the answers of its whole. */
async function verifyRawStore(
  context: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  { differences, warnings }: Found,
): Promise<Pick<Verification, 'answers' | 'pruned'>> {
  let [answers, pruned] = [0, 0];
  if (!isNamed(pipeline)) return { answers, pruned };
  const needed = await answersNeeded(context, engine, pipeline);
  const found = (day: string | null, problem: string, fix: string | RangeFix) =>
    differences.push({ hop: 'raw', pipeline: pipeline.name, day, problem, fix });
  const underHolds = await standingUnderHolds(context, pipeline);
  const fix = (fetchId: string, from: Day | null, to: Day | null, file?: string) =>
    underHolds.has(fetchId) ? restore(pipeline, file) : refetch(pipeline, from, to, file);
  for await (const state of answersBehind(context.raw, needed.keys())) {
    if (state.kind === 'missing') {
      const { from, to } = needed.get(state.fetchId)!;
      found(from, `the record of fetch ${state.fetchId} is missing`, fix(state.fetchId, from, to, STATE_FILE));
    } else if (state.kind === 'pruned') pruned += 1;
    else answers += 1;
    if (state.kind !== 'damaged') continue;
    const { fetch_id: id, window_from: from, window_to: to } = state.fetch;
    found(from, state.problem, fix(id, from, to, fileOf(state.fetch)));
  }
  if (!pipeline.source.isByRange)
    for (const { fetch, problem } of await lostBeside(context, pipeline, needed))
      warnings.push({ hop: 'raw', pipeline: pipeline.name, ...fixOfLost(context, pipeline, fetch), problem });
  return { answers, pruned };
}

/** Fetch → the days whose slices stand on it, from the first to the last. */
async function answersNeeded(context: RunContext, engine: Engine, pipeline: Pipeline): Promise<Map<string, DayRange>> {
  const needed = new Map<string, DayRange>();
  const slices = [...(await context.lake.slices(pipeline.name)).values()];
  if (!pipeline.merge) {
    // In the order of their days.
    for (const { content } of slices)
      needed.set(content.fetch_id, { from: needed.get(content.fetch_id)?.from ?? content.day, to: content.day });
    return needed;
  }
  const history = historyOf(context.pipelines, pipeline);
  const past = history ? [...(await context.lake.slices(history.name)).values()] : [];
  const files = [...slices, ...past].flatMap((entry) => context.lake.rowsFile(entry) ?? []);
  if (files.length === 0) return needed;
  const day = quoteName(pipeline.day);
  // No row names the answer that lacked it.
  for (const { content } of past)
    if (content.rows > 0) needed.set(content.fetch_id, { from: content.day, to: content.day });
  const rows = await engine
    .rows(
      `SELECT fetch_id, min(${day})::VARCHAR AS "from", max(${day})::VARCHAR AS "to" FROM ${readParquet(files)} GROUP BY fetch_id`,
    )
    .catch(() => []); // a file that cannot be read is reported with the lake
  for (const { fetch_id: id, from, to } of rows) needed.set(String(id), { from: from as Day, to: to as Day });
  return needed;
}

/** Fetches on which only slices stand whose newer answer is held: asked for again, that one is held again, and they stand there still. */
async function standingUnderHolds({ lake }: RunContext, pipeline: Pipeline): Promise<ReadonlySet<string>> {
  const slices = [...(await lake.slices(pipeline.name)).values()];
  const held = new Set(slices.flatMap((entry) => (entry.held === null ? [] : [entry.content.fetch_id])));
  for (const entry of slices) if (entry.held === null) held.delete(entry.content.fetch_id);
  return held;
}

function lakeDifference(pipeline: Pipeline, entry: SliceEntry, problem: string): FoundDifference {
  return { hop: 'lake', pipeline: pipeline.name, day: entry.content.day, problem, fix: fixOver(pipeline, entry) };
}

/** Compares a target with the lake, reads it whole, and runs every check. `deep`: what is compared one by one with the lake, by pipeline. */
async function verifyTarget(
  context: RunContext,
  target: Target,
  deep: Deep | null,
  found: Found,
): Promise<ComparedTarget> {
  const { name } = target;
  const compared = { target: name, slices: 0, rows: 0, checks: 0 };
  const fix = `partner-etl rebuild --target ${name}`;
  const all = (problem: string, how: string): FoundDifference => ({
    hop: name,
    pipeline: 'all',
    day: null,
    problem,
    fix: how,
  });
  try {
    await target.reading(async (warehouse) => {
      if (!(await warehouse.exists())) {
        found.differences.push(all('the warehouse does not exist yet', fix));
        return;
      }
      const receipts = await warehouse.receipts();
      const lacking = await warehouse.lacking();
      const unread: string[] = [];
      for (const pipeline of context.pipelines) {
        context.progress.note(`${pipeline.name}: ${name}`);
        const open = { name, warehouse, receipts, lacking, fix, deep, unread };
        found.differences.push(...(await verifyRows(context, pipeline, open, compared)));
      }
      context.progress.note(`checks: ${name}`);
      const damage = await damageOf(warehouse);
      if (damage !== null) found.differences.push(all(damage, fix));
      // What cannot be read would be taken for a mistake in a check.
      if (unread.length > 0) return;
      const altered = lacking.length > 0 ? [] : await warehouse.altered();
      found.differences.push(...altered.map((problem) => all(problem, 'partner-etl run')));
      // A warehouse that an older program wrote last: checks may need tables that are still to be made.
      if (lacking.length > 0) found.warnings.push(all(oldTables(lacking), 'partner-etl run'));
      else if (altered.length === 0)
        compared.checks = await verifyChecks(context, target, { warehouse, receipts }, found);
    });
  } catch (thrown) {
    const error = asEtlError(thrown);
    if (error.kind === 'usage') throw error;
    const isDamaged = error.code === 'damaged_warehouse' || error.code === 'engine_open';
    found.differences.push(all(error.message, isDamaged ? fix : (error.hint ?? 'partner-etl doctor')));
  }
  return compared;
}

function oldTables(lacking: readonly string[]): string {
  return `its tables are those of an older partner-etl (still to come: ${lacking.join(', ')}), so no check was run`;
}

/** Blocks with what no sum is made of are only read here. */
async function damageOf(warehouse: Reading): Promise<string | null> {
  try {
    await warehouse.proveWhole();
    return null;
  } catch (thrown) {
    return asEtlError(thrown).message;
  }
}

interface OpenTarget {
  readonly name: TargetName;
  readonly warehouse: Reading;
  readonly receipts: Receipts;
  /** What its tables and views lack. */
  readonly lacking: readonly string[];
  readonly fix: string;
  readonly deep: Deep | null;
  /** Pipelines whose tables could not be read. */
  readonly unread: string[];
}

/** Compares the target's rows with the lake: summed by day, and one by one where that is asked for and the sums agree. */
async function verifyRows(
  context: RunContext,
  pipeline: Pipeline,
  open: OpenTarget,
  compared: { slices: number; rows: number },
): Promise<FoundDifference[]> {
  const { name, warehouse, receipts, lacking, fix, deep } = open;
  const found = (day: string | null, problem: string, how: string | RangeFix = fix): FoundDifference => ({
    hop: name,
    pipeline: pipeline.name,
    day,
    problem,
    fix: how,
  });
  try {
    const slices = await context.lake.slices(pipeline.name);
    // Tables of a pipeline that came later are made by the next run, and there is nothing to hold in them yet.
    if (slices.size === 0 && lacking.length > 0) return [];
    const [sums, known] = [await warehouse.sums(pipeline), receiptsOf(receipts, pipeline.name)];
    const differences: FoundDifference[] = [];
    const alike: SliceEntry[] = [];
    const ours = deep?.get(pipeline.name);
    for (const [day, entry] of slices) {
      const there = sums.get(day) ?? { rows: 0, sums: {} };
      compared.slices += 1;
      compared.rows += there.rows;
      const problem = sumsProblem(entry, there, known.get(day));
      if (problem !== null) differences.push(found(day, problem));
      else if (ours?.entries.has(entry)) alike.push(entry);
    }
    for (const { day, problem } of await differingSlices(context, pipeline, open, alike))
      differences.push(found(day, problem));
    if (ours)
      for (const { day, problem } of differingRejects(ours, slices, await warehouse.rejectSums(pipeline)))
        differences.push(found(day, problem));
    for (const day of sums.keys())
      if (!slices.has(day))
        differences.push(
          found(day, 'it has rows that the lake does not know', unknownDay(context, pipeline, day, fix)),
        );
    return differences;
  } catch (thrown) {
    open.unread.push(pipeline.name);
    // The lines behind the first are the engine's view of our SQL.
    return [found(null, asEtlError(thrown).message.split('\n')[0] ?? '')];
  }
}

function sumsProblem({ content }: SliceEntry, there: SliceSums, receipt: Receipt | undefined): string | null {
  if (there.rows !== content.rows) return `${there.rows} rows, the lake has ${content.rows}`;
  const columns = content.rows === 0 ? [] : differingSums(there.sums, content.sums);
  if (columns.length > 0) return `the sums of ${columns.join(', ')} differ from the lake`;
  return isReceiptOf(receipt, content) ? null : 'its receipt names other content than the lake has';
}

/** Rows without a slice: the lake was restored from an older backup, or somebody put them there. `drop` is the command that takes them out. */
function unknownDay({ pipelines }: RunContext, pipeline: Pipeline, day: Day, drop: string): RangeFix {
  const asked = parentName(pipeline);
  const isReport = pipelines.some((p) => p.name === asked && p.source.isByRange);
  const back = (from: Day, to: Day) =>
    isReport ? `partner-etl backfill ${asked} --from ${from} --to ${to}` : 'a newer backup of lake/ and raw/';
  return { from: day, to: day, over: (from, to) => `${back(from, to)} brings them into the lake; ${drop} drops them` };
}

/** Runs every check over all days; returns how many. Errors: `usage/check` for a file that is none. */
async function verifyChecks(
  context: RunContext,
  target: Target,
  { warehouse, receipts }: Pick<OpenTarget, 'warehouse' | 'receipts'>,
  { differences, warnings }: Found,
): Promise<number> {
  const [checks, released] = [await checksFor(context, target), await readReleased(context.state.db)];
  for (const found of await warehouse.broken(checks)) {
    const { pipeline, day, severity, fix } = found;
    const digest = day === null ? undefined : receiptsOf(receipts, pipeline).get(day)?.digest;
    const isWarning = severity === 'warn' || (digest !== undefined && released.has(digest));
    const list = isWarning ? warnings : differences;
    list.push({ hop: target.name, pipeline, day, problem: brokenText(found), fix: fixOn(fix, day) });
  }
  return checks.length;
}

/** From the day of the answer on. */
function fixOfLost({ timeZone }: RunContext, { name }: Pipeline, fetch: FetchRecord): Pick<Difference, 'day' | 'fix'> {
  const day = dayAt(Date.parse(fetch.finished_at), timeZone);
  const restored = fromBackup(fileOf(fetch) ?? STATE_FILE);
  return { day, fix: `${restored}, then partner-etl replay ${name} --from ${day} --to ${day}` };
}

/** What holds the answer, relative to the home directory. */
function fileOf({ raw_path: place }: FetchRecord): string | undefined {
  return place === null ? undefined : placeOf(place).object;
}

/** `file`: what is damaged, relative to the home directory. */
function refetch(pipeline: Pipeline, from: Day | null, to: Day | null, file?: string): string | RangeFix {
  if (!pipeline.source.isByRange || from === null || to === null) return restore(pipeline, file);
  const over = (first: Day, last: Day) =>
    `partner-etl backfill ${pipeline.name} --from ${first} --to ${last} --refetch`;
  return { from, to, over };
}

/** Somewhere in the pipeline's part of the raw store where the file is not known. */
function restore({ name }: Pipeline, file = `raw/${name}`): string {
  return `${fromBackup(file)}; the rows themselves are in the lake`;
}

/** `file`: relative to the home directory. */
function fromBackup(file: string): string {
  return `restore ${file} from a backup`;
}
