/**
 * Calls to the service. A call is made in one or more tries; every try is a fetch with its own id and record.
 *
 * A try: its turn from the pacing → a token → the request, with the fetch id as X-Request-Id → headers about limits are heeded →
 * an answer (2xx, or a status that the call takes for one) goes to `consume`, anything else becomes an error. Between two tries nothing is held but the call's place in the
 * queue. `timeouts.totalMs` runs from the first turn on, so that calls may queue for long and still have their time.
 *
 * What a try's error leads to:
 *   401               once a call a token is renewed and the call made again (or made with the token that another call has
 *                     renewed since); then refused/token_rejected
 *   retry/…           another try after a pause, where that can do no harm, there are tries left and the pause fits into the
 *                     time left; else failed/<same code>
 *   failed, refused … thrown as it is
 */
import type { Clock } from '../core/clock.ts';
import { isoTime } from '../core/clock.ts';
import { asEtlError, assert, type Concern, type EtlError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { fieldsAbout, type Log, logWith, sliceText } from '../core/log.ts';
import type { WaitReason } from '../core/progress.ts';
import type { FetchRecord } from '../core/records.ts';
import { foreignText, redact } from '../core/redact.ts';
import { noTracer, spanning, type Tracer } from '../core/tracer.ts';
import { answerError } from './answer-error.ts';
import { answerTime, exhaustedMs, retryAfterMs } from './answer-headers.ts';
import { type Call, type Consumed, callUrl, concernOf, isAnswer } from './call.ts';
import { abortError, givenUp, sortedThrown, totalTimeout, withoutSecrets } from './call-errors.ts';
import { echoWatch } from './echo.ts';
import type { Pacing, Turn } from './pacing/pacing.ts';
import { ENDED, passOn } from './pacing/wait.ts';
import { backoffMs, isPassing, isSafeToRepeat } from './retry.ts';
import type { EndpointBudget, PartnerSettings } from './settings.ts';
import type { Token, TokenSource } from './token/token.ts';
import { type Exchange, Wire } from './wire.ts';

/** How long a pause may be that was named as a date by a clock that may be another one, where the budget spans less. */
const LONGEST_UNPROVED_MS = 60_000;
/** Of a content type in a record. */
const CONTENT_TYPE_CHARACTERS = 200;
/** A token lasts five minutes, so these are the last half hour's. */
const REMEMBERED_TOKENS = 6;
/** Those that may still be valid: they must not be in an answer that is stored. */
const WATCHED_TOKENS = 2;

export type { Answer, Call, Consumed } from './call.ts';

export interface PartnerClientOptions {
  readonly settings: PartnerSettings;
  readonly token: TokenSource;
  readonly clock: Clock;
  /** Evenly from [0, 1): scatters the pauses between tries. */
  readonly random: () => number;
  readonly log: Log;
  /** Absent: nobody collects. */
  readonly tracer?: Tracer;
  readonly runId: string;
  /** Awaited before the next try, and before the call ends. */
  readonly onFetch: (record: FetchRecord) => Promise<void> | void;
  /** One for all clients of the process. */
  readonly pacing: Pacing;
}

/** What is known of a call between its tries. */
interface Trip<T> {
  readonly call: Call<T>;
  readonly url: URL;
  readonly concern: Concern;
  /** Aborted by the caller, or with failed/total_timeout. */
  readonly signal: AbortSignal;
  readonly deadlineMs: number;
  attempt: number;
  /** Tries that count against `retry.tries`; those that a renewed token called for do not. */
  tries: number;
  hasRenewed: boolean;
  hasSwapped: boolean;
}

interface Fetched<T> {
  readonly record: FetchRecord;
  readonly consumed: Consumed<T> | null;
  readonly error: EtlError | null;
  readonly token: Token;
}

export class PartnerClient {
  private readonly options: PartnerClientOptions;
  private readonly wire: Wire;
  private readonly log: Log;
  /** The last tokens that were used, the newest first: an answer may echo an older one than its request had. */
  private usedTokens: readonly string[] = [];

  constructor(options: PartnerClientOptions) {
    this.options = options;
    this.log = logWith(options.log, { run: options.runId });
    this.wire = new Wire(options.settings.baseUrl, options.settings.timeouts, options.clock);
  }

  /**
   * Makes a call. It waits for its first turn as long as the endpoint's budget wants it to: where 10 calls an hour are allowed,
   * the eleventh waits for the hour to pass. Errors: `refused/token_rejected`, `refused/forbidden` (403) and those of the token; `failed/redirect`,
   * `failed/http_<status>`, `failed/total_timeout`; `failed/<code>` of the last try when tries or time are used up; what
   * `consume` throws; the reason of an aborted signal.
   */
  async call<T>(call: Call<T>): Promise<{ value: T; record: FetchRecord }> {
    const { settings, token, clock, pacing } = this.options;
    const concern = concernOf(call);
    const url = callUrl(settings.baseUrl, call);
    const stop = new AbortController();
    const over = new AbortController();
    const unlink = passOn(call.signal, stop);
    try {
      await token.get(call.signal); // a refusal is to be reported before the call queues, and cost no turn
      const turn = await pacing.turn(call.endpoint, call.budget, { signal: call.signal });
      const { totalMs } = settings.timeouts;
      const timeout = () =>
        stop.abort(totalTimeout(`${call.method} ${url.pathname} was not done within ${totalMs} ms`, concern));
      clock.sleep(totalMs, over.signal).then(timeout, () => undefined); // rejected: it ended in time
      const deadlineMs = clock.now() + totalMs;
      const start = { attempt: 0, tries: 0, hasRenewed: false, hasSwapped: false };
      return await this.travel({ call, url, concern, signal: stop.signal, deadlineMs, ...start }, turn);
    } catch (thrown) {
      if (call.signal?.aborted) throw call.signal.reason;
      throw withoutSecrets(asEtlError(thrown), this.secrets()).about(concern);
    } finally {
      over.abort(ENDED);
      unlink();
    }
  }

  /** Calls that there is room for now in an endpoint's budget; null where that is not known yet. */
  budgetLeft(endpoint: string, budget: EndpointBudget): number | null {
    return this.options.pacing.left(endpoint, budget);
  }

  /** Closes the connections; calls still under way fail. */
  async close(): Promise<void> {
    await this.wire.close();
  }

  private async travel<T>(trip: Trip<T>, firstTurn: Turn): Promise<{ value: T; record: FetchRecord }> {
    const { pacing, onFetch } = this.options;
    const { call, signal } = trip;
    let turn = firstTurn;
    for (;;) {
      trip.attempt += 1;
      const { record, consumed, error, token } = await this.traced(trip, turn);
      await onFetch(record);
      if (consumed) return { value: consumed.value, record };
      assert(error, 'a fetch has a value or an error');
      signal.throwIfAborted();
      if (record.status === 401) await this.renewToken(trip, token, error);
      else await this.pauseAfter(trip, error, record.status);
      turn = await pacing.turn(call.endpoint, call.budget, { signal, ticket: turn.ticket });
    }
  }

  /** One try, reported to the tracer: by its path without the query, and without what was sent. */
  private traced<T>(trip: Trip<T>, turn: Turn): Promise<Fetched<T>> {
    const { tracer = noTracer, runId } = this.options;
    const { method, endpoint, about } = trip.call;
    const fields = { 'http.request.method': method, 'url.path': trip.url.pathname, attempt: trip.attempt };
    const ours = { run: runId, pipeline: about.pipeline };
    return spanning(tracer, `${method} ${endpoint}`, { ...fields, ...ours }, async (span) => {
      const fetched = await this.fetch(trip, turn);
      const { fetch_id: request, status } = fetched.record;
      span.set({ request, 'http.response.status_code': status });
      span.fail(fetched.error);
      return fetched;
    });
  }

  /** One try. Throws only when there is no token; everything else is in what it returns. */
  private async fetch<T>(trip: Trip<T>, turn: Turn): Promise<Fetched<T>> {
    const { clock } = this.options;
    const { call, signal, url } = trip;
    let exchange: Exchange | null = null;
    try {
      const token = await this.options.token.get(signal);
      this.usedTokens = [...new Set([token.value, ...this.usedTokens])].slice(0, REMEMBERED_TOKENS);
      const fetchId = newId('f', clock);
      const startedMs = clock.now();
      let consumed: Consumed<T> | null = null;
      let error: EtlError | null = null;
      try {
        exchange = await this.wire.send({
          method: call.method,
          url,
          headers: { ...call.headers, authorization: `Bearer ${token.value}`, 'x-request-id': fetchId },
          body: call.body,
          signal,
          onSent: turn.sent,
        });
        turn.answered();
        await this.heedLimits(call, exchange);
        consumed = await this.consumed(trip, exchange, fetchId);
      } catch (thrown) {
        const raised = signal.aborted ? abortError(signal.reason) : sortedThrown(thrown);
        error = withoutSecrets(raised, this.secrets()).about({ requestId: fetchId, ...trip.concern });
      }
      const record = this.record(trip, { fetchId, startedMs, exchange, consumed, error });
      this.tell(trip, record);
      return { record, consumed, error, token };
    } finally {
      exchange?.close();
      turn.done();
    }
  }

  /** The answer in the caller's hands, or the error that it is. */
  private async consumed<T>(trip: Trip<T>, exchange: Exchange, fetchId: string): Promise<Consumed<T>> {
    const { status } = exchange;
    if (!isAnswer(trip.call, status)) {
      const what = `${trip.call.method} ${trip.url.pathname}`;
      throw await answerError(exchange, what, this.secrets(), this.retryAfterMs(trip.call, exchange));
    }
    const watch = echoWatch(this.usedTokens.slice(0, WATCHED_TOKENS));
    let isInspected = false;
    try {
      const consumed = await trip.call.consume({
        fetchId,
        status,
        contentType: exchange.header('content-type'),
        contentEncoding: exchange.header('content-encoding'),
        header: (name) => exchange.header(name),
        body: exchange.body,
        inspect: (decoded) => {
          isInspected = true;
          watch(decoded);
        },
      });
      if (exchange.failure !== null) throw exchange.failure;
      const isStored = consumed.rawPath !== null && consumed.bytesDecoded > 0;
      assert(isInspected || !isStored, `${trip.call.endpoint}: an answer was stored that nobody looked through`);
      return consumed;
    } catch (error) {
      // Whatever a consumer makes of a broken body, the break is the cause.
      throw exchange.failure ?? error;
    }
  }

  /** What the answer's headers say about waiting holds for every call of the endpoint. */
  private async heedLimits(call: Call<unknown>, exchange: Exchange): Promise<void> {
    const { clock, pacing } = this.options;
    const at = answerTime(exchange.header('date'), clock.now());
    const hold = (ms: number, why: WaitReason) => pacing.hold(call.endpoint, at.nowMs + ms, why, this.log);
    const pauseMs = this.retryAfterMs(call, exchange);
    if (pauseMs !== null && isPassing(exchange.status)) await hold(pauseMs, 'retry-after');
    const [remaining, reset] = [exchange.header('x-ratelimit-remaining'), exchange.header('x-ratelimit-reset')];
    const exhausted = exhaustedMs(remaining, reset, at, call.budget.perSeconds * 1000);
    if (exhausted !== null) await hold(exhausted, 'rate-limit');
  }

  private retryAfterMs({ budget }: Call<unknown>, exchange: Exchange): number | null {
    const at = answerTime(exchange.header('date'), this.options.clock.now());
    return retryAfterMs(exchange.header('retry-after'), at, Math.max(LONGEST_UNPROVED_MS, budget.perSeconds * 1000));
  }

  /** After a 401. A call that used an older token takes the current one, which costs nothing; else it asks for a new one, once. */
  private async renewToken<T>(trip: Trip<T>, used: Token, error: EtlError): Promise<void> {
    const { token } = this.options;
    if (trip.hasRenewed) throw error;
    const current = await token.get(trip.signal);
    if (current.value !== used.value && !trip.hasSwapped) {
      trip.hasSwapped = true;
      return;
    }
    trip.hasRenewed = true;
    this.log.warn('the service rejected the token; asking for a new one', fieldsAbout(error.concern));
    await token.renew(used, trip.signal);
  }

  /** Waits until the next try may be made, or throws what the call ends with. */
  private async pauseAfter<T>(trip: Trip<T>, error: EtlError, status: number | null): Promise<void> {
    const { settings, clock, random, pacing } = this.options;
    const { call, deadlineMs, signal } = trip;
    trip.tries += 1;
    if (error.kind !== 'retry') throw error;
    if (!isSafeToRepeat(call.isRepeatable ?? call.method !== 'POST', error, status))
      throw givenUp(error, 'it is not tried again, since the service may have acted on it');
    if (trip.tries >= settings.retry.tries)
      throw givenUp(error, trip.tries === 1 ? 'no more tries are allowed' : `gave up after ${trip.tries} tries`);
    const nowMs = clock.now();
    const pauseMs = error.retryAfterMs ?? backoffMs(settings.retry, trip.tries, random);
    const waitMs = Math.max(pauseMs, pacing.heldUntilMs(call.endpoint) - nowMs);
    if (nowMs + waitMs >= deadlineMs) {
      const left = `the next try could be made in ${seconds(waitMs)}, but only ${seconds(deadlineMs - nowMs)} are left for the call`;
      throw totalTimeout(`${error.message}; ${left}`, error.concern, error);
    }
    this.log.warn(`trying again in ${seconds(waitMs)}`, {
      ...logFields(trip),
      ...fieldsAbout(error.concern),
      code: error.code,
    });
    await clock.sleep(pauseMs, signal);
  }

  private record<T>(trip: Trip<T>, fetch: FetchFacts<T>): FetchRecord {
    const { call, url, attempt } = trip;
    const { exchange, consumed, error } = fetch;
    const contentType = exchange?.header('content-type') ?? null;
    return {
      fetch_id: fetch.fetchId,
      run_id: this.options.runId,
      pipeline: call.about.pipeline,
      endpoint: call.endpoint,
      window_from: call.about.windowFrom,
      window_to: call.about.windowTo,
      method: call.method,
      url: redact(url.href, this.secrets()),
      attempt,
      started_at: isoTime(fetch.startedMs),
      finished_at: isoTime(this.options.clock.now()),
      status: exchange?.status ?? null,
      content_type: contentType && foreignText(contentType, this.secrets(), CONTENT_TYPE_CHARACTERS),
      bytes_received: exchange?.bytesReceived ?? 0,
      bytes_decoded: consumed?.bytesDecoded ?? 0,
      sha256: consumed?.sha256 ?? null,
      raw_path: consumed?.rawPath ?? null,
      items: consumed?.items ?? null,
      outcome: error ? 'failed' : 'ok',
      error_code: error?.code ?? null,
      error_message: error?.message ?? null,
      ...(consumed?.notes ? { notes: this.withoutSecretsIn(consumed.notes) } : {}),
    };
  }

  private tell<T>(trip: Trip<T>, record: FetchRecord): void {
    const { fetch_id: request, status, bytes_received: bytes, items, error_code: code } = record;
    const fields = { ...logFields(trip), request, status, bytes };
    if (record.outcome === 'ok') this.log[trip.call.isOneOfMany ? 'debug' : 'info']('fetched', { ...fields, items });
    else this.log.warn(`fetch failed: ${record.error_message}`, { ...fields, code });
  }

  private withoutSecretsIn(notes: Readonly<Record<string, string>>): Record<string, string> {
    return Object.fromEntries(Object.entries(notes).map(([name, text]) => [name, redact(text, this.secrets())]));
  }

  private secrets(): string[] {
    const { clientId, clientSecret } = this.options.settings.credentials;
    return [clientSecret, Buffer.from(`${clientId}:${clientSecret}`).toString('base64'), ...this.usedTokens];
  }
}

interface FetchFacts<T> {
  readonly fetchId: string;
  readonly startedMs: number;
  readonly exchange: Exchange | null;
  readonly consumed: Consumed<T> | null;
  readonly error: EtlError | null;
}

function logFields({ call, attempt }: Trip<unknown>): Record<string, unknown> {
  const { pipeline, windowFrom, windowTo } = call.about;
  const slice = windowFrom && windowTo ? { slice: sliceText(windowFrom, windowTo) } : {};
  return { endpoint: call.endpoint, pipeline, ...slice, attempt };
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 100) / 10} s`;
}
