import { z } from 'zod';
import { column, declarePipeline, reading } from '../src/core/pipeline.ts';
import {
  type CallSection,
  type CallSettings,
  callBudget,
  callPath,
  matching,
  mediaType,
  parameter,
  yesOrNo,
} from '../src/core/settings.ts';
import { eanKeys, type Key, type KeysRequest, lookupSettings } from '../src/core/source.ts';

interface ProductCall extends CallSettings {
  /** Holds {ean}. */
  readonly path: string;
  readonly accept: string;
  readonly countryParameter: string;
}

const call: CallSection<ProductCall> = {
  name: 'product',
  shape: { path: callPath('ean'), accept: mediaType(), countryParameter: parameter(), budget: callBudget() },
  usual: {
    path: '/marketing/catalog/{version}/products/{ean}',
    accept: 'application/json',
    countryParameter: 'country-code',
    // An answer seen shows 10 a second.
    budget: { calls: 10, perSeconds: 1, concurrency: 8 },
  },
};

/** Two capital letters, and a language as in Accept-Language. */
export interface Market {
  readonly country: string;
  readonly language: string;
}

/** Which parts of a product are asked for, besides what always comes. */
export interface ProductParts {
  readonly specifications: boolean;
  readonly image: boolean;
  readonly offer: boolean;
  readonly rating: boolean;
}

export interface ProductSettings {
  readonly markets: readonly Market[];
  readonly include: ProductParts;
}

const MARKETS_ERROR =
  'a list of one country and language or more, such as [{ country: NL, language: nl }], each only once';

const market = () =>
  z.strictObject({
    country: matching(/^[A-Z]{2}$/, 'a country as two capital letters, such as NL'),
    language: matching(/^[a-z]{2}(?:-[A-Z]{2})?$/, 'a language such as nl or nl-BE'),
  });

const settings = lookupSettings<ProductSettings>(
  { callsPerNight: 5000, freshHours: 20, refreshDays: 14 },
  {
    shape: {
      markets: z
        .array(market(), { error: MARKETS_ERROR })
        .min(1, { error: MARKETS_ERROR })
        .refine((all) => new Set(all.map((one) => `${one.country} ${one.language}`)).size === all.length, {
          error: MARKETS_ERROR,
        }),
      include: z.strictObject({ specifications: yesOrNo(), image: yesOrNo(), offer: yesOrNo(), rating: yesOrNo() }),
    },
    usual: {
      markets: [{ country: 'NL', language: 'nl' }],
      include: { specifications: true, image: true, offer: true, rating: true },
    },
  },
);

/** One product, in one country and language. */
function request([key]: readonly Key[], call: ProductCall, { include }: ProductSettings): KeysRequest {
  const { path, accept, countryParameter } = call;
  return {
    path,
    ean: String(key?.ean),
    query: { [countryParameter]: String(key?.country), ...included(include) },
    headers: { accept, 'accept-language': String(key?.language) },
  };
}

function included({ specifications, image, offer, rating }: ProductParts): Readonly<Record<string, string>> {
  const parts = {
    'include-specifications': specifications,
    'include-image': image,
    'include-offer': offer,
    'include-rating': rating,
  };
  const wanted = Object.entries(parts).filter(([, isWanted]) => isWanted);
  return Object.fromEntries(wanted.map(([name]) => [name, 'true']));
}

export const products = declarePipeline({
  name: 'products',
  version: 1,
  about:
    'Products of the catalogue by EAN, country and language, as the service gave them last; dim_product_history has what they were.',
  answer: 'catalogue: product by EAN',
  source: eanKeys({
    area: 'catalog',
    call,
    settings,
    variants: ({ markets }) => markets.map(({ country, language }) => ({ country, language })),
    request,
    // 404: unknown, or no offer in that country; 400: a country that is not served; 406: a language that is not.
    alsoAnswers: [400, 404, 406],
  }),
  schedule: '30 5 * * *',
  reading: reading({
    match: { members: ['ean'], to: 'ean', form: 'ean' },
    outcomes: { 400: 'bad_request', 404: 'not_found', 406: 'not_acceptable' },
  }),
  table: 'dim_product',
  columns: [
    column(1, 'ean', 'text', 'the product', { required: true, origin: 'request' }),
    column(2, 'country', 'text', 'country that was asked for', {
      required: true,
      column: 'country_code',
      origin: 'request',
    }),
    column(3, 'language', 'text', 'language that was asked for', { required: true, origin: 'request' }),
    column(4, 'observedOn', 'day', 'day of the look-up that first showed it so', {
      required: true,
      origin: 'answer',
    }),
    column(5, 'observedFrom', 'utc-time', 'when it was first seen so', {
      column: 'valid_from',
      required: true,
      origin: 'answer',
    }),
    column(
      6,
      'outcome',
      'text',
      'found, not_found (404: unknown, or no offer there), bad_request (400) or not_acceptable (406)',
      { required: true, origin: 'answer' },
    ),
    column(7, 'bolProductId', 'text', 'id of the product, as in the orders report'),
    column(8, 'title', 'text', 'title'),
    column(9, 'description', 'text', 'description, may hold HTML'),
    column(10, 'url', 'text', 'page of the product'),
    column(11, 'image.url', 'text', 'address of the image'),
    column(12, 'image.mimeType', 'text', 'media type of the image'),
    column(13, 'image.width', 'count', 'width of the image in pixels'),
    column(14, 'image.height', 'count', 'height of the image in pixels'),
    column(15, 'rating', 'ratio', 'rating by customers, up to 5'),
    column(16, 'offer.price', 'money', 'price of the best offer'),
    column(17, 'offer.strikethroughPrice', 'money', 'price that is shown struck through'),
    column(18, 'offer.deliveryDescription', 'text', 'when it is delivered, in words'),
    column(19, 'gpc', 'json', 'product classification, from the segment down: [{level, name}]'),
    column(20, 'specificationGroups', 'json', 'specifications; `values` always as an array', {
      arrayAt: 'specifications.values',
    }),
    column(21, 'reason', 'text', 'what the service said where it gave no product', { origin: 'answer' }),
    column(22, 'payload', 'json', 'the whole record as sent, members in alphabetical order', { json: 'record' }),
  ],
  key: ['ean', 'country_code', 'language'],
  write: 'merge',
  merge: { presentWhen: "outcome = 'found'" },
});
