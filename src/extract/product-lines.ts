/**
 * Answers of the catalogue → lines of the pipeline products: one record an answer. What the service does not show (404), or not
 * for that country (400) or language (406), is a row too, with what it said.
 *
 * For each answer:  1 = found + missing + rejects.
 */
import { assert, EtlError } from '../core/errors.ts';
import {
  type ExactDocument,
  type ExactJson,
  ExactNumber,
  type ExactObject,
  isExactArray,
  isExactObject,
} from '../core/exact-json.ts';
import { LIMITS } from '../core/limits.ts';
import type { DriftRecord, FetchRecord } from '../core/records.ts';
import type { ProductQuestion } from '../partner/lookups.ts';
import { bodyText, documentOf, isRefusal, isSoundUtf8, type LookupAnswer } from './lookup-answer.ts';
import { refusalReason } from './refusal.ts';
import { DriftCounts, Line, type LineFile, LineSink, rejectRaw, type ToldBy, toldBy } from './told-lines.ts';
import { type Expected, kindOf, plainText, ValueTaker } from './told-values.ts';

const PRODUCTS = 'products';

type Field = readonly [field: string, expected: Expected, member: string];

const OWN: readonly Field[] = [
  ['bolProductId', 'text', 'bolProductId'],
  ['title', 'text', 'title'],
  ['description', 'text', 'description'],
  ['url', 'text', 'url'],
  ['rating', 'number', 'rating'],
  ['gpc', 'list', 'gpc'],
];
/** Members of the objects inside a product. */
const NESTED: Readonly<Record<string, readonly Field[]>> = {
  image: [
    ['imageUrl', 'text', 'url'],
    ['imageMimeType', 'text', 'mimeType'],
    ['imageWidth', 'number', 'width'],
    ['imageHeight', 'number', 'height'],
  ],
  offer: [
    ['offerPrice', 'number', 'price'],
    ['offerStrikethroughPrice', 'number', 'strikethroughPrice'],
    ['offerDeliveryDescription', 'text', 'deliveryDescription'],
  ],
};
const GROUPS = 'specificationGroups';
const OWN_MEMBERS = new Set(['ean', GROUPS, ...OWN.map(([, , member]) => member), ...Object.keys(NESTED)]);

const OUTCOMES: Readonly<Record<number, string>> = { 400: 'bad_request', 404: 'not_found', 406: 'not_acceptable' };

export interface ProductCounts {
  asked: number;
  found: number;
  /** Not found, refused for the country or the language. */
  missing: number;
  rejects: number;
}

export interface ProductFiles {
  readonly products: LineFile;
  /** Lines of ToldReject. */
  readonly rejects: LineFile;
  readonly counts: Readonly<ProductCounts>;
  readonly drift: readonly DriftRecord[];
}

/** A product is one record. Errors: `failed/not_an_object`. */
export function productItems({ value }: ExactDocument): number {
  productIn(value);
  return 1;
}

export class ProductLines {
  private readonly timeZone: string;
  private readonly products: LineSink;
  private readonly rejects: LineSink;
  private readonly drift = new DriftCounts(PRODUCTS);
  private readonly counts: ProductCounts = { asked: 0, found: 0, missing: 0, rejects: 0 };
  /** Number of the next row or reject. */
  private item = 0;

  private constructor(timeZone: string, products: LineSink, rejects: LineSink) {
    this.timeZone = timeZone;
    this.products = products;
    this.rejects = rejects;
  }

  /** Opens the files in a folder that is there; `timeZone` is the service's. */
  static async open(folder: string, timeZone: string): Promise<ProductLines> {
    const products = await LineSink.open(folder, PRODUCTS);
    return new ProductLines(timeZone, products, await LineSink.open(folder, `${PRODUCTS}.rejects`));
  }

  /**
   * Takes an answer with what was asked, also one that tells no product. Errors: `failed/not_json`, `failed/not_an_object`, and
   * `failed/damaged_answer` where the question is none; nothing of the answer is taken then.
   */
  async take({ fetch, asked, body }: LookupAnswer): Promise<void> {
    const question = questionIn(asked, fetch);
    const told = toldBy(fetch, this.timeZone, this.item);
    if (isRefusal(fetch)) {
      const outcome = OUTCOMES[fetch.status];
      assert(outcome, `no outcome of a product look-up has the status ${fetch.status}`);
      const reason = refusalReason(fetch.status, bodyText(body));
      this.products.put(this.head(question, told, outcome).put('reason', reason));
      this.counts.missing++;
    } else this.takeProduct(question, documentOf(body), told, isSoundUtf8(body));
    this.counts.asked++;
    await Promise.all([this.products.flush(), this.rejects.flush()]);
  }

  async close(): Promise<ProductFiles> {
    const [products, rejects] = await Promise.all([this.products.close(), this.rejects.close()]);
    const { counts } = this;
    assert(counts.asked === counts.found + counts.missing + counts.rejects, 'a product went astray');
    return { products, rejects, counts, drift: this.drift.report() };
  }

  private takeProduct(question: ProductQuestion, document: ExactDocument, told: ToldBy, isSound: boolean): void {
    const { fetchId, observedOn: day, firstItem } = told;
    const record = productIn(document.value);
    for (const { kind, name, count } of document.mends) this.drift.add(fetchId, kind, name, '', count);
    if (!isSound) this.drift.add(fetchId, 'invalid_utf8', 'payload', '');
    const raw = document.sentText(record);
    const fault = faultOf(record, raw, question.ean);
    if (fault !== null) {
      this.counts.rejects++;
      this.rejects.put({ fetch_id: fetchId, item: this.item++ - firstItem, day, ...fault, raw: rejectRaw(raw) });
      return;
    }
    const ean = record.get('ean');
    if (ean instanceof ExactNumber) this.drift.add(fetchId, 'text_as_number', 'ean', ean.text);
    const line = this.head(question, told, 'found').put('payload', this.drift.jsonText(fetchId, 'payload', record));
    const values = new ValueTaker(line, fetchId, this.drift);
    for (const [field, expected, member] of OWN) values.take(field, expected, record.get(member), member);
    for (const [name, fields] of Object.entries(NESTED)) takeNested(values, name, fields, record.get(name));
    values.take(GROUPS, 'list', withValueLists(record.get(GROUPS)));
    values.keepOthers(record, OWN_MEMBERS);
    this.products.put(values.finish(raw));
    this.counts.found++;
  }

  private head({ ean, country, language }: ProductQuestion, told: ToldBy, outcome: string): Line {
    const line = new Line(this.item++, told).put('ean', ean).put('countryCode', country).put('language', language);
    return line.putPlain('outcome', outcome);
  }
}

function takeNested(values: ValueTaker, name: string, fields: readonly Field[], value: ExactJson | undefined): void {
  if (value === undefined || value === null) return;
  if (!isExactObject(value)) {
    values.refuse('object', name);
    return;
  }
  for (const [field, expected, member] of fields) values.take(field, expected, value.get(member), `${name}.${member}`);
  values.keepOthers(value, new Set(fields.map(([, , member]) => member)), `${name}.`);
}

/** Why the record cannot become a row. A record without an EAN is that of the question. */
function faultOf(
  record: ExactObject,
  raw: string,
  asked: string,
): { readonly reason: string; readonly detail: string } | null {
  if (raw.length > LIMITS.itemBytes)
    return { reason: 'item_too_large', detail: `is larger than ${LIMITS.itemBytes} characters` };
  const value = record.get('ean');
  if (value === undefined || value === null || value === '') return null;
  const text = plainText(value);
  if (text === null) return { reason: 'bad_text', detail: 'ean' };
  if (text.padStart(13, '0') === asked) return null;
  return { reason: 'other_ean', detail: `ean = ${text.slice(0, 200)}, not ${asked}` };
}

/** The groups with every `values` as an array: live data has arrays, the published sample a text. */
function withValueLists(groups: ExactJson | undefined): ExactJson | undefined {
  if (!isExactArray(groups)) return groups;
  return groups.map((group) => {
    const specifications = isExactObject(group) ? group.get('specifications') : undefined;
    if (!isExactObject(group) || !isExactArray(specifications)) return group;
    return new Map([...group, ['specifications', specifications.map(withValueList)]]);
  });
}

function withValueList(specification: ExactJson): ExactJson {
  if (!isExactObject(specification)) return specification;
  const values = specification.get('values');
  if (values === undefined || values === null || isExactArray(values)) return specification;
  return new Map<string, ExactJson>([...specification, ['values', [values]]]);
}

function productIn(value: ExactJson): ExactObject {
  if (isExactObject(value)) return value;
  throw new EtlError('failed', 'not_an_object', `the answer is ${kindOf(value)}, not a product`);
}

/** The question as it was packed. It is ours, but the file may be damaged. */
function questionIn(asked: unknown, fetch: FetchRecord): ProductQuestion {
  const question = asked as Partial<ProductQuestion> | null;
  if (
    typeof question?.ean === 'string' &&
    typeof question.country === 'string' &&
    typeof question.language === 'string'
  )
    return question as ProductQuestion;
  throw new EtlError('failed', 'damaged_answer', `fetch ${fetch.fetch_id} has no question beside its answer`, {
    concern: { pipeline: fetch.pipeline, requestId: fetch.fetch_id },
  });
}
