/** A report, asked for by ranges of days; the answer replaces their slices. */
import { reportBudget } from '../../partner/reports.ts';
import { fetchPipeline } from '../fetching.ts';
import { keepFirstDay } from '../first-day.ts';
import { planInput, windowsOfNight } from '../planned-windows.ts';
import { releaseDay, replayDays } from '../replay-days.ts';
import type { Source } from '../source.ts';
import { rangeStatus } from '../status-days.ts';

export const windowSource: Source = {
  plan: (context, _engine, pipeline) => windowsOfNight(context, pipeline),
  budget: (settings, pipeline) => reportBudget(settings, pipeline).budget,
  async run(session, partners, pipeline) {
    await keepFirstDay(session.context, pipeline);
    return fetchPipeline(session, partners, await windowsOfNight(session.context, pipeline));
  },
  replay: replayDays,
  release: releaseDay,
  status: async (context, pipeline) => rangeStatus(context, pipeline, await planInput(context, pipeline)),
};
