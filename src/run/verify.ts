/**
 * Proof that the hops agree: each stored answer is what was received, each slice of the lake is what its manifest says, each
 * target holds what the lake holds, to the last digit. Finds differences and changes nothing.
 */
import path from 'node:path';
import { dayAt } from '../core/days.ts';
import { asEtlError } from '../core/errors.ts';
import { bornMs } from '../core/ids.ts';
import { type Pipeline, type Versions, wholeName } from '../core/pipeline.ts';
import type { FetchRecord } from '../core/records.ts';
import { differingSums } from '../engine/control-sums.ts';
import { Engine, quoteList, quoteName } from '../engine/duckdb.ts';
import { packPlace } from '../extract/pack-entry.ts';
import type { SliceEntry } from '../lake/entries.ts';
import { brokenText } from '../warehouse/checks.ts';
import { type Receipts, receiptsOf, type Target } from '../warehouse/target.ts';
import { answersBehind, lostBeside } from './answers-behind.ts';
import { checksFor, releasedDigests } from './check-holds.ts';
import type { RunContext } from './context.ts';
import { mendOf, sliceProblem } from './slice-problem.ts';

export interface Difference {
  readonly hop: 'vault' | 'lake' | 'duckdb' | 'postgres';
  readonly pipeline: string;
  readonly day: string | null;
  readonly problem: string;
  readonly mend: string;
}

export interface Verification {
  readonly answers: number;
  /** That slices were made of and that retention has deleted since; they are no difference. */
  readonly pruned: number;
  readonly slices: number;
  readonly rows: number;
  readonly differences: readonly Difference[];
  /** What breaks checks that only warn, and what was released in spite of one that blocks. */
  readonly warnings: readonly Difference[];
}

export async function verify(context: RunContext): Promise<Verification> {
  const differences: Difference[] = [];
  const warnings: Difference[] = [];
  const totals = { answers: 0, pruned: 0, slices: 0, rows: 0 };
  const targets = context.targets.map(askedOnce);
  const engine = await Engine.open({ tempDir: context.paths.work });
  try {
    for (const pipeline of context.pipelines) {
      context.progress.note(`${pipeline.name}: vault`);
      const { answers, pruned } = await verifyVault(context, engine, pipeline, { differences, warnings });
      totals.answers += answers;
      totals.pruned += pruned;
      context.progress.note(`${pipeline.name}: lake`);
      for (const entry of (await context.lake.slices(pipeline.name)).values()) {
        const problem = await sliceProblem(engine, context.lake, pipeline, entry);
        totals.slices += 1;
        totals.rows += entry.content.rows;
        if (problem) differences.push(lakeDifference(pipeline, entry, problem));
      }
      for (const asked of targets) {
        context.progress.note(`${pipeline.name}: ${asked.target.name}`);
        differences.push(...(await verifyTarget(context, pipeline, asked)));
      }
    }
    for (const asked of targets) {
      context.progress.note(`checks: ${asked.target.name}`);
      differences.push(...(await damageOf(asked.target)));
      await verifyChecks(context, asked, differences, warnings);
    }
  } finally {
    engine.close();
  }
  return { ...totals, differences, warnings };
}

/** A target, and what is the same for all pipelines: asked when first needed, since every question opens the warehouse. */
interface AskedTarget {
  readonly target: Target;
  exists(): Promise<boolean>;
  receipts(): Promise<Receipts>;
  /** Migrations that it lacks. */
  lacking(): Promise<readonly string[]>;
}

function askedOnce(target: Target): AskedTarget {
  let exists: Promise<boolean> | undefined;
  let receipts: Promise<Receipts> | undefined;
  let lacking: Promise<readonly string[]> | undefined;
  return {
    target,
    exists: () => (exists ??= target.exists()),
    receipts: () => (receipts ??= target.receipts()),
    lacking: () => (lacking ??= target.lacking()),
  };
}

/** A warehouse that an older program wrote last: its rows are compared, and checks may need tables that are still to be made. */
function oldTables({ name }: Target, lacking: readonly string[]): Difference {
  const problem = `its tables are those of an older partner-etl (${lacking[0]} is still to be applied), so no check was run`;
  return { hop: name, pipeline: 'all', day: null, problem, mend: 'partner-etl run' };
}

/** Reads every answer that a slice stands on. Those of a part are the answers of its whole. */
async function verifyVault(
  context: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  { differences, warnings }: { readonly differences: Difference[]; readonly warnings: Difference[] },
): Promise<Pick<Verification, 'answers' | 'pruned'>> {
  let [answers, pruned] = [0, 0];
  if (pipeline.source.kind === 'part') return { answers, pruned };
  const needed = await answersNeeded(context, engine, pipeline);
  const found = (day: string | null, problem: string, mend: string) =>
    differences.push({ hop: 'vault', pipeline: pipeline.name, day, problem, mend });
  const underHolds = await standingUnderHolds(context, pipeline);
  const mend = (fetchId: string, from: string | null, to: string | null, file?: string) =>
    underHolds.has(fetchId) ? restore(pipeline, file) : refetch(pipeline, from, to, file);
  for await (const state of answersBehind(context.vault, pipeline, needed.keys())) {
    if (state.kind === 'missing') {
      const day = needed.get(state.fetchId)!;
      found(day, `the record of fetch ${state.fetchId} is missing`, mend(state.fetchId, day, day));
    } else if (state.kind === 'pruned') pruned += 1;
    else answers += 1;
    if (state.kind !== 'damaged') continue;
    const { fetch_id: id, window_from: from, window_to: to } = state.fetch;
    found(from, state.problem, mend(id, from, to, fileOf(state.fetch)));
  }
  if (pipeline.source.kind === 'lookup')
    for (const { file, problem } of await lostBeside(context, pipeline, needed))
      warnings.push({ hop: 'vault', pipeline: pipeline.name, ...mendOfPack(context, pipeline, file), problem });
  return { answers, pruned };
}

/** Fetch → a day whose slice stands on it. */
async function answersNeeded(context: RunContext, engine: Engine, pipeline: Pipeline): Promise<Map<string, string>> {
  const needed = new Map<string, string>();
  const slices = [...(await context.lake.slices(pipeline.name)).values()];
  if (!pipeline.versions) {
    for (const { content } of slices) needed.set(content.fetch_id, content.day);
    return needed;
  }
  const files = slices.flatMap((entry) => context.lake.rowsFile(pipeline.name, entry) ?? []);
  if (files.length === 0) return needed;
  const day = quoteName(pipeline.day);
  const rows = await engine
    .rows(`SELECT fetch_id, max(${day})::VARCHAR AS day FROM read_parquet(${quoteList(files)}) GROUP BY fetch_id`)
    .catch(() => []); // a file that cannot be read is told with the lake
  for (const row of rows) needed.set(String(row.fetch_id), String(row.day));
  return needed;
}

/** Fetches on which only slices stand whose newer answer is held: asked for again, that one is held again, and they stand there still. */
async function standingUnderHolds({ lake }: RunContext, pipeline: Pipeline): Promise<ReadonlySet<string>> {
  const slices = [...(await lake.slices(pipeline.name)).values()];
  const held = new Set(slices.flatMap((entry) => (entry.held === null ? [] : [entry.content.fetch_id])));
  for (const entry of slices) if (entry.held === null) held.delete(entry.content.fetch_id);
  return held;
}

function lakeDifference(pipeline: Pipeline, entry: SliceEntry, problem: string): Difference {
  return { hop: 'lake', pipeline: pipeline.name, day: entry.content.day, problem, mend: mendOf(pipeline, entry) };
}

/** Blocks with what no sum is made of are only read here. */
async function damageOf(target: Target): Promise<Difference[]> {
  try {
    await target.proveWhole();
    return [];
  } catch (thrown) {
    const mend = `partner-etl rebuild --target ${target.name}`;
    return [{ hop: target.name, pipeline: 'all', day: null, problem: asEtlError(thrown).message, mend }];
  }
}

/** Compares the target's rows, summed by day, with the lake. */
async function verifyTarget(context: RunContext, pipeline: Pipeline, asked: AskedTarget): Promise<Difference[]> {
  const { target } = asked;
  const mend = `partner-etl rebuild --target ${target.name}`;
  const found = (day: string | null, problem: string): Difference => ({
    hop: target.name,
    pipeline: pipeline.name,
    day,
    problem,
    mend,
  });
  try {
    if (!(await asked.exists())) return [found(null, 'the warehouse does not exist yet')];
    const slices = await context.lake.slices(pipeline.name);
    // Tables of a pipeline that came later are made by the next run, and there is nothing to hold in them yet.
    if (slices.size === 0 && (await asked.lacking()).length > 0) return [];
    const [sums, digests] = [await target.sums(pipeline), receiptsOf(await asked.receipts(), pipeline.name)];
    const differences: Difference[] = [];
    for (const [day, { content }] of slices) {
      const there = sums.get(day) ?? { rows: 0, sums: {} };
      const columns = content.rows === 0 ? [] : differingSums(there.sums, content.sums);
      if (there.rows !== content.rows) differences.push(found(day, `${there.rows} rows, the lake has ${content.rows}`));
      else if (columns.length > 0)
        differences.push(found(day, `the sums of ${columns.join(', ')} differ from the lake`));
      else if (digests.get(day) !== content.digest)
        differences.push(found(day, 'its receipt names other content than the lake has'));
    }
    for (const day of sums.keys())
      if (!slices.has(day))
        differences.push({
          ...found(day, 'it has rows that the lake does not know'),
          mend: unknownDay(context, pipeline, day, mend),
        });
    const wrong = pipeline.versions?.within === null ? await wrongEnds(target, pipeline, pipeline.versions) : 0;
    if (wrong > 0) differences.push(found(null, `${wrong} versions do not end where the next one begins`));
    return differences;
  } catch (thrown) {
    return [found(null, asEtlError(thrown).message)];
  }
}

/** Rows without a slice: the lake was restored from an older backup, or somebody put them there. `drop` is the command that takes them out. */
function unknownDay({ pipelines }: RunContext, pipeline: Pipeline, day: string, drop: string): string {
  const asked = wholeName(pipeline);
  const isReport = pipelines.some((p) => p.name === asked && p.source.kind === 'report');
  const back = isReport
    ? `partner-etl backfill ${asked} --from ${day} --to ${day}`
    : 'a newer backup of lake/ and vault/';
  return `${back} brings them into the lake; ${drop} drops them`;
}

/** Runs every check over all days. Errors: `usage/check` for a file that is none. */
async function verifyChecks(
  context: RunContext,
  { target, receipts: ask, lacking }: AskedTarget,
  differences: Difference[],
  warnings: Difference[],
): Promise<void> {
  const checks = await checksFor(context, target);
  try {
    const older = await lacking();
    if (older.length > 0) {
      warnings.push(oldTables(target, older));
      return;
    }
    const [broken, receipts, released] = [await target.broken(checks), await ask(), await releasedDigests(context)];
    for (const found of broken) {
      const { pipeline, day, severity, mend } = found;
      const digest = day === null ? undefined : receiptsOf(receipts, pipeline).get(day);
      const isWarning = severity === 'warn' || (digest !== undefined && released.has(digest));
      const list = isWarning ? warnings : differences;
      list.push({ hop: target.name, pipeline, day, problem: brokenText(found), mend });
    }
  } catch (thrown) {
    const error = asEtlError(thrown);
    if (error.kind === 'usage') throw error;
    const mend = error.hint ?? `partner-etl doctor`;
    differences.push({ hop: target.name, pipeline: 'all', day: null, problem: error.message, mend });
  }
}

/** How many versions end at another instant than the next one begins. */
async function wrongEnds(target: Target, { table }: Pipeline, { of }: Versions): Promise<number> {
  const things = of.map(quoteName).join(', ');
  const { rows } = await target.query(
    `SELECT count(*) FROM (
       SELECT observed_to, lead(observed_from) OVER (PARTITION BY ${things} ORDER BY observed_from) AS next FROM warehouse.${quoteName(table)}
     ) AS versions WHERE observed_to IS DISTINCT FROM next`,
    1,
  );
  return Number(rows[0]?.[0] ?? 0);
}

/** `file`: of a run, whose first day is the earliest that its answers can have told of. */
function mendOfPack(
  { paths, timeZone }: RunContext,
  { name }: Pipeline,
  file: string,
): Pick<Difference, 'day' | 'mend'> {
  const day = dayAt(bornMs(path.basename(file, path.extname(file))), timeZone);
  const restored = fromBackup(path.relative(paths.root, file));
  return { day, mend: `${restored}, then partner-etl replay ${name} --from ${day} --to ${day}` };
}

/** The file that holds the answer, relative to the home directory. */
function fileOf({ vault_path: place }: FetchRecord): string | undefined {
  return place === null ? undefined : (packPlace(place)?.pack ?? place);
}

/** `file`: what is damaged, relative to the home directory. */
function refetch(pipeline: Pipeline, from: string | null, to: string | null, file?: string): string {
  if (pipeline.source.kind !== 'report') return restore(pipeline, file);
  return `partner-etl backfill ${pipeline.name} --from ${from} --to ${to} --refetch`;
}

/** Somewhere in the pipeline's part of the vault where the file is not known. */
function restore({ name }: Pipeline, file = `vault/${name}`): string {
  return `${fromBackup(file)}; the rows themselves are in the lake`;
}

/** `file`: relative to the home directory. */
function fromBackup(file: string): string {
  return `restore ${file} from a backup`;
}
