/** The sixteen calls and what push messages link to, by name, and where they are found: open-points.md, "Endpoints". */
import type { ReportName } from '../report-name.ts';

export type EndpointName =
  | 'token'
  | 'product'
  | ReportName
  | 'subscription-list'
  | 'subscription-create'
  | 'subscription-get'
  | 'subscription-update'
  | 'subscription-delete'
  | 'subscription-test'
  | 'signature-keys'
  | 'process-status'
  | 'process-status-list'
  | 'shipment'
  | 'commission'
  | 'commission-bulk'
  | 'reductions'
  | 'reductions-latest';

/** Areas differ in media types and in the form of their errors. */
export type Area = 'token' | 'catalog' | 'reports' | 'retailer' | 'reductions';

export interface Endpoint {
  readonly name: EndpointName;
  readonly area: Area;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path below the base address; its named groups are the call's parameters. */
  readonly path: RegExp;
}

const at = (name: EndpointName, area: Area, method: Endpoint['method'], path: RegExp): Endpoint => ({
  name,
  area,
  method,
  path,
});

const SUBSCRIPTIONS = '/retailer/subscriptions';
const REPORTS = '/marketing/affiliate/reports/v2';

/** In the order in which they are tried: fixed paths before those with an id. */
export const ENDPOINTS: readonly Endpoint[] = [
  at('token', 'token', 'POST', /^\/auth\/token$/),
  at('product', 'catalog', 'GET', /^\/marketing\/catalog\/v1\/products\/(?<ean>[^/]+)$/),
  at('promotions', 'reports', 'GET', new RegExp(`^${REPORTS}/promotion-report$`)),
  at('orders', 'reports', 'GET', new RegExp(`^${REPORTS}/order-report$`)),
  at('commissions', 'reports', 'GET', new RegExp(`^${REPORTS}/commission-report$`)),
  at('signature-keys', 'retailer', 'GET', new RegExp(`^${SUBSCRIPTIONS}/signature-keys$`)),
  at('subscription-test', 'retailer', 'POST', new RegExp(`^${SUBSCRIPTIONS}/test(?:/(?<id>[^/]+))?$`)),
  at('subscription-list', 'retailer', 'GET', new RegExp(`^${SUBSCRIPTIONS}$`)),
  at('subscription-create', 'retailer', 'POST', new RegExp(`^${SUBSCRIPTIONS}$`)),
  at('subscription-get', 'retailer', 'GET', new RegExp(`^${SUBSCRIPTIONS}/(?<id>[^/]+)$`)),
  at('subscription-update', 'retailer', 'PUT', new RegExp(`^${SUBSCRIPTIONS}/(?<id>[^/]+)$`)),
  at('subscription-delete', 'retailer', 'DELETE', new RegExp(`^${SUBSCRIPTIONS}/(?<id>[^/]+)$`)),
  at('process-status-list', 'retailer', 'GET', /^\/(?:retailer|shared)\/process-status$/),
  at('process-status', 'retailer', 'GET', /^\/(?:retailer|shared)\/process-status\/(?<id>[^/]+)$/),
  at('shipment', 'retailer', 'GET', /^\/retailer\/shipments\/(?<id>[^/]+)$/),
  at('commission', 'retailer', 'GET', /^\/retailer\/commission\/(?<ean>[^/]+)$/),
  at('commission-bulk', 'retailer', 'POST', /^\/retailer\/commission$/),
  at('reductions', 'reductions', 'GET', /^(?:\/retailer)?\/reductions$/),
  at('reductions-latest', 'reductions', 'GET', /^(?:\/retailer)?\/reductions\/latest$/),
];

/** The calls that ask about EANs. */
export type KeysCall = 'product' | 'commission' | 'commission-bulk';

const LOOKUP_NAMES: readonly string[] = ['product', 'commission', 'commission-bulk'] satisfies readonly KeysCall[];

export function isLookup(name: string): name is KeysCall {
  return LOOKUP_NAMES.includes(name);
}

export const REPORT_NAMES: readonly ReportName[] = ['promotions', 'orders', 'commissions'];

export function isReport(name: string): name is ReportName {
  return (REPORT_NAMES as readonly string[]).includes(name);
}
