/** Look-ups and the reductions file as calls: what holds now, instead of a range of days. */
import { eanKeysOf, type Pipeline } from '../../core/pipeline.ts';
import type { Key, KeysRequest } from '../../core/source.ts';
import type { Answer, Call, Consumed } from '../call.ts';
import { type Calls, callOf, endpointName, type PartnerSettings, type SimpleEndpoint } from '../settings.ts';

type Consume<T> = (answer: Answer) => Promise<Consumed<T>>;

/** What a look-up by EAN asks for these keys, as its declaration says; `settings`: the pipeline's. */
export function keysRequest(calls: Calls, pipeline: Pipeline, keys: readonly Key[], settings: unknown): KeysRequest {
  return eanKeysOf(pipeline).request(keys, callOf(calls, pipeline), settings);
}

/** A call of a look-up by EAN, as its declaration makes it. The statuses that it calls answers are no failures. */
export function keysCall<T>(
  calls: Calls,
  pipeline: Pipeline,
  request: KeysRequest,
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  const { path, ean, query, headers, body } = request;
  return {
    endpoint: endpointName(pipeline),
    budget: callOf(calls, pipeline).budget,
    // A function, since "$&" in an EAN that nobody has checked would mean something to replace.
    path: ean === undefined ? path : path.replace('{ean}', () => encodeURIComponent(ean)),
    ...(query === undefined ? {} : { query }),
    headers: { ...headers, 'accept-encoding': 'gzip' },
    ...(body === undefined ? { method: 'GET' } : { method: 'POST', body, isRepeatable: true }),
    alsoAnswers: eanKeysOf(pipeline).alsoAnswers,
    isOneOfMany: true,
    ...rest(pipeline.name, consume, signal),
  };
}

/** The name of the newest reductions file, as text. */
export function reductionsNameCall<T>(
  settings: PartnerSettings,
  pipelineName: string,
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  return simpleCall('reductions-name', settings.retailer.reductionsName, pipelineName, consume, signal);
}

/** The newest reductions file, 13 MB and more; its name is in Content-Disposition (file-name.ts). */
export function reductionsFileCall<T>(
  settings: PartnerSettings,
  pipelineName: string,
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  return simpleCall('reductions', settings.retailer.reductions, pipelineName, consume, signal);
}

function simpleCall<T>(
  endpoint: string,
  { path, accept, budget }: SimpleEndpoint,
  pipelineName: string,
  consume: Consume<T>,
  signal: AbortSignal | undefined,
): Call<T> {
  const headers = { accept, 'accept-encoding': 'gzip' };
  return { endpoint, budget, method: 'GET', path, headers, ...rest(pipelineName, consume, signal) };
}

function rest<T>(pipeline: string, consume: Consume<T>, signal: AbortSignal | undefined) {
  return { about: { pipeline, windowFrom: null, windowTo: null }, consume, ...(signal ? { signal } : {}) };
}
