/** A night against a service that somebody else could have written from the specification. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Nights, openNights } from './night.ts';
import { type Service, startService } from './service.ts';

const DAYS = ['2026-03-18', '2026-03-19'];
const EANS = ['0000000000055', '8712345678906', '4006381333931'];

/** Records as the specification shows them, with its odd spots: null fields left out, an id as number, a price with noise. */
const ORDERS = [
  '{"orderDate":"2026-03-18","orderDateTime":"2026-03-18 23:59:59","orderId":"A1","orderItemId":"1","productTitle":"Fiets","productId":"9200000012345678","siteCode":"1001","status":"Geaccepteerd","statusFinal":true,"approvedForPayment":true,"quantity":2,"priceExclVat":82.64,"priceInclVat":99.99,"commissionPercentage":5.5,"commission":4.55}',
  '{"orderDate":"2026-03-18","orderId":"A1","orderItemId":2,"status":"geweigerd: klik te oud","statusFinal":true,"approvedForPayment":false,"quantity":1,"priceExclVat":10,"commission":0}',
  '{"orderDate":"2026-03-19","orderId":"B7","orderItemId":"1","status":"Open","statusFinal":false,"quantity":1,"priceExclVat":0.30000000000000004,"commission":0.1,"subId":null}',
];
const FILE = [
  'EAN,MaximumPrice,CostReduction,StartDate,EndDate',
  '0000000000055,32.65,15.92,2018-05-03,2018-05-04',
  '0000000000055,40.00,3.5,2018-06-01,2018-06-30',
  '',
].join('\n');
const NAME = 'Verlaging_Bemiddelingsbijdrage_04052018_0005.csv';

const commission = (ean: string) =>
  ean === EANS[2]
    ? undefined
    : `{"ean":"${ean}","condition":"NEW","fixedAmount":0.99,"percentage":12.4,"totalCost":2.11${
        ean === EANS[0]
          ? ',"totalCostWithoutReduction":3.11,"reductions":[{"maximumPrice":32.65,"costReduction":1.00,"startDate":"2018-05-03","endDate":"2018-05-04"}]'
          : ''
      }}`;
const product = (ean: string, country: string) =>
  ean === EANS[1] && country === 'NL'
    ? `{"ean":"${ean}","bolProductId":9200000012345678,"title":"Fiets","image":{"mimeType":"image/jpeg","width":80,"height":60,"url":"https://example.org/x.jpg"},"rating":4.5,"offer":{"price":99.99},"gpc":[{"level":"1","name":"Sport"}],"specificationGroups":[{"title":"Maat","specifications":[{"key":"M","name":"Maat","values":"XL"}]}]}`
    : undefined;

let service: Service;
let nights: Nights;
beforeAll(async () => {
  const orders = (from: string, to: string) => {
    const items = ORDERS.filter((one) =>
      DAYS.some((day) => day >= from && day <= to && one.includes(`"orderDate":"${day}"`)),
    );
    return `{"items":[${items.join(',')}]}`;
  };
  service = await startService({ orders, commission, product, reductions: { name: NAME, file: FILE } });
  nights = await openNights({ url: service.url, today: '2026-03-20', lookbackDays: 2, eans: EANS });
  const outcome = await nights.night('orders', 'commission-rates', 'products', 'reductions');
  expect(outcome.errors).toEqual([]);
});
afterAll(async () => {
  await nights.close();
  await service.close();
});

describe('a service written from the specification alone', () => {
  it('is never asked in a way that the specification does not know, and for one token', () => {
    expect(service.faults).toEqual([]);
    expect(service.calls.filter((call) => call === 'POST /token')).toHaveLength(1);
  });

  it('gets its orders into the warehouse, exact', async () => {
    const columns =
      'order_id, order_item_id, status_group, quantity, price_excl_vat, commission, sub_id, order_utc_time';
    expect(await nights.rows(`SELECT ${columns} FROM warehouse.fact_order_item ORDER BY 1, 2`)).toEqual([
      ['A1', '1', 'approved', '2', '82.640000', '4.550000', null, expect.stringMatching(/^2026-03-18[ T]22:59:59/)],
      ['A1', '2', 'rejected', '1', '10.000000', '0.000000', null, null],
      ['B7', '1', 'open', '1', '0.300000', '0.100000', null, null],
    ]);
  });

  it('gets its commissions and their reductions into the warehouse, and what it did not know', async () => {
    const columns = 'ean, outcome, fixed_amount, percentage, total_cost, total_cost_without_reduction';
    expect(await nights.rows(`SELECT ${columns} FROM warehouse.fact_commission_rate ORDER BY 1`)).toEqual([
      [EANS[0], 'found', '0.990000', '12.400000', '2.110000', '3.110000'],
      [EANS[2], 'not_found', null, null, null, null],
      [EANS[1], 'found', '0.990000', '12.400000', '2.110000', null],
    ]);
    expect(await nights.rows('SELECT ean, maximum_price, end_date FROM warehouse.fact_commission_reduction')).toEqual([
      [EANS[0], '32.650000', '2018-05-04'],
    ]);
  });

  it('gets its products into the warehouse', async () => {
    const columns = 'ean, outcome, bol_product_id, title, image_width, offer_price, rating';
    expect(await nights.rows(`SELECT ${columns} FROM warehouse.dim_product ORDER BY outcome, ean`)).toEqual([
      [EANS[1], 'found', '9200000012345678', 'Fiets', '80', '99.990000', '4.5'],
      [EANS[0], 'not_found', null, null, null, null, null],
      [EANS[2], 'not_found', null, null, null, null, null],
    ]);
  });

  it('gets its reductions file into the warehouse under the name of its download', async () => {
    const columns = 'ean, maximum_price, cost_reduction, start_date, file_name';
    expect(await nights.rows(`SELECT ${columns} FROM warehouse.fact_reduction ORDER BY maximum_price`)).toEqual([
      ['0000000000055', '32.650000', '15.920000', '2018-05-03', NAME],
      ['0000000000055', '40.000000', '3.500000', '2018-06-01', NAME],
    ]);
  });

  it('is asked for the file once while its name stays', async () => {
    expect((await nights.night('reductions')).errors).toEqual([]);
    expect(service.calls.filter((call) => call === 'GET /retailer/reductions')).toHaveLength(1);
    expect(service.calls.filter((call) => call === 'GET /retailer/reductions/latest')).toHaveLength(2);
  });
});
