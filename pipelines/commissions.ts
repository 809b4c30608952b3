import { column, declarePipeline } from '../src/core/pipeline.ts';
import { window } from '../src/core/source.ts';

export const commissions = declarePipeline({
  name: 'commissions',
  version: 1,
  about: 'Commission and revenue by state (original, approved, open), per day, site, tool, name, sub-ID and rate.',
  answer: 'commissions report',
  source: window({
    path: '/marketing/affiliate/reports/{version}/commission-report',
    budget: { calls: 2, perSeconds: 1, concurrency: 2 },
  }),
  schedule: '30 5 * * *',
  table: 'fact_commission_day',
  columns: [
    column(1, 'orderDate', 'day', 'day of the orders', { required: true }),
    column(2, 'siteName', 'text', 'name of the site that led to the orders'),
    column(3, 'siteCode', 'text', 'code of that site'),
    column(4, 'frameType', 'text', 'kind of promotion tool'),
    column(5, 'name', 'text', 'name that the partner gave the promotion'),
    column(6, 'subId', 'text', "the partner's own label, passed on with the click"),
    column(7, 'commissionPercentage', 'percentage', 'commission rate in percent'),
    column(8, 'commissionOriginal', 'money', 'commission as first recorded'),
    column(9, 'commissionApproved', 'money', 'commission that was approved'),
    column(10, 'commissionOpen', 'money', 'commission still to be decided'),
    column(11, 'revenueOriginalExclVat', 'money', 'revenue as first recorded, excluding VAT'),
    column(12, 'revenueOriginalInclVat', 'money', 'revenue as first recorded, including VAT'),
    column(13, 'revenueApprovedExclVat', 'money', 'approved revenue, excluding VAT'),
    column(14, 'revenueApprovedInclVat', 'money', 'approved revenue, including VAT'),
    column(15, 'revenueOpenExclVat', 'money', 'revenue still to be decided, excluding VAT'),
    column(16, 'revenueOpenInclVat', 'money', 'revenue still to be decided, including VAT'),
    column(17, 'quantityPayable', 'count', 'pieces for which commission is payable'),
  ],
  // The service groups by day, site, tool, name, sub-ID and rate, but any of those may be absent, so they name no row.
  key: null,
  write: 'replace',
  day: 'order_date',
  sort: ['site_code', 'frame_type', 'name', 'sub_id', 'commission_percentage'],
  settledWhen:
    'coalesce(commission_open, 0) = 0 AND coalesce(revenue_open_excl_vat, 0) = 0 AND coalesce(revenue_open_incl_vat, 0) = 0',
});
