/** What the partner stage is told: where the service is, how its calls are made, and how much it can bear. */
import type { Area, ReportName } from '../core/pipeline.ts';

/** At most `calls` in any `perSeconds` seconds, of all processes together, and at most `concurrency` at once in each of them. */
export interface EndpointBudget {
  readonly calls: number;
  readonly perSeconds: number;
  readonly concurrency: number;
}

export interface ReportEndpoint {
  /** Below `baseUrl`, begins with a slash. */
  readonly path: string;
  readonly accept: string;
  readonly startParameter: string;
  readonly endParameter: string;
  readonly budget: EndpointBudget;
}

export type { Area };
export const AREAS: readonly Area[] = ['reports', 'catalog', 'retailer'];

export interface ProductEndpoint {
  /** Below `baseUrl`, begins with a slash and holds {ean}. */
  readonly path: string;
  readonly accept: string;
  readonly countryParameter: string;
  readonly budget: EndpointBudget;
}

export interface CommissionEndpoints {
  /** Of both together: the service counts them as one. */
  readonly budget: EndpointBudget;
  readonly single: {
    /** Holds {ean}. */
    readonly path: string;
    readonly accept: string;
    readonly conditionParameter: string;
    readonly priceParameter: string;
  };
  readonly bulk: {
    readonly path: string;
    readonly accept: string;
    readonly contentType: string;
    /** Name of the selling price in an element of the request. */
    readonly priceField: string;
    readonly eansPerRequest: number;
  };
}

export interface SimpleEndpoint {
  readonly path: string;
  readonly accept: string;
  readonly budget: EndpointBudget;
}

export interface SubscriptionEndpoint extends SimpleEndpoint {
  /** Of one subscription; holds {id}. */
  readonly itemPath: string;
  readonly contentType: string;
}

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface Timeouts {
  /** Until the connection stands, TLS included. */
  readonly connectMs: number;
  /** From the request's first byte to the answer's head. */
  readonly headersMs: number;
  /** Silence between two chunks of the body. */
  readonly bodyMs: number;
  /** One call with all its tries and pauses, from when its first turn came. */
  readonly totalMs: number;
}

export interface RetrySettings {
  /** Requests of one call at the most, the first included. */
  readonly tries: number;
  /** Upper end of the first pause; it doubles from pause to pause. */
  readonly baseMs: number;
  /** No pause of our own choice is longer. */
  readonly longestMs: number;
}

export interface TokenSettings {
  /** Below `authUrl`, begins with a slash. */
  readonly path: string;
  readonly renewBeforeSeconds: number;
  /** After a refusal nobody asks before this has passed. */
  readonly circuitMinutes: number;
  /** Token requests in any hour, of all processes together. */
  readonly mostPerHour: number;
}

/** The same for every area, but for the credentials. */
export interface PartnerSettings {
  readonly baseUrl: string;
  readonly authUrl: string;
  /** Of the area that the settings were made for. */
  readonly credentials: Credentials;
  readonly reports: Readonly<Record<ReportName, ReportEndpoint>>;
  readonly catalog: { readonly product: ProductEndpoint };
  readonly retailer: {
    readonly commission: CommissionEndpoints;
    readonly reductions: SimpleEndpoint;
    readonly reductionsName: SimpleEndpoint;
    readonly subscriptions: SubscriptionEndpoint;
    readonly signatureKeys: SimpleEndpoint;
    /** Its path may hold {id}; where it does not, every subscription is tested. */
    readonly testPush: SimpleEndpoint;
    /** Its path holds {id}. */
    readonly processStatus: SimpleEndpoint;
  };
  readonly timeouts: Timeouts;
  readonly retry: RetrySettings;
  readonly token: TokenSettings;
}
