import { processStatuses } from '../../../pipelines/process-statuses.ts';
import { subscriptions } from '../../../pipelines/subscriptions.ts';
import { asEtlError, EtlError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { FetchRecord } from '../../core/records.ts';
import { receiveLookup, smallAnswer } from '../../extract/lookup-answer.ts';
import {
  type ProcessStatus,
  parseProcessStatus,
  parseSignatureKeys,
  parseSubscription,
  parseSubscriptions,
  type SignatureKey,
  type Subscription,
} from '../../extract/subscription-shapes.ts';
import type { ExactDocument } from '../../json/exact-json.ts';
import type { Answer, Call, Consumed } from '../../partner/call.ts';
import {
  processStatusCall,
  type SubscriptionChange,
  type SubscriptionWish,
  signatureKeysCall,
  subscriptionCreateCall,
  subscriptionDeleteCall,
  subscriptionGetCall,
  subscriptionListCall,
  subscriptionUpdateCall,
  testPushCall,
  testsOne,
} from '../../partner/calls/subscriptions.ts';
import { NOT_SENT } from '../../partner/wire.ts';
import { bodyText, documentOf } from '../../sources/body.ts';
import { refusalReason } from '../../sources/refusal.ts';
import type { Gatherer, JsonValue } from '../../store/raw/gather.ts';
import type { Partner, RunContext } from '../context.ts';

const SUBSCRIPTIONS = subscriptions.name;
const PROCESS_STATUSES = processStatuses.name;

/** What the service answers to a request that it carries out later. */
export type StartAnswer =
  | { readonly kind: 'started'; readonly process: ProcessStatus }
  /** `reason` is in the service's words. */
  | { readonly kind: 'refused'; readonly status: number; readonly reason: string; readonly attempt: number };

/** Gets a process as soon as it is known, before anything is written. */
export type OnStarted = (process: ProcessStatus) => void;

type CallsContext = Pick<RunContext, 'clock' | 'signal' | 'raw' | 'openClient'>;

/** Opens the way to the service for one command. Errors: `usage/no_credentials`, and those of the work. */
export async function withSubscriptionCalls<T>(
  context: CallsContext,
  work: (calls: SubscriptionCalls) => Promise<T>,
): Promise<T> {
  const { clock, raw } = context;
  const runId = newId('r', clock);
  // One by one: what was started is not known again from anywhere else.
  const gatherer = raw.gather(PROCESS_STATUSES, clock, 1);
  const tries: FetchRecord[] = [];
  const partner = await context.openClient('retailer', runId, async (record) => {
    if (record.pipeline !== PROCESS_STATUSES) return;
    tries.push(record);
    await gatherer.record(record);
  });
  try {
    return await work(new SubscriptionCalls(context, partner, gatherer, tries));
  } finally {
    await partner.client.close();
    await gatherer.close();
  }
}

/** Errors of all calls: `refused/…`, and those of `PartnerClient.call`. */
export class SubscriptionCalls {
  private readonly context: CallsContext;
  private readonly partner: Partner;
  private readonly gatherer: Gatherer;
  /** Of all calls that say process statuses, up to now. */
  private readonly tries: readonly FetchRecord[];

  constructor(context: CallsContext, partner: Partner, gatherer: Gatherer, tries: readonly FetchRecord[]) {
    this.context = context;
    this.partner = partner;
    this.gatherer = gatherer;
    this.tries = tries;
  }

  list(): Promise<readonly Subscription[]> {
    return this.read((settings, signal) =>
      subscriptionListCall(settings, SUBSCRIPTIONS, reading(parseSubscriptions), signal),
    );
  }

  /** null where there is none of that id. */
  find(id: string): Promise<Subscription | null> {
    const consume = reading(parseSubscription);
    return this.read((settings, signal) => subscriptionGetCall(settings, SUBSCRIPTIONS, id, orNull(consume), signal));
  }

  keys(): Promise<readonly SignatureKey[]> {
    return this.read((settings, signal) =>
      signatureKeysCall(settings, SUBSCRIPTIONS, reading(parseSignatureKeys), signal),
    );
  }

  /** null where the service knows no such process. */
  async status(id: string, signal: AbortSignal): Promise<ProcessStatus | null> {
    const consume = (answer: Answer) => this.keep(answer, { askedBy: 'status', id }, id);
    const { value } = await this.partner.client.call(
      processStatusCall(this.partner.settings, PROCESS_STATUSES, id, consume, signal),
    );
    return value;
  }

  create(wish: SubscriptionWish, onStarted: OnStarted): Promise<StartAnswer> {
    const consume = this.starting('CREATE_SUBSCRIPTION', onStarted);
    return this.start(subscriptionCreateCall(this.partner.settings, PROCESS_STATUSES, wish, consume));
  }

  update(change: SubscriptionChange, onStarted: OnStarted): Promise<StartAnswer> {
    const consume = this.starting('UPDATE_SUBSCRIPTION', onStarted);
    return this.start(subscriptionUpdateCall(this.partner.settings, PROCESS_STATUSES, change, consume));
  }

  remove(id: string, onStarted: OnStarted): Promise<StartAnswer> {
    const consume = this.starting('DELETE_SUBSCRIPTION', onStarted);
    return this.start(subscriptionDeleteCall(this.partner.settings, PROCESS_STATUSES, id, consume));
  }

  /** Whether a test is of one subscription; else it is of all of them, and the id means nothing. */
  get testsOne(): boolean {
    return testsOne(this.partner.settings);
  }

  test(id: string, onStarted: OnStarted): Promise<StartAnswer> {
    const consume = this.starting('SEND_SUBSCRIPTION_TST_MSG', onStarted);
    return this.start(testPushCall(this.partner.settings, PROCESS_STATUSES, id, consume));
  }

  private async read<T>(make: (settings: Partner['settings'], signal: AbortSignal) => Call<T>): Promise<T> {
    const { value } = await this.partner.client.call(make(this.partner.settings, this.context.signal));
    return value;
  }

  /**
   * Makes a call that changes something. It is not broken off by the operator: nobody would know whether it was carried out, and
   * by which process. Errors: `failed/perhaps_done` when that is not known, and the others when it surely was not.
   */
  private async start(call: Call<StartAnswer>): Promise<StartAnswer> {
    this.context.signal.throwIfAborted();
    const triesBefore = this.tries.length;
    try {
      const { value, record } = await this.partner.client.call(call);
      return value.kind === 'refused' ? { ...value, attempt: record.attempt } : value;
    } catch (thrown) {
      const error = asEtlError(thrown);
      throw this.tries.slice(triesBefore).some(mayBeDone) ? perhapsDone(error) : error;
    }
  }

  private starting(startedAs: string, onStarted: OnStarted): (answer: Answer) => Promise<Consumed<StartAnswer>> {
    return async (answer) => {
      if (answer.status >= 300) return refused(answer);
      const consumed = await this.keep(answer, { askedBy: 'start', id: null, startedAs }, null, onStarted);
      return { ...consumed, value: { kind: 'started', process: consumed.value! } };
    };
  }

  /** Packs an answer that says a process status, or that there is none. */
  private async keep(
    answer: Answer,
    questions: JsonValue,
    askedId: string | null,
    onStarted: OnStarted = () => undefined,
  ): Promise<Consumed<ProcessStatus | null>> {
    const { raw } = this.context;
    const { received } = await smallAnswer(answer);
    let process: ProcessStatus | null = null;
    const check = (document: ExactDocument) => {
      process = checkedStatus(document, askedId);
      onStarted(process);
      return 1;
    };
    const incoming = { ...answer, body: once(received) };
    const place = { pipeline: PROCESS_STATUSES, raw, gatherer: this.gatherer };
    const consumed = await receiveLookup(incoming, questions, check, place);
    return { ...consumed, value: process };
  }
}

/** Errors: as of `parseProcessStatus`, and `failed/other_process`. */
function checkedStatus(document: ExactDocument, askedId: string | null): ProcessStatus {
  const process = parseProcessStatus(document);
  if (askedId === null || process.id.toLowerCase() === askedId.toLowerCase()) return process;
  throw new EtlError('failed', 'other_process', `the service answered about process ${process.id}`);
}

/** A request that was turned down names no process and is not kept. */
async function refused(answer: Answer): Promise<Consumed<StartAnswer>> {
  const { status } = answer;
  const { decoded } = await smallAnswer(answer);
  const reason = refusalReason(status, bodyText(decoded));
  return unkept({ kind: 'refused', status, reason, attempt: 1 } as const, decoded.length);
}

/** Takes an answer in and keeps it nowhere. What is no JSON is a page of somebody else's, which passes. */
function reading<T>(parse: (document: ExactDocument) => T): (answer: Answer) => Promise<Consumed<T>> {
  return async (answer) => {
    const { decoded } = await smallAnswer(answer);
    try {
      return unkept(parse(documentOf(decoded)), decoded.length);
    } catch (error) {
      if (!(error instanceof EtlError) || error.code !== 'not_json') throw error;
      throw new EtlError('retry', error.code, error.message, { cause: error.cause });
    }
  };
}

function orNull<T>(consume: (answer: Answer) => Promise<Consumed<T>>): (answer: Answer) => Promise<Consumed<T | null>> {
  return async (answer) => {
    if (answer.status !== 404) return consume(answer);
    const { decoded } = await smallAnswer(answer);
    return unkept(null, decoded.length);
  };
}

function unkept<T>(value: T, bytesDecoded: number): Consumed<T> {
  return { value, bytesDecoded, sha256: null, rawPath: null, items: null };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Whether the service may have acted on a try that failed: it may have seen it, and did not turn it down. */
function mayBeDone({ status, error_code: code }: FetchRecord): boolean {
  return status === null ? code === null || !NOT_SENT.has(code) : status < 300 || status >= 500;
}

function perhapsDone(error: EtlError): EtlError {
  const message = `the request may have been carried out all the same, but its answer is lost: ${error.message}`;
  return new EtlError('failed', 'perhaps_done', message, { concern: error.concern, cause: error });
}
