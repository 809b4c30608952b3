/** Reports as calls. */
import type { DayRange } from '../../core/days.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { WindowCall } from '../../core/source.ts';
import type { Answer, Call, Consumed } from '../client.ts';
import { type Calls, callOf, endpointName } from '../settings.ts';

/** The call for a report over an inclusive range of days. The answer comes as gzip where the service can. */
export function reportCall<T>(
  calls: Calls,
  pipeline: Pipeline,
  range: DayRange,
  consume: (answer: Answer) => Promise<Consumed<T>>,
  signal?: AbortSignal,
): Call<T> {
  const report = callOf<WindowCall>(calls, pipeline);
  return {
    ...reportBudget(calls, pipeline),
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
export function reportBudget(calls: Calls, pipeline: Pipeline): Pick<Call<unknown>, 'endpoint' | 'budget'> {
  return { endpoint: endpointName(pipeline), budget: callOf<WindowCall>(calls, pipeline).budget };
}
