import { declareHistory } from '../src/core/history.ts';
import { column, declarePipeline } from '../src/core/pipeline.ts';
import { window } from '../src/core/source.ts';

export const orders = declarePipeline({
  name: 'orders',
  version: 1,
  about: 'Every ordered item that a promotion led to, with its commission and how far it has come.',
  answer: 'orders report',
  source: window({
    path: '/marketing/affiliate/reports/{version}/order-report',
    budget: { calls: 2, perSeconds: 1, concurrency: 2 },
    windowDays: 7, // the largest of the reports
  }),
  schedule: '30 5 * * *',
  table: 'fact_order_item',
  columns: [
    column(1, 'orderDate', 'day', 'day of the order', { required: true }),
    column(2, 'orderDateTime', 'text', 'date and time of the order as the service writes it, without an offset'),
    column(3, 'orderId', 'text', 'the order', { required: true }),
    column(4, 'orderItemId', 'text', 'the item within the order', { required: true }),
    column(5, 'productTitle', 'text', 'title of the product'),
    column(6, 'productId', 'text', 'id of the product'),
    column(7, 'chunkName', 'text', 'product group'),
    column(8, 'siteName', 'text', 'name of the site that led to the order'),
    column(9, 'siteCode', 'text', 'code of that site'),
    column(10, 'frameType', 'text', 'kind of promotion tool'),
    column(11, 'name', 'text', 'name that the partner gave the promotion'),
    column(12, 'subId', 'text', "the partner's own label, passed on with the click"),
    column(13, 'status', 'text', 'status as reported; see status_group'),
    column(14, 'quantity', 'count', 'pieces'),
    column(15, 'priceExclVat', 'money', 'price of the item, excluding VAT'),
    column(16, 'priceInclVat', 'money', 'price of the item, including VAT'),
    column(17, 'commissionPercentage', 'percentage', 'commission rate in percent'),
    column(18, 'commission', 'money', 'commission of the item; takes no account of returns'),
    column(19, 'statusFinal', 'boolean', 'the status will not change any more'),
    column(20, 'approvedForPayment', 'boolean', 'payment was started; not: was paid'),
  ],
  derived: [
    {
      id: 21,
      column: 'order_local_time',
      kind: 'local-time',
      rule: 'local-time',
      from: 'order_date_time',
      about: "time of the order on the service's wall clock",
    },
    {
      id: 22,
      column: 'order_utc_time',
      kind: 'utc-time',
      rule: 'utc-time',
      from: 'order_date_time',
      about: 'time of the order as an instant; the repeated hour of autumn takes the first pass',
    },
    {
      id: 23,
      column: 'status_group',
      kind: 'text',
      rule: 'status-group',
      from: 'status',
      about: 'open, approved, rejected or unknown',
    },
  ],
  key: ['order_id', 'order_item_id'],
  versions: null,
  keepsHistory: true,
  day: 'order_date',
  sort: ['order_id', 'order_item_id'],
  settledWhen: `status_final AND status_group <> 'unknown' AND (status_group <> 'approved' OR approved_for_payment)`,
});

export const orderHistory = declareHistory(orders);
