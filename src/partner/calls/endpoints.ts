/** Which endpoint a recorded request went to, and under which budget: known by the path of its address. */
import type { Pipeline } from '../../core/pipeline.ts';
import { callOf, type EndpointBudget, endpointName, type PartnerSettings, type SimpleEndpoint } from '../settings.ts';

export interface NamedEndpoint {
  /** As the pacing names it. */
  readonly endpoint: string;
  readonly budget: EndpointBudget;
}

interface Known extends NamedEndpoint {
  /** Below the base address; `{…}` stands for one part. */
  readonly paths: readonly string[];
}

/** `url`: of a fetch record; `pipelines`: whose declared calls it may be. What no path fits is a link of a push message, which goes by the budget of process statuses. */
export function endpointOf(url: string, settings: PartnerSettings, pipelines: readonly Pipeline[]): NamedEndpoint {
  const base = new URL(settings.baseUrl).pathname.replace(/\/+$/, '');
  const path = URL.canParse(url) ? new URL(url).pathname : '';
  const found = knownOf(settings, pipelines).find(({ paths }) => paths.some((one) => fits(path, base + one)));
  const { processStatus } = settings.retailer;
  return found ?? { endpoint: 'process-status', budget: processStatus.budget };
}

function knownOf({ calls, retailer }: PartnerSettings, pipelines: readonly Pipeline[]): Known[] {
  const { reductions, reductionsName, subscriptions, signatureKeys, testPush } = retailer;
  const one = (endpoint: string, { path, budget }: SimpleEndpoint): Known => ({ endpoint, budget, paths: [path] });
  const declared = pipelines.flatMap((pipeline): Known[] => {
    if (pipeline.source.call === null) return [];
    const call = callOf(calls, pipeline);
    return [{ endpoint: endpointName(pipeline), budget: call.budget, paths: pathsIn(call) }];
  });
  const known = [
    ...declared,
    one('reductions-name', reductionsName),
    one('reductions', reductions),
    one('signature-keys', signatureKeys),
    one('test-push', testPush),
    { endpoint: 'subscriptions', budget: subscriptions.budget, paths: [subscriptions.path, subscriptions.itemPath] },
  ];
  // Paths without a variable part first: another one's variable part would fit them.
  const single = known.flatMap((each) => each.paths.map((path) => ({ ...each, paths: [path] })));
  return single.sort((a, b) => Number(a.paths[0]!.includes('{')) - Number(b.paths[0]!.includes('{')));
}

/** Every path that the settings of a call name. */
function pathsIn(call: unknown): string[] {
  if (typeof call !== 'object' || call === null) return [];
  return Object.entries(call).flatMap(([name, value]) =>
    name === 'path' && typeof value === 'string' ? [value] : pathsIn(value),
  );
}

function fits(path: string, template: string): boolean {
  const parts = path.split('/');
  const named = template.split('?')[0]!.split('/');
  const isAlike = (part: string, i: number) => part === parts[i] || (/\{\w+\}/.test(part) && parts[i] !== '');
  return named.length === parts.length && named.every(isAlike);
}
