import { z } from 'zod';
import { CONDITIONS } from '../src/core/ean.ts';
import { assert } from '../src/core/errors.ts';
import { column, declarePipeline, reading } from '../src/core/pipeline.ts';
import {
  type CallSection,
  type CallSettings,
  callBudget,
  callPath,
  mediaType,
  parameter,
  whole,
} from '../src/core/settings.ts';
import { childOf, eanKeys, type Key, type KeysRequest, lookupSettings } from '../src/core/source.ts';

export interface CommissionCall extends CallSettings {
  readonly single: {
    /** Holds {ean}. */
    readonly path: string;
    readonly accept: string;
    readonly conditionParameter: string;
    readonly priceParameter: string;
  };
  readonly bulk: {
    readonly path: string;
    readonly accept: string;
    readonly contentType: string;
    /** Name of the selling price in an element of the request. */
    readonly priceField: string;
    readonly eansPerRequest: number;
  };
}

const ACCEPT = 'application/vnd.retailer.{version}+json';

const call: CallSection<CommissionCall> = {
  name: 'commission',
  shape: {
    budget: callBudget(),
    single: z.strictObject({
      path: callPath('ean'),
      accept: mediaType(),
      conditionParameter: parameter(),
      priceParameter: parameter(),
    }),
    bulk: z.strictObject({
      path: callPath(),
      accept: mediaType(),
      contentType: mediaType(),
      priceField: parameter(),
      eansPerRequest: whole(1, 100, 'EANs'),
    }),
  },
  usual: {
    // Of both together, the service counts them as one; so many at once use it up, since 100 EANs take the service some time.
    budget: { calls: 28, perSeconds: 1, concurrency: 16 },
    single: {
      path: '/retailer/commission/{ean}',
      accept: ACCEPT,
      conditionParameter: 'condition',
      priceParameter: 'unit-price',
    },
    bulk: {
      path: '/retailer/commission',
      accept: ACCEPT,
      contentType: ACCEPT,
      priceField: 'unitPrice',
      eansPerRequest: 100,
    },
  },
};

export interface CommissionRateSettings {
  /** Of EANs that come without one. */
  readonly condition: string;
}

const settings = lookupSettings<CommissionRateSettings>(
  { callsPerNight: 10_000, freshHours: 20 },
  {
    shape: { condition: z.enum(CONDITIONS, { error: 'one of NEW, AS_NEW, GOOD, REASONABLE and MODERATE' }) },
    usual: { condition: 'NEW' },
  },
);

/** Commissions of up to `eansPerRequest` keys. */
function bulkRequest(keys: readonly Key[], { bulk }: CommissionCall): KeysRequest {
  const { path, accept, contentType, priceField, eansPerRequest } = bulk;
  assert(
    keys.length > 0 && keys.length <= eansPerRequest,
    `${keys.length} keys in a call that takes ${eansPerRequest}`,
  );
  return {
    path,
    headers: { accept, 'content-type': contentType },
    body: `{"commissionQueries":[${keys.map((key) => queryText(key, priceField)).join(',')}]}`,
  };
}

/** Commission of one key, by the call that is for one alone. */
export function singleCommission({ ean, condition, price }: Key, { single }: CommissionCall): KeysRequest {
  const { path, accept, conditionParameter, priceParameter } = single;
  return {
    path,
    ean: String(ean),
    query: {
      [conditionParameter]: String(condition),
      ...(price == null ? {} : { [priceParameter]: checkedPrice(price) }),
    },
    headers: { accept },
  };
}

/** An element of the request. The price goes in digit by digit: through a JavaScript number it might become another one. */
function queryText({ ean, condition, price }: Key, priceField: string): string {
  const named = `"ean":${JSON.stringify(ean)},"condition":${JSON.stringify(condition)}`;
  return price == null ? `{${named}}` : `{${named},${JSON.stringify(priceField)}:${checkedPrice(price)}}`;
}

/** A number as JSON writes it, without sign and exponent. */
const DECIMAL = /^(?:0|[1-9]\d*)(?:\.\d+)?$/;

function checkedPrice(price: string): string {
  assert(DECIMAL.test(price), `a price that is no decimal text: ${price}`);
  return price;
}

const named = [
  column(1, 'ean', 'text', 'the product', { required: true, origin: 'request' }),
  column(2, 'condition', 'text', 'condition that was asked for: NEW, AS_NEW, GOOD, REASONABLE or MODERATE', {
    required: true,
    origin: 'request',
  }),
  column(3, 'price', 'money', 'selling price that was asked for; null when none was', {
    column: 'asked_price',
    origin: 'request',
  }),
  column(4, 'observedOn', 'day', 'day of the look-up that first showed it so', {
    required: true,
    origin: 'answer',
  }),
  column(5, 'observedFrom', 'utc-time', 'when it was first seen so', {
    column: 'valid_from',
    required: true,
    origin: 'answer',
  }),
];

export const commissionRates = declarePipeline({
  name: 'commission-rates',
  version: 1,
  about: 'What commission the service asks for an EAN; fact_commission_rate_history has what it asked before.',
  answer: 'commission by EAN, single or bulk',
  source: eanKeys({
    area: 'retailer',
    call,
    settings,
    variants: 'listed',
    keysPerCall: ({ bulk }) => bulk.eansPerRequest,
    request: bulkRequest,
    // The service may refuse a request as a whole.
    alsoAnswers: [400, 404],
  }),
  schedule: '30 5 * * *',
  reading: reading({
    records: 'commissions',
    match: { members: ['ean'], to: 'ean', form: 'ean' },
    repeats: ['condition'],
    isRefusedByKey: true,
  }),
  table: 'fact_commission_rate',
  columns: [
    ...named,
    column(6, 'outcome', 'text', 'found, not_found (missing from the answer) or refused', {
      required: true,
      origin: 'answer',
    }),
    // Version 3 of the interface says `price`, later ones `unitPrice`.
    column(7, 'unitPrice', 'money', 'selling price as the service repeats it', { otherNames: ['price'] }),
    column(8, 'fixedAmount', 'money', 'fixed part of the commission'),
    column(9, 'percentage', 'percentage', 'part of the selling price, in percent'),
    column(10, 'totalCost', 'money', 'commission at the asked price, as the service rounds it'),
    column(11, 'totalCostWithoutReduction', 'money', 'the same without the reduction that applies; null without one'),
    column(12, 'reductions', 'json', 'boundaries at which reductions become active, as sent'),
    column(13, 'reason', 'text', 'why the service refused the EAN', { origin: 'answer' }),
  ],
  key: ['ean', 'condition', 'asked_price'],
  write: 'merge',
  merge: { presentWhen: "outcome = 'found'", refusedWhen: "outcome = 'refused'" },
});

export const commissionReductions = declarePipeline({
  name: 'commission-reductions',
  version: 1,
  about:
    'The boundaries inside a commission answer at which a reduction becomes active; they come and go with their row of fact_commission_rate.',
  answer: 'commission by EAN, reductions[]',
  source: childOf('commission-rates', 'reductions'),
  table: 'fact_commission_reduction',
  columns: [
    ...named,
    column(6, 'position', 'count', 'place among the boundaries of the answer, from 0', {
      required: true,
      origin: 'answer',
      from: 'made by partner-etl: place in the list',
    }),
    column(7, 'maximumPrice', 'money', 'highest selling price at which it applies'),
    column(8, 'costReduction', 'money', 'by how much the commission is lower'),
    column(9, 'startDate', 'day', 'first day'),
    column(10, 'endDate', 'day', 'last day'),
  ],
  key: ['ean', 'condition', 'asked_price', 'position'],
  write: 'merge',
  merge: { by: ['ean', 'condition', 'asked_price'] },
});
