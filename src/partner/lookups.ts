/** Commission, product and reductions as calls: one question or a hundred about what holds now, instead of a range of days. */
import { assert } from '../core/errors.ts';
import type { Answer, Call, Consumed } from './call.ts';
import type { PartnerSettings, SimpleEndpoint } from './settings.ts';

export interface CommissionQuestion {
  readonly ean: string;
  readonly condition: string;
  /** Selling price, decimal text such as `12.30`, which is sent as it stands; null: none is named. */
  readonly price: string | null;
}

export interface ProductQuestion {
  readonly ean: string;
  /** Two capital letters. */
  readonly country: string;
  /** As in Accept-Language. */
  readonly language: string;
}

/** Which parts of a product are asked for, besides what always comes. */
export interface ProductParts {
  readonly specifications: boolean;
  readonly image: boolean;
  readonly offer: boolean;
  readonly rating: boolean;
}

type Consume<T> = (answer: Answer) => Promise<Consumed<T>>;

/** A number as JSON writes it, without sign and exponent. */
const DECIMAL = /^(?:0|[1-9]\d*)(?:\.\d+)?$/;

/**
 * Commission of up to `eansPerRequest` questions. A question more or a price that is no decimal text is a mistake of ours.
 * Asking changes nothing, so the POST may be repeated. 400 and 404 are answers: the service may refuse the request as a whole.
 */
export function bulkCommissionCall<T>(
  settings: PartnerSettings,
  pipelineName: string,
  questions: readonly CommissionQuestion[],
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  const { budget, bulk } = settings.retailer.commission;
  const { length } = questions;
  assert(
    length > 0 && length <= bulk.eansPerRequest,
    `${length} questions in a request that takes ${bulk.eansPerRequest}`,
  );
  return {
    endpoint: 'commission',
    budget,
    method: 'POST',
    path: bulk.path,
    headers: { accept: bulk.accept, 'content-type': bulk.contentType, 'accept-encoding': 'gzip' },
    body: `{"commissionQueries":[${questions.map((question) => queryText(question, bulk.priceField)).join(',')}]}`,
    isRepeatable: true,
    alsoAnswers: [400, 404],
    isOneOfMany: true,
    ...rest(pipelineName, consume, signal),
  };
}

/** Commission of one question. 400 and 404 are answers. */
export function singleCommissionCall<T>(
  settings: PartnerSettings,
  pipelineName: string,
  { ean, condition, price }: CommissionQuestion,
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  const { budget, single } = settings.retailer.commission;
  return {
    endpoint: 'commission',
    budget,
    method: 'GET',
    path: withEan(single.path, ean),
    query: {
      [single.conditionParameter]: condition,
      ...(price === null ? {} : { [single.priceParameter]: checkedPrice(price) }),
    },
    headers: { accept: single.accept, 'accept-encoding': 'gzip' },
    alsoAnswers: [400, 404],
    isOneOfMany: true,
    ...rest(pipelineName, consume, signal),
  };
}

/**
 * A product of the catalogue in one country and language. 404 is an answer (unknown, or no offer in that country), and so are
 * 400 (a country that is not served) and 406 (a language that is not).
 */
export function productCall<T>(
  settings: PartnerSettings,
  pipelineName: string,
  { ean, country, language }: ProductQuestion,
  parts: ProductParts,
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  const { path, accept, countryParameter, budget } = settings.catalog.product;
  const included = {
    'include-specifications': parts.specifications,
    'include-image': parts.image,
    'include-offer': parts.offer,
    'include-rating': parts.rating,
  };
  const wanted = Object.entries(included).filter(([, isWanted]) => isWanted);
  return {
    endpoint: 'product',
    budget,
    method: 'GET',
    path: withEan(path, ean),
    query: { [countryParameter]: country, ...Object.fromEntries(wanted.map(([name]) => [name, 'true'])) },
    headers: { accept, 'accept-language': language, 'accept-encoding': 'gzip' },
    alsoAnswers: [400, 404, 406],
    isOneOfMany: true,
    ...rest(pipelineName, consume, signal),
  };
}

/** The name of the newest reductions file, as text. */
export function reductionsNameCall<T>(
  settings: PartnerSettings,
  pipelineName: string,
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  return simpleCall('reductions-name', settings.retailer.reductionsName, pipelineName, consume, signal);
}

/** The newest reductions file, 13 MB and more; its name is in Content-Disposition (file-name.ts). */
export function reductionsFileCall<T>(
  settings: PartnerSettings,
  pipelineName: string,
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  return simpleCall('reductions', settings.retailer.reductions, pipelineName, consume, signal);
}

function simpleCall<T>(
  endpoint: string,
  { path, accept, budget }: SimpleEndpoint,
  pipelineName: string,
  consume: Consume<T>,
  signal: AbortSignal | undefined,
): Call<T> {
  const headers = { accept, 'accept-encoding': 'gzip' };
  return { endpoint, budget, method: 'GET', path, headers, ...rest(pipelineName, consume, signal) };
}

function rest<T>(pipeline: string, consume: Consume<T>, signal: AbortSignal | undefined) {
  return { about: { pipeline, windowFrom: null, windowTo: null }, consume, ...(signal ? { signal } : {}) };
}

function withEan(path: string, ean: string): string {
  // A function, since "$&" in an EAN that nobody has checked would mean something to replace.
  return path.replace('{ean}', () => encodeURIComponent(ean));
}

/** An element of the request. The price goes in digit by digit: through a JavaScript number it might become another one. */
function queryText({ ean, condition, price }: CommissionQuestion, priceField: string): string {
  const named = `"ean":${JSON.stringify(ean)},"condition":${JSON.stringify(condition)}`;
  return price === null ? `{${named}}` : `{${named},${JSON.stringify(priceField)}:${checkedPrice(price)}}`;
}

function checkedPrice(price: string): string {
  assert(DECIMAL.test(price), `a price that is no decimal text: ${price}`);
  return price;
}
