/**
 * The history of order items in the lake: which versions a commit of their slices brings with it, and the first versions of slices
 * that were loaded before there was a history.
 */
import path from 'node:path';
import { isoTime } from '../../core/clock.ts';
import { type Day, dayAt } from '../../core/days.ts';
import { LIMITS } from '../../core/limits.ts';
import { childrenOf, type Pipeline } from '../../core/pipeline.ts';
import { type Engine, readParquet } from '../../engine/duckdb.ts';
import type { Lake, SliceChange } from '../../lake/lake.ts';
import type { ChangedSlice } from '../../normalise/changed-slices.ts';
import { findOutdated, OUTDATED, type RunEnds, type Sight, takeVersions } from '../../normalise/order-versions.ts';
import { type KnownVersions, type Seed, seedVersions } from '../../normalise/version-slices.ts';
import { runsBegun } from '../../store/runs.ts';
import type { RunContext } from '../context.ts';
import { meets, type WholeSlice, withoutKeys } from './moved.ts';

/** A slice as it comes into the lake. */
export interface ObservedSlice {
  readonly day: Day;
  readonly digest: string;
  /** Absolute path of its rows, null for none. */
  readonly file: string | null;
}

/** The slices whose rows the changes replace. */
export function observedSlices(changes: readonly SliceChange[]): ObservedSlice[] {
  return changes.flatMap((c) =>
    c.kind === 'replace' || c.kind === 'amend'
      ? [{ day: c.content.day, digest: c.content.digest, file: c.files.file }]
      : [],
  );
}

export interface Telling {
  readonly slices: readonly ObservedSlice[];
  /** When the answer came, ISO 8601 UTC. */
  readonly at: string;
  readonly fetchId: string;
  readonly outDir: string;
}

/** The pipeline of the versions of a report's rows; null where it has none. */
export function historyOf({ pipelines }: Pick<RunContext, 'pipelines'>, pipeline: Pipeline): Pipeline | null {
  if (pipeline.versions !== null || pipeline.key === null) return null;
  return childrenOf(pipelines, pipeline).find(({ versions }) => versions?.within === null) ?? null;
}

/** What slices change in the history: changes for the commit that changes the slices. */
export async function versionChanges(
  context: RunContext,
  engine: Engine,
  items: Pipeline,
  telling: Telling,
): Promise<SliceChange[]> {
  const versions = historyOf(context, items);
  if (!versions || telling.slices.length === 0) return [];
  const slices = [...telling.slices].sort((a, b) => (a.day < b.day ? -1 : 1));
  const known = await knownVersions(context.lake, versions);
  const changed = await takeVersions(engine, { items, versions }, known, {
    days: slices.map(({ day }) => day),
    files: slices.flatMap(({ file }) => file ?? []),
    before: await filesBefore(context.lake, items, slices),
    ...sightAt(context, items, telling.at),
    fetchId: telling.fetchId,
    outDir: telling.outDir,
  });
  return changed.map(replacing);
}

/**
 * What is left of a held slice where newer answers say other things of some of its items: these were seen on another day since,
 * or gone from it, and an older answer does not take that back. Null where it can be released whole. The service is asked again.
 */
export async function heldWithoutOutdated(
  context: RunContext,
  engine: Engine,
  items: Pipeline,
  held: WholeSlice,
  outDir: string,
): Promise<Extract<SliceChange, { kind: 'amend' }> | null> {
  const versions = historyOf(context, items);
  if (!versions || held.file === null) return null;
  const { day, digest, fetched_at: at } = held.content;
  const before = await filesBefore(context.lake, items, [{ day, digest, file: held.file }]);
  const observed = { days: [day], files: [held.file], before, at };
  try {
    const known = await knownVersions(context.lake, versions);
    if ((await findOutdated(engine, { items, versions }, known, observed)) === 0) return null;
    return await withoutKeys(engine, items, held, OUTDATED, outDir);
  } finally {
    await engine.run(`DROP TABLE IF EXISTS ${OUTDATED}`);
  }
}

/** When an answer came: the instant, its day, and the ends of runs around it. */
export function sightAt(context: RunContext, items: Pipeline, at: string): Sight {
  return {
    at,
    on: dayAt(Date.parse(at), context.timeZone),
    runEnds: () => runEndsAround(context, items, at),
  };
}

/** The longest day of any zone. */
const DAY_MS = 25 * 3_600_000;

/** Ends of runs of these items on the day before an instant and the day after it; of older ones some. */
async function runEndsAround({ state }: RunContext, { name }: Pipeline, at: string): Promise<RunEnds> {
  const atMs = Date.parse(at);
  const runs = await runsBegun(state.db, isoTime(atMs - LIMITS.runMs), isoTime(atMs + DAY_MS));
  const ends = runs.flatMap(({ pipelines, ended_at: end }) => (end !== null && pipelines.includes(name) ? end : []));
  ends.sort((a, b) => Date.parse(a) - Date.parse(b));
  const isBefore = (end: string) => Date.parse(end) <= atMs;
  return { before: ends.findLast(isBefore) ?? null, after: ends.find((end) => !isBefore(end)) ?? null };
}

/** A slice that is as it was may be there because its file is damaged: the new one is as good. */
async function filesBefore(lake: Lake, items: Pipeline, observed: readonly ObservedSlice[]): Promise<string[]> {
  const slices = await lake.slices(items.name);
  return observed.flatMap(({ day, digest, file }) => {
    const entry = slices.get(day);
    if (!entry) return [];
    return (entry.content.digest === digest ? file : lake.rowsFile(entry)) ?? [];
  });
}

/** What the lake holds of the versions; `except`: days that cannot be read. */
export async function knownVersions(
  lake: Lake,
  versions: Pipeline,
  except: ReadonlySet<Day> = new Set(),
): Promise<KnownVersions> {
  const all = await lake.slices(versions.name);
  const slices = new Map([...all].filter(([day]) => !except.has(day)));
  const fileOf = (day: Day) => {
    const entry = slices.get(day);
    return (entry && lake.rowsFile(entry)) ?? [];
  };
  return {
    files: (days) => days.flatMap(fileOf),
    elsewhere: (days, range) => {
      const near = new Set(days);
      return [...slices].flatMap(([day, { content }]) => (!near.has(day) && meets(content, range) ? fileOf(day) : []));
    },
    digest: (day) => slices.get(day)?.content.digest ?? null,
  };
}

function replacing({ pipeline, content, file, rejectsFile }: ChangedSlice): SliceChange {
  return { kind: 'replace', pipeline: pipeline.name, content, files: { file, rejectsFile } };
}

/** Slices whose first versions are written in one commit. */
const SEEDED_AT_ONCE = 31;

/**
 * Writes the first versions of every slice that has rows and no history, each as known from its own fetch on. Once there is one
 * for all, it costs a look at two tables. Slices whose file cannot be read are left; they begin when they are fixed.
 */
export async function seedHistory(context: RunContext, engine: Engine, items: Pipeline, outDir: string): Promise<void> {
  const versions = historyOf(context, items);
  if (!versions) return;
  const { lake } = context;
  const have = await lake.slices(versions.name);
  const lacking = [...(await lake.slices(items.name))].filter(
    ([day, { content }]) => content.rows > 0 && !have.has(day),
  );
  for (let i = 0; i < lacking.length; i += SEEDED_AT_ONCE) {
    const seeds = new Map<Day, Seed>();
    for (const [day, entry] of lacking.slice(i, i + SEEDED_AT_ONCE)) {
      const file = lake.rowsFile(entry);
      const at = entry.content.fetched_at;
      if (file && (await isReadable(engine, file)))
        seeds.set(day, { file, at, on: dayAt(Date.parse(at), context.timeZone) });
    }
    if (seeds.size === 0) continue;
    const known = await knownVersions(lake, versions);
    const seeded = await seedVersions(engine, { items, versions }, known, seeds, path.join(outDir, `seed-${i}`));
    await lake.commit(seeded.map(replacing));
  }
}

async function isReadable(engine: Engine, file: string): Promise<boolean> {
  return engine.rows(`SELECT count(*) FROM ${readParquet([file])}`).then(
    () => true,
    () => false,
  );
}
