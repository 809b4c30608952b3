/** Whether the raw store still holds the answers that slices stand on. */
import type { Day } from '../../core/days.ts';
import { asEtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import type { SliceEntry } from '../../core/slices.ts';
import { type Engine, readParquet } from '../../engine/duckdb.ts';
import type { RawStore } from '../../store/raw/raw.ts';
import { knownFetches } from '../../store/tables/fetches.ts';
import type { RunContext } from '../context.ts';

export type AnswerState =
  | { readonly kind: 'sound' | 'pruned'; readonly fetch: FetchRecord }
  | { readonly kind: 'damaged'; readonly fetch: FetchRecord; readonly problem: string }
  /** Not even the record of the fetch is there. */
  | { readonly kind: 'missing'; readonly fetchId: string };

/** Reads every one of the answers, each once, oldest first; those without a record come last. */
export async function* answersBehind(raw: RawStore, fetchIds: Iterable<string>): AsyncGenerator<AnswerState> {
  const missing = new Set(fetchIds);
  for await (const fetch of raw.fetchesWith([...missing])) {
    missing.delete(fetch.fetch_id);
    if (fetch.pruned_at !== undefined) yield { kind: 'pruned', fetch };
    else {
      const problem = await problemOf(raw, fetch);
      yield problem === null ? { kind: 'sound', fetch } : { kind: 'damaged', fetch, problem };
    }
  }
  for (const fetchId of missing) yield { kind: 'missing', fetchId };
}

/** Why the answer cannot be read, or null. */
export async function problemOf(raw: RawStore, fetch: FetchRecord): Promise<string | null> {
  try {
    for await (const _ of raw.answer(fetch, true));
    return null;
  } catch (thrown) {
    return asEtlError(thrown).message;
  }
}

/** What the raw store cannot give any more, and nobody can be asked for again. */
export interface LostAnswer {
  readonly fetch: FetchRecord;
  readonly problem: string;
}

/** Of answers that no slice stands on: what they say may have been nothing new, or is nowhere yet. */
export async function lostBeside(
  { raw }: Pick<RunContext, 'raw'>,
  pipeline: Pipeline,
  needed: ReadonlyMap<string, unknown>,
): Promise<LostAnswer[]> {
  const lost: LostAnswer[] = [];
  for await (const fetch of raw.fetches(pipeline.name)) {
    if (needed.has(fetch.fetch_id) || fetch.pruned_at !== undefined || fetch.raw_path === null) continue;
    const problem = await problemOf(raw, fetch);
    if (problem !== null) lost.push({ fetch, problem });
  }
  return lost;
}

/** Those of the days whose slices stand on a fetch that has no record: the state is that of an older backup. */
export async function daysWithoutRecord(
  { lake, state }: Pick<RunContext, 'lake' | 'state'>,
  pipeline: Pipeline,
  days: readonly Day[],
): Promise<ReadonlySet<Day>> {
  const behind = await fetchesBehind(lake, pipeline, days);
  const known = await knownFetches(state.db, behind.values());
  return new Set([...behind].flatMap(([day, fetchId]) => (known.has(fetchId) ? [] : [day])));
}

/** Those of the days whose slices stand on an answer that is damaged or lost, and that nobody pruned. */
export async function daysWithoutAnswer(
  { raw, lake }: Pick<RunContext, 'raw' | 'lake'>,
  pipeline: Pipeline,
  days: readonly Day[],
): Promise<ReadonlySet<Day>> {
  const behind = await fetchesBehind(lake, pipeline, days);
  const lost = new Set<string>();
  for await (const state of answersBehind(raw, behind.values())) {
    if (state.kind === 'damaged') lost.add(state.fetch.fetch_id);
    if (state.kind === 'missing') lost.add(state.fetchId);
  }
  return new Set([...behind].flatMap(([day, fetchId]) => (lost.has(fetchId) ? [day] : [])));
}

/** The fetch that the slice of each day stands on, for days that have one. */
async function fetchesBehind(
  lake: RunContext['lake'],
  { name }: Pipeline,
  days: readonly Day[],
): Promise<ReadonlyMap<Day, string>> {
  const slices = await lake.slices(name);
  return new Map(
    days.flatMap((day) => {
      const entry = slices.get(day);
      return entry ? [[day, entry.content.fetch_id] as const] : [];
    }),
  );
}

/** Every fetch that a row or a reject of the lake names, of these slices; of rows only those for which `where` is true, SQL. Errors: of a file that cannot be read. */
export async function fetchesNamed(
  { lake }: RunContext,
  engine: Engine,
  slices: readonly SliceEntry[],
  where = 'true',
): Promise<string[]> {
  const rows = slices.flatMap((entry) => lake.rowsFile(entry) ?? []);
  const rejects = slices.flatMap((entry) => lake.rejectsFile(entry) ?? []);
  return [...(await distinct(engine, rows, where)), ...(await distinct(engine, rejects, 'true'))];
}

async function distinct(engine: Engine, files: readonly string[], where: string): Promise<string[]> {
  if (files.length === 0) return [];
  const rows = await engine.rows(`SELECT DISTINCT fetch_id AS id FROM ${readParquet(files)} WHERE ${where}`);
  return rows.map(({ id }) => String(id));
}
