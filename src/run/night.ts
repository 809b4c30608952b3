/** The commands that fetch: the nightly run and the backfill. */
import type { DayRange } from '../core/days.ts';
import type { Pipeline } from '../core/pipeline.ts';
import { pipelineNamed, type RunContext, settingsOf } from './context.ts';
import { fetchPlans, type PipelinePlan } from './fetching.ts';
import { keepFirstDay } from './first-day.ts';
import { backfillPlans, nightPlans } from './plans.ts';
import { type RunOutcome, runSession, type Session } from './session.ts';

/** The pipelines of those names, or every enabled one when none is named. Errors: `usage/no_pipeline`. */
export function chosenPipelines(context: RunContext, names: readonly string[]): Pipeline[] {
  if (names.length > 0) return [...new Set(names)].map((name) => pipelineNamed(context, name));
  return context.pipelines.filter((p) => settingsOf(context, p).enabled);
}

/** Fetches what is due, loads it, publishes it. */
export function runNight(context: RunContext, names: readonly string[]): Promise<RunOutcome> {
  const pipelines = chosenPipelines(context, names);
  return runPlans(context, ['run', ...names].join(' '), pipelines, async (session) => {
    if (session) for (const pipeline of pipelines) await keepFirstDay(context, pipeline);
    return nightPlans(context, pipelines);
  });
}

/** Loads a past range: days never loaded, or all of them with `refetch`. */
export function runBackfill(
  context: RunContext,
  names: readonly string[],
  range: DayRange,
  refetch: boolean,
): Promise<RunOutcome> {
  const pipelines = chosenPipelines(context, names);
  const command = `backfill ${names.join(' ')} --from ${range.from} --to ${range.to}${refetch ? ' --refetch' : ''}`;
  return runPlans(context, command, pipelines, () => backfillPlans(context, pipelines, range, refetch));
}

/** Where calls are due and nothing is set to make them with, that is told before anything is begun. */
async function runPlans(
  context: RunContext,
  command: string,
  pipelines: readonly Pipeline[],
  plan: (session?: Session) => Promise<PipelinePlan[]>,
): Promise<RunOutcome> {
  if (!context.hasPartner && (await plan()).some(({ windows }) => windows.length > 0)) context.demandPartner();
  return runSession(context, command, pipelines, async (session) => {
    await fetchPlans(session, await plan(session));
  });
}
