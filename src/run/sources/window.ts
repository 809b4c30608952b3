/** A report, asked for by ranges of days; the answer replaces their slices. The windows do not hang on each other. */
import { type Day, daysOf } from '../../core/days.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { PlannedWindow } from '../../core/plan.ts';
import { reportBudget } from '../../partner/calls/reports.ts';
import type { Session } from '../session.ts';
import { rangeStatus } from '../status/status-days.ts';
import { daysWithoutAnswer, daysWithoutRecord } from '../verify/answers-behind.ts';
import { damagedDays } from '../verify/slice-problem.ts';
import { keepFirstDay } from '../window/first-day.ts';
import { planInput, type WindowPlan, windowsOfNight, windowsToBackfill } from '../window/planned-windows.ts';
import { releaseDay, storedDays } from '../window/stored-days.ts';
import { storedHistory } from '../window/stored-history.ts';
import { takeIn } from '../window/taken.ts';
import { applyWindow } from '../window/window.ts';
import type { Request, Source } from './source.ts';

/** So many windows of one pipeline may fail in a row before the rest of it is given up for this run. */
const FAILURES_IN_A_ROW = 3;

export const windowSource: Source<WindowPlan> = {
  plan: (context, _engine, pipeline) => windowsOfNight(context, pipeline),
  planPast: windowsToBackfill,
  budget: (settings, pipeline) => reportBudget(settings.calls, pipeline).budget,
  /** A window is applied by the run that fetched it; what was not is due again. */
  pending: async () => null,
  async requests(session, partners, { pipeline, windows, isOfNight }) {
    const { context, engine } = session;
    if (isOfNight) await keepFirstDay(context, pipeline);
    if (windows.length === 0) return null;
    const partner = await partners.of(pipeline);
    const { endpoint, budget } = reportBudget(partner.settings.calls, pipeline);
    const { calls, perSeconds } = budget;
    const left = () => partner.client.budgetLeft(endpoint, budget);
    const anew = await daysToWriteAnew(session, pipeline, windows);
    const each = windows.map((window): Request => {
      const { from, to } = window;
      return {
        range: { from, to },
        async fetch(folder) {
          const taken = await takeIn(context, partner, pipeline, window, folder);
          return { apply: () => applyWindow(context, engine, pipeline, taken, { anew }), shown: { from, to } };
        },
      };
    });
    return {
      total: each.length,
      unit: 'window',
      budget: { kind: 'rate', calls, perSeconds, left },
      each,
      isAhead: true,
      failuresInARow: FAILURES_IN_A_ROW,
    };
  },
  stored: storedDays,
  history: storedHistory,
  async held(session, pipeline, held) {
    const { day } = held;
    const fetch = async (folder: string) => ({ apply: () => releaseDay(session, pipeline, held, folder) });
    return { total: 0, unit: 'answer', each: [{ range: { from: day, to: day }, fetch }] };
  },
  status: async (context, pipeline) => rangeStatus(context, pipeline, await planInput(context, pipeline)),
};

/** Those that stand on a fetch without a record; of the days asked for also those whose answer is damaged or lost, or whose own files are. */
async function daysToWriteAnew(
  { context, engine }: Session,
  pipeline: Pipeline,
  windows: readonly PlannedWindow[],
): Promise<ReadonlySet<Day>> {
  const requested = requestedDays(windows);
  return new Set([
    ...(await damagedDays(engine, context.lake, pipeline, requested)),
    ...(await daysWithoutAnswer(context, pipeline, requested)),
    ...(await daysWithoutRecord(context, pipeline, windows.flatMap(daysOf))),
  ]);
}

/** Asked for although they are loaded: verify may have found that an answer is damaged. */
function requestedDays(windows: readonly PlannedWindow[]): Day[] {
  return windows.flatMap(({ slices }) => slices.filter(({ reason }) => reason === 'requested').map(({ day }) => day));
}
