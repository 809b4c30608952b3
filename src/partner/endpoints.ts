/** Which endpoint a recorded request went to, and under which budget: known by the path of its address. */
import type { EndpointBudget, PartnerSettings } from './settings.ts';

export interface NamedEndpoint {
  /** As the pacing names it. */
  readonly endpoint: string;
  readonly budget: EndpointBudget;
}

interface Known extends NamedEndpoint {
  /** Below the base address; `{…}` stands for one part. */
  readonly paths: readonly string[];
}

/** `url`: of a fetch record. What no path fits is a link of a push message, which goes by the budget of process statuses. */
export function endpointOf(url: string, settings: PartnerSettings): NamedEndpoint {
  const base = new URL(settings.baseUrl).pathname.replace(/\/+$/, '');
  const path = URL.canParse(url) ? new URL(url).pathname : '';
  const found = knownOf(settings).find(({ paths }) => paths.some((one) => fits(path, base + one)));
  const { processStatus } = settings.retailer;
  return found ?? { endpoint: 'process-status', budget: processStatus.budget };
}

function knownOf({ reports, catalog, retailer }: PartnerSettings): Known[] {
  const { commission, reductions, reductionsName, subscriptions, signatureKeys, testPush } = retailer;
  const one = (
    endpoint: string,
    { path, budget }: { readonly path: string; readonly budget: EndpointBudget },
  ): Known => ({
    endpoint,
    budget,
    paths: [path],
  });
  return [
    ...Object.entries(reports).map(([name, report]) => one(`report-${name}`, report)),
    // Paths without a variable part first: another one's variable part would fit them.
    one('reductions-name', reductionsName),
    one('reductions', reductions),
    one('signature-keys', signatureKeys),
    { endpoint: 'commission', budget: commission.budget, paths: [commission.bulk.path, commission.single.path] },
    one('test-push', testPush),
    { endpoint: 'subscriptions', budget: subscriptions.budget, paths: [subscriptions.path, subscriptions.itemPath] },
    one('product', catalog.product),
  ];
}

function fits(path: string, template: string): boolean {
  const parts = path.split('/');
  const named = template.split('?')[0]!.split('/');
  const isAlike = (part: string, i: number) => part === parts[i] || (/\{\w+\}/.test(part) && parts[i] !== '');
  return named.length === parts.length && named.every(isAlike);
}
