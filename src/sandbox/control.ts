/**
 * The sandbox's own interface for other processes, below /sandbox. It is no part of the partner service and needs no
 * token; the server listens on loopback alone.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Day, parseDay } from '../core/days.ts';
import { asEtlError, EtlError } from '../core/errors.ts';
import type { CommissionTruth } from './catalogue/commissions.ts';
import type { ProductTruth } from './catalogue/products.ts';
import type { Change } from './changes.ts';
import type { Fault } from './faults/kinds.ts';
import { type Answer, json } from './http/call.ts';
import { isReport, REPORT_NAMES } from './http/endpoints.ts';
import type { Json } from './http/json-text.ts';
import { PIECE_BYTES } from './http/pieces.ts';
import { send } from './http/send.ts';
import { readBody } from './http/server.ts';
import type { SandboxStats } from './http/statistics.ts';
import type { TruthRow } from './orders/rows.ts';
import type { DeliveryResult } from './push/delivery-queue.ts';
import type { PushFault } from './push/faults.ts';
import type { PushMessage } from './push/push.ts';
import type { PushRoute } from './push/routes.ts';
import type { PushTruth } from './push/truth.ts';
import type { ReportName } from './report-name.ts';

export const CONTROL_PATH = '/sandbox/';

/** What can be done with a running sandbox, here and over HTTP. */
export interface Controls {
  readonly stats: SandboxStats;
  /** Makes it this time; the clock goes on from there at its own pace. */
  setNow(ms: number): void;
  /** Refuses (usage) what is no fault of a call, or of a push. */
  addFault(fault: Fault | PushFault): void;
  clearFaults(): void;
  /** Alters the world, and the truth with it; refuses (usage) what cannot be. */
  change(change: Change): void;
  /**
   * What a perfect client would hold of the inclusive range now, in the order of the answer: amounts and percentages as
   * decimal text, counts and ratios as numbers; fields that are left out of the answer are left out here too.
   */
  truth(report: ReportName, from: Day, to: Day): Iterable<TruthRow>;
  /**
   * EANs that the sandbox knew when it began: the first `count` of those of the catalogue (4,000, which it is unless given)
   * and then of the series. Refuses (usage) more than there are.
   */
  eans(count?: number): readonly string[];
  /**
   * What the answer about an EAN says now, in the newest version; undefined for an EAN that is not known. `price` is decimal
   * text. Refuses (usage) what is no question.
   */
  truthOfCommission(ean: string, condition: string, price: string | null): CommissionTruth | undefined;
  /** The whole record of a product now; undefined where the answer is 404. Refuses (usage) what there is not. */
  truthOfProduct(ean: string, country: string, language: string): ProductTruth | undefined;
  /** The newest reductions file now, as the service documents it. */
  reductionsFile(): { readonly name: string; readonly text: string };
  /** Push messages that were made until now, oldest first, forged ones too; they show what becomes of them later. */
  pushes(): readonly PushMessage[];
  /** Those of the service's own, and how often they arrived. */
  pushTruth(): readonly PushTruth[];
  /** Refuses (usage) what leads nowhere on loopback. */
  addPushRoute(route: PushRoute): void;
  /**
   * Carries out every attempt that is due by the sandbox's clock, one message after the other unless asked otherwise, and resolves when
   * all are over: at most one attempt of each message while the clock stands still.
   */
  deliverDue(options?: { readonly concurrency?: number }): Promise<DeliveryResult[]>;
}

const DONE: Answer = { status: 204, headers: {}, body: undefined };

function usage(message: string, hint: string): EtlError {
  return new EtlError('usage', 'bad_control', message, { hint });
}

function* lines(rows: Iterable<TruthRow>): Generator<Buffer> {
  let text = '';
  for (const row of rows) {
    text += `${JSON.stringify(row)}\n`;
    if (text.length < PIECE_BYTES) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(text);
}

function truthAnswer(sandbox: Controls, query: URLSearchParams): Answer {
  const report = query.get('report') ?? '';
  if (!isReport(report)) throw usage(`report: "${report}" is no report`, `one of ${REPORT_NAMES.join(', ')}`);
  const from = parseDay(query.get('from') ?? '', 'from');
  const to = parseDay(query.get('to') ?? '', 'to');
  const headers = { 'content-type': 'application/x-ndjson' };
  return { status: 200, headers, body: lines(sandbox.truth(report, from, to)) };
}

function setClock(sandbox: Controls, asked: object): Answer {
  const now = 'now' in asked ? asked.now : undefined;
  const ms = typeof now === 'string' ? Date.parse(now) : now;
  if (typeof ms !== 'number' || !Number.isFinite(ms))
    throw usage('now is no time', 'milliseconds since the epoch, or ISO 8601');
  sandbox.setNow(ms);
  return DONE;
}

/** One thing, or a list of them. */
function each(value: unknown, action: (one: never) => void): Answer {
  for (const one of Array.isArray(value) ? value : [value]) action(one as never);
  return DONE;
}

function parsed(body: string): object {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Refused below, like any other body that is no object.
  }
  throw usage('the body is no JSON object', 'send an object, or a list of them');
}

function statsJson({ calls, tokenRequests, statuses, overBudget, failures }: SandboxStats): Json {
  return { calls, tokenRequests, statuses, overBudget, failures };
}

function pushJson({ id, subscriptionId, url, headers, body, forgery, state, attempts }: PushMessage): Json {
  return { id, subscriptionId, url, headers, body, forgery, state, attempts: attempts.map((one) => ({ ...one })) };
}

async function delivered(sandbox: Controls, query: URLSearchParams): Promise<Answer> {
  const concurrency = Number(query.get('concurrency') ?? '1');
  if (!(concurrency >= 1)) throw usage('concurrency is not accepted', 'a number from 1');
  const results = await sandbox.deliverDue({ concurrency });
  return json(
    200,
    results.map((result) => ({ ...result })),
  );
}

function controlAnswer(
  sandbox: Controls,
  action: string,
  query: URLSearchParams,
  body: string,
): Answer | Promise<Answer> {
  const text = (name: string) => query.get(name) ?? '';
  switch (action) {
    case 'POST faults':
      return each(parsed(body), (fault) => sandbox.addFault(fault));
    case 'DELETE faults':
      sandbox.clearFaults();
      return DONE;
    case 'POST changes':
      return each(parsed(body), (change) => sandbox.change(change));
    case 'POST clock':
      return setClock(sandbox, parsed(body));
    case 'GET stats':
      return json(200, statsJson(sandbox.stats));
    case 'DELETE stats':
      sandbox.stats.reset();
      return DONE;
    case 'GET pushes':
      return json(200, sandbox.pushes().map(pushJson));
    case 'GET push-truth':
      return json(
        200,
        sandbox.pushTruth().map((one) => ({ ...one })),
      );
    case 'POST routes':
      return each(parsed(body), (route) => sandbox.addPushRoute(route));
    case 'POST deliver':
      return delivered(sandbox, query);
    case 'GET truth':
      return truthAnswer(sandbox, query);
    case 'GET commission-truth':
      return json(
        200,
        sandbox.truthOfCommission(text('ean'), query.get('condition') ?? 'NEW', query.get('price')) ?? null,
      );
    case 'GET product-truth':
      return json(200, sandbox.truthOfProduct(text('ean'), text('country'), text('language')) ?? null);
    case 'GET eans':
      return json(200, query.has('count') ? sandbox.eans(Number(text('count'))) : sandbox.eans());
    case 'GET reductions-file':
      return json(200, sandbox.reductionsFile());
    default:
      return json(404, { error: `no such action: ${action}` });
  }
}

/** Answers one request below CONTROL_PATH; what is refused is answered 400 with the reason and the fix. */
export async function serveControl(
  sandbox: Controls,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const body = (await readBody(request)) ?? '';
  let answer: Answer;
  try {
    answer = await controlAnswer(
      sandbox,
      `${request.method} ${url.pathname.slice(CONTROL_PATH.length)}`,
      url.searchParams,
      body,
    );
  } catch (thrown) {
    const error = asEtlError(thrown);
    answer = json(400, { error: error.message, code: error.code, hint: error.hint });
  }
  await send(response, answer, false, undefined);
}
