/**
 * Where the lookback of a pipeline began when it was first run: `state/first-day/<pipeline>.json`. Without it a window that
 * failed in the first night would slip out of the lookback and never be asked for again.
 */
import path from 'node:path';
import { type Day, isDay } from '../core/days.ts';
import type { Pipeline } from '../core/pipeline.ts';
import { horizonOf } from '../core/plan.ts';
import { readIfThere, writeJson } from '../disk/atomic.ts';
import { type RunContext, settingsOf } from './context.ts';

/** Null before the first run, or where the file was lost. */
export async function readFirstDay(context: RunContext, pipeline: Pipeline): Promise<Day | null> {
  const text = await readIfThere(fileOf(context, pipeline));
  const day = text === null ? '' : text.replace(/["\s]/g, '');
  return isDay(day) ? day : null;
}

/** Writes it down the first time that the pipeline is run. */
export async function keepFirstDay(context: RunContext, pipeline: Pipeline): Promise<void> {
  if ((await readFirstDay(context, pipeline)) !== null) return;
  const settings = { ...settingsOf(context, pipeline), startDay: null };
  await writeJson(fileOf(context, pipeline), horizonOf({ settings, today: context.today, firstDay: null }).from);
}

function fileOf({ paths }: RunContext, pipeline: Pipeline): string {
  return path.join(paths.state, 'first-day', `${pipeline.name}.json`);
}
