import { column, declarePipeline } from '../src/core/pipeline.ts';
import { window } from '../src/core/source.ts';

export const promotions = declarePipeline({
  name: 'promotions',
  version: 1,
  about: 'What was shown and clicked, and what it led to, per day, site, tool, name and sub-ID.',
  answer: 'promotions report',
  source: window({
    path: '/marketing/affiliate/reports/{version}/promotion-report',
    budget: { calls: 2, perSeconds: 1, concurrency: 2 },
  }),
  schedule: '30 5 * * *',
  table: 'fact_promotion_day',
  columns: [
    column(1, 'date', 'day', 'the day of the promotion', { required: true, column: 'promotion_date' }),
    column(2, 'siteName', 'text', 'name of the site on which the promotion stood'),
    column(3, 'siteCode', 'text', 'code of that site'),
    column(4, 'frameType', 'text', 'kind of promotion tool'),
    column(5, 'name', 'text', 'name that the partner gave the promotion'),
    column(6, 'subId', 'text', "the partner's own label, passed on with the click"),
    column(7, 'clicks', 'count', 'clicks'),
    column(8, 'impressions', 'count', 'times shown'),
    column(9, 'clickThroughRate', 'ratio', 'clicks per impression, as the service rounds it; recompute from sums'),
    column(10, 'commission', 'money', 'commission of the orders that followed'),
    column(11, 'earningsPerClick', 'ratio', 'commission per click, as the service rounds it; recompute from sums'),
    column(12, 'earningsPerMille', 'ratio', 'commission per 1,000 impressions; recompute from sums'),
    column(13, 'orders', 'count', 'orders that followed'),
    column(14, 'conversion', 'ratio', 'orders per click; recompute from sums'),
    column(15, 'revenueExclVat', 'money', 'revenue of those orders, excluding VAT'),
    column(16, 'revenueInclVat', 'money', 'revenue of those orders, including VAT'),
    column(17, 'averageOrderValue', 'ratio', 'revenue per order; recompute from sums'),
  ],
  // The service groups by day, site, tool, name and sub-ID, but any of those may be absent, so they name no row.
  key: null,
  write: 'replace',
  day: 'promotion_date',
  sort: ['site_code', 'frame_type', 'name', 'sub_id'],
  // The report has no open state, so `settledWhen` is left out: what the lookback has passed is taken for settled.
});
