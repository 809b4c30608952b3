/**
 * The way of a call: route → (token service, ban) or (token → budget) → faults → handler → wire.
 * A refusal at one gate is answered there, and the later gates neither count nor see the call.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Faults } from '../faults/faults.ts';
import type { CallFaults } from '../faults/kinds.ts';
import type { OrderParts } from '../orders/bytes.ts';
import { reportAnswer } from '../orders/report-calls.ts';
import { type Answer, type Call, type Handler, notFound } from './call.ts';
import { ENDPOINTS, type Endpoint, type EndpointName, isReport } from './endpoints.ts';
import type { CallLimits, TokenBan } from './limits.ts';
import { banned, budgetHeaders, refusalAnswer, tooManyRequests, unauthorized } from './refusals.ts';
import { send } from './send.ts';
import type { Statistics } from './statistics.ts';
import type { TokenService } from './tokens.ts';

/** A bulk question of 100 EANs takes some kilobytes. */
const BODY_BYTES = 1024 * 1024;

export interface Service {
  readonly now: () => number;
  readonly gzip: boolean;
  readonly tokens: TokenService;
  readonly ban: TokenBan;
  readonly limits: CallLimits;
  readonly faults: Faults;
  readonly statistics: Statistics;
  readonly orders: OrderParts;
  readonly handlers: Partial<Readonly<Record<EndpointName, Handler>>>;
}

interface Route {
  readonly endpoint: Endpoint;
  readonly parameters: Readonly<Record<string, string>>;
}

function routeOf(method: string, path: string): Route | 'other-method' | undefined {
  let otherMethod = false;
  for (const endpoint of ENDPOINTS) {
    const match = endpoint.path.exec(path);
    if (!match) continue;
    if (endpoint.method === method) return { endpoint, parameters: { ...match.groups } };
    otherMethod = true;
  }
  return otherMethod ? 'other-method' : undefined;
}

/** The body as text; undefined when it is larger than any question. */
export async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    // What is too large is read on to its end, so that the sender gets to see the refusal.
    if (bytes <= BODY_BYTES) parts.push(part);
  }
  return bytes > BODY_BYTES ? undefined : Buffer.concat(parts).toString('utf8');
}

const NO_FAULTS: CallFaults = { refusal: undefined, delivery: undefined, shape: undefined, items: [], file: [] };

interface Verdict {
  /** undefined: the connection is reset. */
  readonly answer: Answer | undefined;
  readonly faults: CallFaults;
}

async function handled(service: Service, call: Call, headers: Record<string, string>): Promise<Verdict> {
  const asksFor = (ean: string) => call.parameters.ean === ean || call.body.includes(`"${ean}"`);
  const faults = service.faults.strike({ endpoint: call.endpoint.name, asksFor });
  if (faults.refusal?.kind === 'revoke-tokens') service.tokens.revokeAll();
  const answer =
    faults.refusal === undefined ? await answerOf(service, call, faults) : refusalAnswer(call, faults.refusal);
  return { answer: answer && { ...answer, headers: { ...headers, ...answer.headers } }, faults };
}

async function answerOf(service: Service, call: Call, faults: CallFaults): Promise<Answer> {
  const { name } = call.endpoint;
  if (name === 'token') return service.tokens.answer(call);
  if (isReport(name)) return reportAnswer(service.orders, name, call, faults);
  return (await service.handlers[name]?.(call, faults)) ?? notFound(call);
}

async function verdictOf(service: Service, call: Call): Promise<Verdict> {
  const { name } = call.endpoint;
  if (name === 'token') {
    service.statistics.countTokenRequest();
    if (service.ban.refuses(call.now)) return { answer: banned(), faults: NO_FAULTS };
    return handled(service, call, {});
  }
  const refusal = service.tokens.refusalOf(call.headers.authorization, call.now);
  if (refusal !== undefined) return { answer: unauthorized(call, refusal), faults: NO_FAULTS };
  const budget = service.limits.take(name, call.now);
  if (budget.retryAfterSeconds !== undefined) {
    service.statistics.countOverBudget(budget.budget);
    const answer = tooManyRequests(call, String(budget.retryAfterSeconds));
    return { answer: { ...answer, headers: { ...answer.headers, ...budgetHeaders(budget) } }, faults: NO_FAULTS };
  }
  return handled(service, call, budgetHeaders(budget));
}

function plain(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`${text}\n`);
}

const wantsGzip = (request: IncomingMessage): boolean =>
  /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));

/** Answers one request to the partner service. */
export async function serveCall(service: Service, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', `http://${request.headers.host ?? '127.0.0.1'}`);
  const route = routeOf(request.method ?? 'GET', url.pathname);
  if (route === undefined) return plain(response, 404, 'no such path');
  if (route === 'other-method') return plain(response, 405, 'no such method here');
  const body = await readBody(request);
  if (body === undefined) return plain(response, 413, 'too large');
  const { name } = route.endpoint;
  const call: Call = {
    ...route,
    query: url.searchParams,
    headers: request.headers,
    body,
    now: service.now(),
    address: `${url.origin}${url.pathname}`,
  };
  // The sandbox's own time, so that the same world gives the same headers.
  response.setHeader('date', new Date(call.now).toUTCString());
  service.statistics.countCall(name);
  const { answer, faults } = await verdictOf(service, call);
  if (answer === undefined) {
    request.socket.resetAndDestroy();
    return;
  }
  service.statistics.countStatus(answer.status);
  await send(response, answer, service.gzip && wantsGzip(request), faults.delivery);
}
