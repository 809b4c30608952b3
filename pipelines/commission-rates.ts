import { childOf, column, declarePipeline, keys, reading } from '../src/core/pipeline.ts';

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
  column(4, 'observedOn', 'day', 'day of the look-up that first showed this version', {
    required: true,
    origin: 'answer',
  }),
  column(5, 'observedFrom', 'utc-time', 'when this version was first seen', { required: true, origin: 'answer' }),
];

export const commissionRates = declarePipeline({
  name: 'commission-rates',
  version: 1,
  about: 'What commission the service asks for an EAN, as versions: a row for every time that its answer changed.',
  answer: 'commission by EAN, single or bulk',
  source: keys('retailer', 'commission'),
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
  derived: [],
  key: ['ean', 'condition', 'asked_price', 'observed_from'],
  versions: {
    of: ['ean', 'condition', 'asked_price'],
    within: null,
    aside: [],
    presentWhen: "outcome = 'found'",
    refusedWhen: "outcome = 'refused'",
  },
  day: 'observed_on',
  sort: ['ean', 'condition', 'asked_price', 'observed_from'],
  settledWhen: 'true',
});

export const commissionReductions = declarePipeline({
  name: 'commission-reductions',
  version: 1,
  about:
    'The boundaries inside a commission answer at which a reduction becomes active; versions as in fact_commission_rate.',
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
  derived: [],
  key: ['ean', 'condition', 'asked_price', 'observed_from', 'position'],
  versions: {
    of: ['ean', 'condition', 'asked_price'],
    within: 'commission-rates',
    aside: [],
    presentWhen: 'true',
    refusedWhen: null,
  },
  day: 'observed_on',
  sort: ['ean', 'condition', 'asked_price', 'observed_from', 'position'],
  settledWhen: 'true',
});
