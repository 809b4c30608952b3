/** A report, asked for by ranges of days; the answer replaces their slices. */
import { reportBudget } from '../../partner/reports.ts';
import { rangeStatus } from '../status/status-days.ts';
import { fetchPipeline } from '../window/fetching.ts';
import { keepFirstDay } from '../window/first-day.ts';
import { planInput, windowsOfNight } from '../window/planned-windows.ts';
import { releaseDay, replayDays } from '../window/replay-days.ts';
import type { Source } from './source.ts';

export const windowSource: Source = {
  plan: (context, _engine, pipeline) => windowsOfNight(context, pipeline),
  budget: (settings, pipeline) => reportBudget(settings.calls, pipeline).budget,
  async run(session, partners, pipeline) {
    await keepFirstDay(session.context, pipeline);
    return fetchPipeline(session, partners, await windowsOfNight(session.context, pipeline));
  },
  replay: replayDays,
  release: releaseDay,
  status: async (context, pipeline) => rangeStatus(context, pipeline, await planInput(context, pipeline)),
};
