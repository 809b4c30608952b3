/** Whether the name of the reductions file is to be asked for, and what is known of the last one. */
import { z } from 'zod';
import type { ReductionsSettings } from '../../../pipelines/reductions.ts';
import { isoTime } from '../../core/clock.ts';
import { type Pipeline, partsOf } from '../../core/pipeline.ts';
import { type Engine, readParquet } from '../../engine/duckdb.ts';
import { readMemo, writeMemo } from '../../store/tables/memo.ts';
import { type RunContext, settingsOf } from '../context.ts';
import { slicesIn, type VersionPlace } from '../merge/current.ts';
import type { Plan } from '../plan.ts';

const MEMO = 'reductions-name';
/** When it is lost, the name is asked once more. */
const shape = z.object({ askedAt: z.string(), name: z.string(), isLoaded: z.boolean() });

/** The name that the service gave last, when it did, and whether the file of that name is loaded. */
export type AskedName = z.infer<typeof shape>;

export interface LoadedFile {
  readonly fileName: string;
  readonly sha256: string;
  readonly fetchId: string;
}

/** Whether the name is asked for. */
export interface FilePlan extends Plan {
  /** When it was asked for last; null before the first time. */
  readonly askedAt: string | null;
  /** Name of the file that was loaded last. */
  readonly lastFile: string | null;
}

/** The name is asked for at most once in `recheckMinutes`, whoever runs how often: the service allows ten calls an hour. */
export async function planReductions(context: RunContext, engine: Engine, pipeline: Pipeline): Promise<FilePlan> {
  const asked = await readAskedName(context);
  const last = await lastFile(engine, { lake: context.lake, under: null }, context.pipelines, pipeline);
  const sinceMs = asked === null ? Number.POSITIVE_INFINITY : context.clock.now() - Date.parse(asked.askedAt);
  const isFresh = sinceMs >= 0 && sinceMs < settingsOf<ReductionsSettings>(context, pipeline).recheckMinutes * 60_000;
  const isDue = !isFresh || asked?.isLoaded !== true || last === null;
  const [asked_at, last_file] = [asked?.askedAt ?? null, last?.fileName ?? null];
  return {
    pipeline,
    calls: isDue ? 1 : 0,
    isDue,
    slices: 0,
    details: { file: { asks: isDue, asked_at, last_file } },
    askedAt: asked_at,
    lastFile: last_file,
  };
}

/** The newest file that was loaded. */
export async function lastFile(
  engine: Engine,
  place: VersionPlace,
  pipelines: readonly Pipeline[],
  reductions: Pipeline,
): Promise<LoadedFile | null> {
  const [files] = partsOf(pipelines, reductions);
  if (!files) return null;
  const slices = [...(await slicesIn(place, files)).values()].filter(({ entry }) => entry.file !== null);
  const newest = slices.at(-1);
  const file = newest?.lake.rowsFile(newest.entry);
  if (!file) return null;
  const [row] = await engine.rows(
    `SELECT file_name, sha256, fetch_id FROM ${readParquet([file])} ORDER BY observed_from DESC LIMIT 1`,
  );
  return row ? { fileName: String(row.file_name), sha256: String(row.sha256), fetchId: String(row.fetch_id) } : null;
}

export async function keepAskedName({ state, clock }: RunContext, name: string, isLoaded: boolean): Promise<void> {
  const askedAt = isoTime(clock.now());
  await writeMemo(state, MEMO, { askedAt, name, isLoaded }, askedAt);
}

/** The file of the name that was asked for last is loaded; the name is as old as it was. */
export async function keepLoaded({ state, clock }: RunContext, asked: AskedName): Promise<void> {
  await writeMemo(state, MEMO, { ...asked, isLoaded: true }, isoTime(clock.now()));
}

/** null before the first time. */
export function readAskedName({ state }: RunContext): Promise<AskedName | null> {
  return readMemo(state.db, MEMO, shape);
}
