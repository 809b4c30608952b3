/** What the partner stage is told: where the service is, how its reports are asked for, and how much it can bear. */
import type { ReportName } from '../core/pipeline.ts';

/** At most `calls` in any `perSeconds` seconds, and at most `concurrency` at once. */
export interface EndpointBudget {
  readonly calls: number;
  /** From 60 on the calls of all processes are counted together, in a file under the home directory. */
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

export interface PartnerSettings {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly credentials: Credentials;
  readonly reports: Readonly<Record<ReportName, ReportEndpoint>>;
  readonly timeouts: Timeouts;
  readonly retry: RetrySettings;
  readonly token: TokenSettings;
}
