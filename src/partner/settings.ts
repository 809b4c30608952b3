/** What the partner stage is given: where the service is, how its calls are made, and how much it can bear. */
import { assert } from '../core/errors.ts';
import type { Pipeline } from '../core/pipeline.ts';
import type { CallSettings, EndpointBudget } from '../core/settings.ts';
import type { Area } from '../core/source.ts';

export type { Area, EndpointBudget };

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
  /** Of the pipelines that have a call of their own, by the pipeline's name; see `callOf`. */
  readonly calls: Calls;
  readonly retailer: {
    readonly reductions: SimpleEndpoint;
    readonly reductionsName: SimpleEndpoint;
    readonly subscriptions: SubscriptionEndpoint;
    readonly signatureKeys: SimpleEndpoint;
    /** Its path may hold {id}; where it does not, every subscription is tested. */
    readonly testPush: SimpleEndpoint;
    /** Its path holds {id}. */
    readonly processStatus: SimpleEndpoint;
  };
  /** Of one report, decoded. */
  readonly answerBytes: number;
  readonly timeouts: Timeouts;
  readonly retry: RetrySettings;
  readonly token: TokenSettings;
}

/** Calls that pipelines declare, by the pipeline's name, with the version filled in. */
export type Calls = Readonly<Record<string, CallSettings>>;

/** The call of a pipeline; its declaration says what the settings were checked to be. A mistake of ours for one without. */
export function callOf<T extends CallSettings>(calls: Calls, { name }: { readonly name: string }): T {
  const found = calls[name];
  assert(found, `${name} has no call of its own`);
  return found as T;
}

/** What the pacing calls the endpoint of a pipeline with a call of its own. */
export function endpointName({ name, source }: Pipeline): string {
  return source.isByRange ? `report-${name}` : (source.call?.name ?? name);
}
