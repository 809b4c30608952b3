/** The three affiliate reports as calls. */
import type { DayRange } from '../core/days.ts';
import { type Pipeline, reportOf } from '../core/pipeline.ts';
import type { Answer, Call, Consumed } from './client.ts';
import type { PartnerSettings } from './settings.ts';

/** The call for a report over an inclusive range of days. The answer comes as gzip where the service can. */
export function reportCall<T>(
  settings: PartnerSettings,
  pipeline: Pipeline,
  range: DayRange,
  consume: (answer: Answer) => Promise<Consumed<T>>,
  signal?: AbortSignal,
): Call<T> {
  const report = settings.reports[reportOf(pipeline)];
  return {
    ...reportBudget(settings, pipeline),
    method: 'GET',
    path: report.path,
    query: { [report.startParameter]: range.from, [report.endParameter]: range.to },
    headers: { accept: report.accept, 'accept-encoding': 'gzip' },
    about: { pipeline: pipeline.name, windowFrom: range.from, windowTo: range.to },
    consume,
    ...(signal ? { signal } : {}),
  };
}

/** What paces the calls of a report. */
export function reportBudget(
  { reports }: PartnerSettings,
  pipeline: Pipeline,
): Pick<Call<unknown>, 'endpoint' | 'budget'> {
  const name = reportOf(pipeline);
  return { endpoint: `report-${name}`, budget: reports[name].budget };
}
