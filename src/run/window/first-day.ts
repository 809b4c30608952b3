/**
 * Where the lookback of a pipeline began when it was first run. Without it a window that failed in the first night would slip out of
 * the lookback and never be asked for again.
 */
import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { type Day, isDay } from '../../core/days.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { PlanSettings } from '../../core/plan.ts';
import { horizonOf } from '../../core/plan.ts';
import { readMemo, writeMemo } from '../../store/tables/memo.ts';
import { type RunContext, settingsOf } from '../context.ts';

const shape = z.string().refine(isDay);

/** Null before the first run. */
export async function readFirstDay({ state }: RunContext, pipeline: Pipeline): Promise<Day | null> {
  return (await readMemo(state.db, nameOf(pipeline), shape)) as Day | null;
}

/** Writes it down the first time that the pipeline is run. */
export async function keepFirstDay(context: RunContext, pipeline: Pipeline): Promise<void> {
  if ((await readFirstDay(context, pipeline)) !== null) return;
  const settings = { ...settingsOf<PlanSettings>(context, pipeline), startDay: null };
  const { from } = horizonOf({ settings, today: context.today, firstDay: null });
  await writeMemo(context.state, nameOf(pipeline), from, isoTime(context.clock.now()));
}

function nameOf({ name }: Pipeline): string {
  return `first-day ${name}`;
}
