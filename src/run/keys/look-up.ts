/**
 * Single look-ups for a person: asked under the installation's own token and budgets, and shown. Nothing is stored: no raw store, no
 * lake, no record of a run and no lock, so it may be done while a night runs.
 *
 * A question that the service cannot answer is an outcome. A call that fails leaves its questions `failed` and the others go on;
 * after several failures in a row the rest is not asked.
 */
import { type CommissionCall, commissionRates, singleCommission } from '../../../pipelines/commission-rates.ts';
import { type Market, type ProductSettings, products } from '../../../pipelines/products.ts';
import { assert, EtlError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { KeysRequest } from '../../core/source.ts';
import type { ListedEan } from '../../extract/ean-list.ts';
import { type DocumentCheck, wholeAnswer } from '../../extract/lookup-answer.ts';
import { type ExactDocument, type ExactJson, type ExactObject, isExactObject } from '../../json/exact-json.ts';
import type { Answer, Call, Consumed } from '../../partner/call.ts';
import { keysCall, keysRequest } from '../../partner/calls/lookups.ts';
import { callOf } from '../../partner/settings.ts';
import { type AskOutcome, askBatch, batchesOf, RefusalWatch, verdictOf } from '../../sources/batches.ts';
import { bodyText, documentOf } from '../../sources/body.ts';
import { countRecords } from '../../sources/reader.ts';
import { refusalOf, refusalReason } from '../../sources/refusal.ts';
import { kindOf, plainText } from '../../sources/values.ts';
import { type Partner, type RunContext, settingsOf } from '../context.ts';
import { isHopeless, ManyCalls } from './many-calls.ts';

/**
 * - `found`: there is a record
 * - `not_found`: 404, or missing from an answer about many
 * - `bad_request`, `not_acceptable`: of products, 400 (a country that is not served) and 406 (a language that is not)
 * - `refused`: of commissions, any other refusal
 * - `rejected`: the service answered another question than was asked
 * - `failed`: the call failed, or was given up after others had
 */
export type LookUpOutcome =
  | 'found'
  | 'not_found'
  | 'bad_request'
  | 'not_acceptable'
  | 'refused'
  | 'rejected'
  | 'failed';

interface Answered {
  readonly outcome: LookUpOutcome;
  /** Why there is no record, mostly in the service's words: to be shown as foreign text. null when there is one. */
  readonly reason: string | null;
  /** As the service sent it. */
  readonly record: ExactObject | null;
}

export interface LookedUp<Q> extends Answered {
  readonly question: Q;
}

export interface LookUpResult<Q> {
  /** In the order of the questions. */
  readonly answers: readonly LookedUp<Q>[];
  /** Of calls that failed. */
  readonly errors: readonly EtlError[];
}

export interface ProductQuestion extends Market {
  readonly ean: string;
}

/** The market to ask about: what was named, and for the rest the first market of the settings that fits it, or the very first. */
export function marketFor(context: Pick<RunContext, 'settings'>, named: Partial<Market>): Market {
  const { markets } = settingsOf<ProductSettings>(context, products);
  const { country, language } = named;
  const fits = (market: Market) =>
    (country === undefined || market.country === country) && (language === undefined || market.language === language);
  const { country: usualCountry, language: usualLanguage } = markets.find(fits) ?? markets[0]!;
  return { country: country ?? usualCountry, language: language ?? usualLanguage };
}

/**
 * Products of the catalogue, a call each, with the parts that the settings ask for. Errors: `usage/no_credentials`, `refused/…`,
 * and what the first call failed with when none was answered.
 */
export function lookUpProducts(
  context: RunContext,
  questions: readonly ProductQuestion[],
): Promise<LookUpResult<ProductQuestion>> {
  return inquire(context, products, questions, async (inquiry) => {
    const { calls } = inquiry.partner.settings;
    const settings = settingsOf<unknown>(context, products);
    const units = questions.map((question) => [question] as const);
    await inquiry.each(units, callOf(calls, products).budget.concurrency, async ([question]) => {
      const { ean, country, language } = question;
      const request = keysRequest(calls, products, [{ ean, country, language }], settings);
      inquiry.note(question, productAnswer(question, await received(inquiry, request, countOf(inquiry))));
    });
  });
}

/**
 * Commissions: one question by a call of its own, many in batches, which are asked again without the questions that the service
 * refuses. An EAN stands in the questions once. Errors: as of `lookUpProducts`.
 */
export function lookUpCommissions(
  context: RunContext,
  questions: readonly ListedEan[],
): Promise<LookUpResult<ListedEan>> {
  return inquire(context, commissionRates, questions, async (inquiry) => {
    const { budget, bulk } = callOf<CommissionCall>(inquiry.partner.settings.calls, commissionRates);
    if (questions.length === 1) return inquiry.each([questions], 1, (unit) => askOne(inquiry, unit[0]!));
    const watch = new RefusalWatch();
    return inquiry.each(batchesOf(questions, bulk.eansPerRequest), budget.concurrency, async (batch) => {
      await askBatch(batch, (some) => askMany(inquiry, some), watch);
    });
  });
}

/** Makes the call and reads what comes. */
function received<Q>(inquiry: Inquiry<Q>, request: KeysRequest, check: DocumentCheck): Promise<Received> {
  const { partner, pipeline, signal } = inquiry;
  return inquiry.call(keysCall(partner.settings.calls, pipeline, request, receiving(check), signal));
}

function countOf<Q>({ pipeline }: Inquiry<Q>): DocumentCheck {
  return (document) => countRecords(pipeline, document);
}

async function askOne(inquiry: Inquiry<ListedEan>, question: ListedEan): Promise<void> {
  const call = callOf<CommissionCall>(inquiry.partner.settings.calls, commissionRates);
  const request = singleCommission({ ...question }, call);
  const { status, text, document } = await received(inquiry, request, commissionItem);
  if (document === null) inquiry.note(question, refusedAnswer(status, refusalReason(status, text)));
  else inquiry.note(question, commissionAnswer(question, document.value as ExactObject));
}

/** Tells what an answer settles, also one that refuses; what it leaves open is asked again by `askBatch`. */
async function askMany(inquiry: Inquiry<ListedEan>, questions: readonly ListedEan[]): Promise<AskOutcome> {
  const keys = questions.map((question) => ({ ...question }));
  const request = keysRequest(inquiry.partner.settings.calls, commissionRates, keys, undefined);
  const { status, text, document } = await received(inquiry, request, countOf(inquiry));
  if (document !== null) {
    const records = recordsByEan(document.value as ExactObject);
    for (const question of questions) {
      const record = records.get(question.ean);
      inquiry.note(question, record === undefined ? LEFT_OUT : commissionAnswer(question, record));
    }
    return { kind: 'answered' };
  }
  const eans = questions.map(({ ean }) => ean);
  const refusal = refusalOf(status, text, eans);
  for (const { question, reason } of verdictOf(questions, refusal).refused)
    inquiry.note(question, refusedAnswer(status, reason));
  return { kind: 'refused', ...refusal };
}

/** Opens the way into the area, asks, and tells what came of every question. */
async function inquire<Q>(
  context: RunContext,
  pipeline: Pipeline,
  questions: readonly Q[],
  ask: (inquiry: Inquiry<Q>) => Promise<void>,
): Promise<LookUpResult<Q>> {
  const { area } = pipeline.source;
  assert(area, `${pipeline.name} is filled without calls`);
  const partner = await context.openClient(area, newId('r', context.clock), async () => undefined);
  try {
    const inquiry = new Inquiry<Q>(pipeline, partner, context.signal);
    await ask(inquiry).finally(inquiry.calls.end);
    return inquiry.result(questions);
  } finally {
    await partner.client.close();
  }
}

class Inquiry<Q> {
  readonly pipeline: Pipeline;
  readonly partner: Partner;
  readonly calls: ManyCalls;
  private readonly operator: AbortSignal;
  private readonly answered = new Map<Q, Answered>();
  private readonly errors: EtlError[] = [];

  constructor(pipeline: Pipeline, partner: Partner, operator: AbortSignal) {
    this.pipeline = pipeline;
    this.partner = partner;
    this.operator = operator;
    this.calls = new ManyCalls(operator);
  }

  /** Aborted by the operator, or when the rest is given up. */
  get signal(): AbortSignal {
    return this.calls.signal;
  }

  note(question: Q, answered: Answered): void {
    this.answered.set(question, answered);
  }

  async call<T>(call: Call<T>): Promise<T> {
    return (await this.partner.client.call(call)).value;
  }

  /** Asks the units, `concurrency` at once. What was asked in one that fails, and not answered before, counts as failed. */
  each<U extends readonly Q[]>(
    units: Iterable<U>,
    concurrency: number,
    ask: (unit: U) => Promise<void>,
  ): Promise<void> {
    return this.calls.each(units, concurrency, ask, (error, unit) => {
      this.errors.push(error);
      for (const question of unit)
        if (!this.answered.has(question))
          this.note(question, { outcome: 'failed', reason: error.message, record: null });
    });
  }

  result(questions: readonly Q[]): LookUpResult<Q> {
    this.operator.throwIfAborted();
    const hopeless = this.errors.find(isHopeless);
    if (hopeless) throw hopeless;
    const isAnswered = [...this.answered.values()].some(({ outcome }) => outcome !== 'failed');
    const [first] = this.errors;
    if (first && !isAnswered) throw first;
    const answers = questions.map((question) => ({ question, ...(this.answered.get(question) ?? GIVEN_UP) }));
    return { answers, errors: this.errors };
  }
}

const GIVEN_UP: Answered = { outcome: 'failed', reason: 'given up, since other calls failed', record: null };
const LEFT_OUT: Answered = { outcome: 'not_found', reason: 'the answer leaves it out', record: null };

interface Received {
  readonly status: number;
  readonly text: string;
  /** null for an answer that says why there is none. */
  readonly document: ExactDocument | null;
}

/** Takes an answer in and keeps it nowhere. Errors: as of `receiveLookup`. */
function receiving(check: DocumentCheck): (answer: Answer) => Promise<Consumed<Received>> {
  return async ({ status, ...answer }) => {
    const { decoded } = await wholeAnswer(answer);
    const document = status < 300 ? soundDocument(decoded) : null;
    const items = document && check(document);
    const value = { status, text: bodyText(decoded), document };
    return { value, bytesDecoded: decoded.length, sha256: null, rawPath: null, items };
  };
}

/** What is no JSON is a page of somebody else's, which passes. */
function soundDocument(body: Uint8Array): ExactDocument {
  try {
    return documentOf(body);
  } catch (error) {
    if (!(error instanceof EtlError) || error.code !== 'not_json') throw error;
    throw new EtlError('retry', error.code, error.message, { cause: error.cause });
  }
}

/** The answer about one EAN is its record. Errors: `failed/not_an_object`. */
function commissionItem({ value }: ExactDocument): number {
  if (isExactObject(value)) return 1;
  throw new EtlError('failed', 'not_an_object', `the answer is ${kindOf(value)}, not a commission`);
}

const PRODUCT_OUTCOMES: Readonly<Record<number, LookUpOutcome>> = { 400: 'bad_request', 406: 'not_acceptable' };

function productAnswer(question: ProductQuestion, { status, text, document }: Received): Answered {
  if (document !== null) return foundAnswer(question.ean, document.value as ExactObject);
  const answered = refusedAnswer(status, refusalReason(status, text));
  return { ...answered, outcome: PRODUCT_OUTCOMES[status] ?? answered.outcome };
}

function commissionAnswer({ ean, condition }: ListedEan, record: ExactObject): Answered {
  const answered = record.get('condition') ?? condition;
  if (typeof answered === 'string' && answered.toUpperCase() === condition) return foundAnswer(ean, record);
  const named = plainText(answered) ?? kindOf(answered);
  return { outcome: 'rejected', reason: `the service answered about the condition ${named}`, record: null };
}

/** A record without an EAN is that of the question. */
function foundAnswer(ean: string, record: ExactObject): Answered {
  const answered = eanIn(record);
  if (answered === null || answered === ean) return { outcome: 'found', reason: null, record };
  return { outcome: 'rejected', reason: `the service answered about the EAN ${answered}`, record: null };
}

function refusedAnswer(status: number, reason: string): Answered {
  return { outcome: status === 404 ? 'not_found' : 'refused', reason, record: null };
}

/** Of records of one EAN the last one counts. */
function recordsByEan(document: ExactObject): Map<string, ExactObject> {
  const records = new Map<string, ExactObject>();
  for (const record of document.get('commissions') as readonly ExactJson[]) {
    const ean = isExactObject(record) ? eanIn(record) : null;
    if (ean !== null) records.set(ean, record as ExactObject);
  }
  return records;
}

/** The record's EAN; one that was sent as a number has lost its leading zeros. */
function eanIn(record: ExactObject): string | null {
  const text = plainText(record.get('ean'));
  if (text === null || text === '') return null;
  return typeof record.get('ean') === 'string' ? text : text.padStart(13, '0');
}
