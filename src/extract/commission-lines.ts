/**
 * Answers of bulk commission → lines of the pipelines commission-rates and commission-reductions.
 *
 * Each record is matched to its question by the EAN. What was asked and is missing from the answer becomes a row `not_found`;
 * what the service refused, a row `refused`. A record that fits no question, or loses against another, is a reject.
 *
 * For each answer:  items = found + rejects + duplicates,  and  asked = found + notFound + refused + rejectedQuestions + open.
 * `open` are those of a refused batch that nothing was said about: they were asked again in another call.
 */
import { assert, EtlError } from '../core/errors.ts';
import {
  type ExactDocument,
  type ExactJson,
  type ExactObject,
  exactText,
  isExactArray,
  isExactObject,
} from '../core/exact-json.ts';
import { LIMITS } from '../core/limits.ts';
import type { DriftRecord, FetchRecord } from '../core/records.ts';
import type { CommissionQuestion } from '../partner/lookups.ts';
import { verdictOf } from './batches.ts';
import { type Answered, bodyText, documentOf, isRefusal, isSoundUtf8, type LookupAnswer } from './lookup-answer.ts';
import { refusalOf } from './refusal.ts';
import { DriftCounts, Line, type LineFile, LineSink, rejectRaw, type ToldBy, toldBy } from './told-lines.ts';
import { type Expected, kindOf, plainText, ValueTaker } from './told-values.ts';

const RATES = 'commission-rates';
const REDUCTIONS = 'commission-reductions';

/** Members of a record that become a field as they are; the others are looked at one by one. */
const RATE_FIELDS: readonly (readonly [field: string, expected: Expected])[] = [
  ['fixedAmount', 'number'],
  ['percentage', 'number'],
  ['totalCost', 'number'],
  ['totalCostWithoutReduction', 'number'],
];
const RATE_MEMBERS = new Set(['ean', 'condition', 'reductions', ...RATE_FIELDS.map(([field]) => field)]);
const REDUCTION_FIELDS: readonly (readonly [field: string, expected: Expected])[] = [
  ['maximumPrice', 'number'],
  ['costReduction', 'number'],
  ['startDate', 'text'],
  ['endDate', 'text'],
];
const REDUCTION_MEMBERS = new Set(REDUCTION_FIELDS.map(([field]) => field));

export interface CommissionCounts {
  /** Questions of all answers, and records in them. */
  asked: number;
  items: number;
  found: number;
  notFound: number;
  refused: number;
  /** Records that cannot become a row, and the questions that had nothing else. */
  rejects: number;
  rejectedQuestions: number;
  duplicates: number;
  open: number;
}

export interface CommissionFiles {
  readonly rates: LineFile;
  readonly reductions: LineFile;
  /** Lines of ToldReject. */
  readonly rejects: LineFile;
  readonly counts: Readonly<CommissionCounts>;
  readonly drift: readonly DriftRecord[];
}

/** How many records a bulk answer has. Errors: `failed/not_an_object`, `failed/no_commissions`. */
export function commissionItems({ value }: ExactDocument): number {
  return commissionsIn(value).length;
}

export class CommissionLines {
  private readonly timeZone: string;
  private readonly rates: LineSink;
  private readonly reductions: LineSink;
  private readonly rejects: LineSink;
  private readonly drift = new DriftCounts(RATES);
  private readonly partDrift = new DriftCounts(REDUCTIONS);
  private readonly counts: CommissionCounts = {
    asked: 0,
    items: 0,
    found: 0,
    notFound: 0,
    refused: 0,
    rejects: 0,
    rejectedQuestions: 0,
    duplicates: 0,
    open: 0,
  };
  /** Numbers of the next row or reject, and of the next row of the part. */
  private item = 0;
  private partItem = 0;

  private constructor(timeZone: string, sinks: readonly [LineSink, LineSink, LineSink]) {
    this.timeZone = timeZone;
    [this.rates, this.reductions, this.rejects] = sinks;
  }

  /** Opens the files in a folder that is there; `timeZone` is the service's. */
  static async open(folder: string, timeZone: string): Promise<CommissionLines> {
    const open = (name: string) => LineSink.open(folder, name);
    return new CommissionLines(timeZone, [await open(RATES), await open(REDUCTIONS), await open(`${RATES}.rejects`)]);
  }

  /**
   * Takes an answer with what was asked, also one that refuses. Errors: `failed/not_json`, `failed/not_an_object`,
   * `failed/no_commissions`, and `failed/damaged_answer` where the questions are none; nothing of the answer is taken then.
   */
  async take({ fetch, asked, body }: LookupAnswer): Promise<void> {
    const questions = questionsIn(asked, fetch);
    const part = toldBy(fetch, this.timeZone, this.partItem);
    const told = { ...toldBy(fetch, this.timeZone, this.item), part };
    if (isRefusal(fetch)) this.takeRefusal(fetch, questions, body, told);
    else this.takeDocument(questions, documentOf(body), told, isSoundUtf8(body));
    await Promise.all([this.rates.flush(), this.reductions.flush(), this.rejects.flush()]);
  }

  async close(): Promise<CommissionFiles> {
    const [rates, reductions, rejects] = await Promise.all([
      this.rates.close(),
      this.reductions.close(),
      this.rejects.close(),
    ]);
    const { counts } = this;
    assert(counts.items === counts.found + counts.rejects + counts.duplicates, 'a commission record went astray');
    const questions = counts.found + counts.notFound + counts.refused + counts.rejectedQuestions + counts.open;
    assert(counts.asked === questions, 'a commission question went astray');
    return { rates, reductions, rejects, counts, drift: [...this.drift.report(), ...this.partDrift.report()] };
  }

  private takeRefusal(
    { status }: Answered,
    questions: readonly CommissionQuestion[],
    body: Uint8Array,
    told: ToldBy,
  ): void {
    const eans = questions.map(({ ean }) => ean);
    const { refused, open } = verdictOf(questions, refusalOf(status, bodyText(body), eans));
    this.counts.asked += questions.length;
    this.counts.refused += refused.length;
    this.counts.open += open.length;
    for (const { question, reason } of refused)
      this.rates.put(this.head(question, told).putPlain('outcome', 'refused').put('reason', reason));
  }

  private takeDocument(
    questions: readonly CommissionQuestion[],
    document: ExactDocument,
    told: AnswerTold,
    isSound: boolean,
  ): void {
    const records = commissionsIn(document.value);
    const { fetchId: fetch_id, firstItem } = told;
    for (const { kind, name, count } of document.mends) this.drift.add(fetch_id, kind, name, '', count);
    if (!isSound) this.drift.add(fetch_id, 'invalid_utf8', 'commissions', '');
    for (const [name, value] of document.value as ExactObject)
      if (name !== 'commissions') this.drift.add(fetch_id, 'unknown_member', name, exactText(value));
    const byEan = new Map(questions.map((question) => [question.ean, question]));
    const found = new Map<string, ExactObject>();
    const rejected = new Set<string>();
    const reject = (value: ExactJson, { reason, detail, ean }: Fault) => {
      if (ean !== undefined) rejected.add(ean);
      this.counts.rejects++;
      const raw = rejectRaw(document.sentText(value));
      this.rejects.put({ fetch_id, item: this.item++ - firstItem, day: told.observedOn, reason, detail, raw });
    };
    for (const record of records) {
      const matched = this.matched(record, byEan, document, fetch_id);
      if ('reason' in matched) {
        reject(record, matched);
        continue;
      }
      const { ean } = matched.question;
      const before = found.get(ean);
      found.set(ean, matched.record);
      if (before === undefined) continue;
      if (exactText(before) === exactText(matched.record)) this.counts.duplicates++;
      else reject(before, { reason: 'conflicting_key', detail: `ean = ${ean}`, ean });
    }
    for (const [ean, record] of found) this.putFound(byEan.get(ean)!, record, document, told);
    const missing = questions.filter(({ ean }) => !found.has(ean) && !rejected.has(ean));
    for (const question of missing) this.rates.put(this.head(question, told).putPlain('outcome', 'not_found'));
    this.counts.asked += questions.length;
    this.counts.items += records.length;
    this.counts.found += found.size;
    this.counts.notFound += missing.length;
    this.counts.rejectedQuestions += questions.length - found.size - missing.length;
  }

  /** The question that a record answers, or why there is none. */
  private matched(
    record: ExactJson,
    byEan: ReadonlyMap<string, CommissionQuestion>,
    document: ExactDocument,
    fetchId: string,
  ): { readonly question: CommissionQuestion; readonly record: ExactObject } | Fault {
    if (!isExactObject(record)) return { reason: 'not_an_object', detail: `the record is ${kindOf(record)}` };
    const value = record.get('ean');
    if (value === undefined || value === null || value === '') return { reason: 'missing_field', detail: 'ean' };
    const text = plainText(value);
    if (text === null) return { reason: 'bad_text', detail: 'ean' };
    const isText = typeof value === 'string';
    const question = byEan.get(isText ? text : text.padStart(13, '0'));
    if (question === undefined) return { reason: 'not_asked', detail: `ean = ${text.slice(0, 200)}` };
    const { ean, condition } = question;
    if (document.sentText(record).length > LIMITS.itemBytes)
      return { reason: 'item_too_large', detail: `is larger than ${LIMITS.itemBytes} characters`, ean };
    const told = record.get('condition') ?? condition;
    if (typeof told !== 'string' || told.toUpperCase() !== condition)
      return {
        reason: 'other_condition',
        detail: `condition = ${exactText(told).slice(0, 200)}, not ${condition}`,
        ean,
      };
    if (!isText) this.drift.add(fetchId, 'text_as_number', 'ean', text);
    return { question, record };
  }

  private putFound(question: CommissionQuestion, record: ExactObject, document: ExactDocument, told: AnswerTold): void {
    const line = this.head(question, told).putPlain('outcome', 'found');
    const values = new ValueTaker(line, told.fetchId, this.drift);
    // Version 3 of the interface says `price`, later ones `unitPrice`.
    const price = record.has('unitPrice') ? 'unitPrice' : 'price';
    values.take('unitPrice', 'number', record.get(price), price);
    for (const [field, expected] of RATE_FIELDS) values.take(field, expected, record.get(field));
    for (const [name, value] of record) if (name !== price && !RATE_MEMBERS.has(name)) values.keepUnknown(name, value);
    const reductions = record.get('reductions');
    const boundaries = isExactArray(reductions) ? reductions : [];
    // An empty list says what its absence says.
    if (boundaries.length > 0 || !isExactArray(reductions)) values.take('reductions', 'list', reductions);
    if (boundaries.some((boundary) => !isExactObject(boundary))) values.refuse('list', 'reductions');
    this.rates.put(values.finish(document.sentText(record)));
    for (const [position, boundary] of boundaries.entries())
      if (isExactObject(boundary)) this.putReduction(question, line.item, position, boundary, told.part);
  }

  private putReduction(
    question: CommissionQuestion,
    whole: number,
    position: number,
    boundary: ExactObject,
    told: ToldBy,
  ): void {
    const line = named(question, told, this.partItem++)
      .putPlain('_p', String(whole))
      .putPlain('position', String(position));
    const values = new ValueTaker(line, told.fetchId, this.partDrift);
    for (const [field, expected] of REDUCTION_FIELDS) values.take(field, expected, boundary.get(field));
    values.keepOthers(boundary, REDUCTION_MEMBERS);
    this.reductions.put(values.finish(exactText(boundary)));
  }

  private head(question: CommissionQuestion, told: ToldBy): Line {
    return named(question, told, this.item++);
  }
}

/** By whom the rows of an answer are told, and those of the part in it. */
interface AnswerTold extends ToldBy {
  readonly part: ToldBy;
}

interface Fault {
  readonly reason: string;
  readonly detail: string;
  /** The question that it concerns, where there is one. */
  readonly ean?: string;
}

function named({ ean, condition, price }: CommissionQuestion, told: ToldBy, item: number): Line {
  const line = new Line(item, told).put('ean', ean).put('condition', condition);
  return price === null ? line : line.put('askedPrice', price);
}

function commissionsIn(value: ExactJson): readonly ExactJson[] {
  if (!isExactObject(value))
    throw new EtlError('failed', 'not_an_object', `the answer is ${kindOf(value)}, not an object with commissions`);
  const commissions = value.get('commissions');
  if (isExactArray(commissions)) return commissions;
  const what = commissions === undefined ? 'has no commissions' : `has commissions that are ${kindOf(commissions)}`;
  throw new EtlError('failed', 'no_commissions', `the answer ${what}`);
}

/** The questions as they were packed. They are ours, but the file may be damaged. */
function questionsIn(asked: unknown, fetch: FetchRecord): CommissionQuestion[] {
  const isQuestion = (one: Partial<CommissionQuestion> | null) =>
    typeof one?.ean === 'string' &&
    typeof one.condition === 'string' &&
    (one.price === null || typeof one.price === 'string');
  if (Array.isArray(asked) && asked.every(isQuestion)) return asked as CommissionQuestion[];
  throw new EtlError('failed', 'damaged_answer', `fetch ${fetch.fetch_id} has no questions beside its answer`, {
    concern: { pipeline: fetch.pipeline, requestId: fetch.fetch_id },
  });
}
