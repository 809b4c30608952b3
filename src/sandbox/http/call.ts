/** What a call asks and what is answered: handlers are functions from one to the other and never see a socket. */
import type { IncomingHttpHeaders } from 'node:http';
import type { CallFaults } from '../faults/kinds.ts';
import type { Area, Endpoint } from './endpoints.ts';
import { type Json, jsonText } from './json-text.ts';

export interface Call {
  readonly endpoint: Endpoint;
  /** Named parts of the path, as they stand in it. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The sandbox's time, milliseconds since the epoch. */
  readonly now: number;
  /** Full address, without the query. */
  readonly address: string;
}

export interface Answer {
  readonly status: number;
  /** Several values of one name are several headers. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Text, or pieces that are made while they are sent; undefined for no body. */
  readonly body: string | Iterable<Buffer> | undefined;
}

/** A type, not an interface, so that it is JSON by its shape. */
export type Violation = {
  readonly name: string;
  readonly reason: string;
};

export type Handler = (call: Call, faults: CallFaults) => Answer | Promise<Answer>;

export const JSON_TYPE = 'application/json';
const PROBLEM_TYPE = 'https://api.bol.com/problems';
const NEWEST_RETAILER_VERSION = 10;

export function json(status: number, value: Json, contentType = JSON_TYPE): Answer {
  return { status, headers: { 'content-type': contentType }, body: jsonText(value) };
}

/** The version that an Accept header asks of the retailer API; undefined when it asks for something else. */
export function retailerVersion(accept: string | undefined, suffix: 'json' | 'csv' = 'json'): number | undefined {
  const asked = /application\/vnd\.retailer\.v(\d+)\+(json|csv)/.exec(accept ?? '');
  if (asked?.[2] !== suffix) return undefined;
  const version = Number(asked[1]);
  return version >= 3 && version <= NEWEST_RETAILER_VERSION ? version : undefined;
}

export function retailerType(version: number, suffix: 'json' | 'csv' = 'json'): string {
  return `application/vnd.retailer.v${version}+${suffix}`;
}

/** The version that this call's answer is written in, also where the call asked for none that there is. */
export function versionOf(call: Call): number {
  return retailerVersion(call.headers.accept) ?? NEWEST_RETAILER_VERSION;
}

function problemType(area: Area, accept: string | undefined): string {
  if (area === 'catalog' || area === 'reports') return JSON_TYPE;
  return retailerType(retailerVersion(accept) ?? NEWEST_RETAILER_VERSION);
}

/** An error of the service: the retailer API names its type as an address, the marketing APIs as a path. */
export function problem(
  call: Call,
  status: number,
  title: string,
  detail: string,
  violations?: readonly Violation[],
): Answer {
  const { area } = call.endpoint;
  const marketing = area === 'catalog' || area === 'reports';
  const body = {
    type: marketing ? '/problems' : PROBLEM_TYPE,
    title,
    status,
    detail,
    host: 'Instance-001',
    instance: call.address,
    violations,
  };
  return json(status, body, problemType(area, call.headers.accept));
}

/** The short errors of whatever stands before the service: no type, no instance. */
export function gateProblem(call: Call, status: number, title: string, detail: string): Answer {
  return json(status, { title, status, detail }, problemType(call.endpoint.area, call.headers.accept));
}

export function badRequest(call: Call, violations: readonly Violation[]): Answer {
  const title = 'Error validating request. Consult the API documentation for more information.';
  return problem(call, 400, title, 'Bad request', violations);
}

export function notFound(call: Call, detail = 'Not Found'): Answer {
  return problem(call, 404, 'Not Found', detail);
}
