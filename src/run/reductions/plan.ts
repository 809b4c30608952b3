/** Whether the name of the reductions file is to be asked for, and what is known of the last one. */
import { z } from 'zod';
import type { ReductionsSettings } from '../../../pipelines/reductions.ts';
import { isoTime } from '../../core/clock.ts';
import { childrenOf, type Pipeline } from '../../core/pipeline.ts';
import { type Engine, readParquet } from '../../engine/duckdb.ts';
import { readMemo, writeMemo } from '../../store/memo.ts';
import { type RunContext, settingsOf } from '../context.ts';
import { slicesIn, type VersionPlace } from '../merge/held.ts';
import type { Plan } from '../plan.ts';

const MEMO = 'reductions-name';
/** When it is lost, the name is asked once more. */
const shape = z.object({ askedAt: z.string(), name: z.string(), isLoaded: z.boolean() });

/** The name that was told, and whether what it stands for is loaded. */
export interface ToldName {
  readonly name: string;
  readonly isLoaded: boolean;
}

export interface LoadedFile {
  readonly fileName: string;
  readonly sha256: string;
  readonly fetchId: string;
}

/** Whether the name is asked for. */
export interface FilePlan extends Plan {
  /** Whether the name was asked for just now, so that there is no use in asking again. */
  readonly isFresh: boolean;
  /** The name that was given last, and when; null before the first time. */
  readonly lastName: string | null;
  readonly askedAt: string | null;
  /** Whether the file of that name was not applied yet, as far as is known. */
  readonly isUnfinished: boolean;
  /** Name of the file that was loaded last, and the fetch that brought it. */
  readonly lastFile: string | null;
  readonly lastFetchId: string | null;
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
    isFresh,
    lastName: asked?.name ?? null,
    askedAt: asked_at,
    isUnfinished: asked?.isLoaded === false,
    lastFile: last_file,
    lastFetchId: last?.fetchId ?? null,
  };
}

/** The newest file that was loaded. */
export async function lastFile(
  engine: Engine,
  place: VersionPlace,
  pipelines: readonly Pipeline[],
  reductions: Pipeline,
): Promise<LoadedFile | null> {
  const [files] = childrenOf(pipelines, reductions);
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

export async function keepAskedName({ state, clock }: RunContext, told: ToldName): Promise<void> {
  const askedAt = isoTime(clock.now());
  await writeMemo(state, MEMO, { askedAt, ...told }, askedAt);
}

/** When the name of the newest file was asked for last; null before the first time. */
export async function nameAskedAt(context: RunContext): Promise<string | null> {
  return (await readAskedName(context))?.askedAt ?? null;
}

function readAskedName({ state }: RunContext): Promise<z.infer<typeof shape> | null> {
  return readMemo(state.db, MEMO, shape);
}
