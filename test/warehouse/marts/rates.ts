/** What the marts of rates and reductions say of a few products, every look-up and sale of which is known. */
import { describe, expect, test } from 'vitest';
import { commissionRates, commissionReductions } from '../../../pipelines/commission-rates.ts';
import { pipelines } from '../../../pipelines/index.ts';
import { orders } from '../../../pipelines/orders.ts';
import { products } from '../../../pipelines/products.ts';
import { reductions, reductionsFiles } from '../../../pipelines/reductions.ts';
import { addDays, type Day } from '../../../src/core/days.ts';
import { historyOf, type Pipeline } from '../../../src/core/pipeline.ts';
import type { LoadSlice } from '../../../src/warehouse/target.ts';
import { day, type RowText, type SliceMaker } from '../../support/slices.ts';
import type { NewWarehouse } from '../bench.ts';
import { type Scene, useScene } from './order-scenes.ts';

const DAY = day('2026-03-10');
const NEWEST = day('2026-04-06');

/** Rows by day, from rows that say on which day they are. */
type Dated = readonly (readonly [on: Day, row: RowText])[];

const at = (on: Day, time = '03:00:00') => `${on} ${time}+00`;
const seen = (on: Day, row: RowText, time?: string) => [on, { valid_from: at(on, time), ...row }] as const;
const rate = (on: Day, ean: string, row: RowText = {}, time?: string) =>
  seen(on, { ean, condition: 'NEW', outcome: 'found', fixed_amount: '0.5', percentage: '10', ...row }, time);
const boundary = (on: Day, ean: string, maximum: string, cost: string, row: RowText = {}) =>
  seen(on, { ean, condition: 'NEW', position: '0', maximum_price: maximum, cost_reduction: cost, ...row });
const product = (on: Day, ean: string, row: RowText = {}) =>
  seen(on, {
    ...{ ean, country_code: 'NL', language: 'nl', outcome: 'found' },
    ...{ bol_product_id: `p-${ean}`, title: `title of ${ean}` },
    ...row,
  });
/** An item of one piece at 20 euro that earned what 0.5 + 10 % of it give. */
const item = (on: Day, ean: string, id: string, row: RowText = {}) =>
  [
    on,
    {
      ...{
        order_id: 'o',
        order_item_id: id,
        product_id: `p-${ean}`,
        site_code: '1',
        quantity: '1',
        status_group: 'open',
      },
      ...{ price_excl_vat: '16.53', price_incl_vat: '20', commission: '2.5', commission_percentage: '15' },
      ...row,
    },
  ] as const;
/** A line of the reductions file, or with `ended_by` that it went. */
const line = (on: Day, ean: string, maximum: string | null, cost: string, row: RowText = {}) =>
  seen(on, { ean, maximum_price: maximum, cost_reduction: cost, file_name: `f ${on}`, ...row });

/** One slice for each day that has rows, and for days that are to have none. */
function slicesOf(maker: SliceMaker, pipeline: Pipeline, rows: Dated, ...empty: Day[]): Promise<LoadSlice>[] {
  const days = [...new Set([...rows.map(([on]) => on), ...empty])];
  return days.map((on) =>
    maker.make(
      pipeline,
      on,
      rows.filter(([other]) => other === on).map(([, row]) => row),
    ),
  );
}

/**
 * The slices of what holds now and of the history, from what was seen one after the other. A row ends when `ends` says something of its key
 * again; for a part that is what was seen of its parent.
 */
function mergedSlices(maker: SliceMaker, pipeline: Pipeline, rows: Dated, ends: Dated = rows): Promise<LoadSlice>[] {
  const history = historyOf(pipelines, pipeline);
  if (!history) throw new Error(`${pipeline.name} keeps no history`);
  const keyOf = (row: RowText) => JSON.stringify((pipeline.merge?.by ?? []).map((name) => row[name] ?? null));
  const began = (row: RowText) => String(row.valid_from);
  const now: (readonly [Day, RowText])[] = [];
  const past: (readonly [Day, RowText])[] = [];
  for (const [on, row] of rows) {
    if (row.ended_by !== undefined) continue;
    const later = ends.filter(([, other]) => keyOf(other) === keyOf(row) && began(other) > began(row));
    const [next] = later.sort(([, a], [, b]) => (began(a) < began(b) ? -1 : 1));
    if (next === undefined) now.push([on, row]);
    else
      past.push([
        next[0],
        { ...row, observed_on: on, valid_to: began(next[1]), ended_by: next[1].ended_by ?? 'changed' },
      ]);
  }
  const days = [...new Set(rows.map(([on]) => on))];
  return [...slicesOf(maker, pipeline, now, ...days), ...slicesOf(maker, history, past)];
}

const from = (ago: number) => addDays(DAY, -ago);
const dated = (first: Day | null, last: Day | null): RowText => ({ start_date: first, end_date: last });

const PRODUCTS: Dated = [
  ...['low', 'asked', 'gone', 'none', 'file', 'both', 'early', 'refused', 'vat', 'zero', 'half', 'total'].map((ean) =>
    product(from(30), ean),
  ),
  product(from(30), 'changed', { offer_price: '50' }),
  product(from(30), 'changed', { country_code: 'BE', offer_price: '60', title: 'titre' }),
  product(from(30), 'cut', { offer_price: '20' }),
  product(from(20), 'old', { bol_product_id: 'p-shared' }),
  product(from(10), 'newer', { bol_product_id: 'p-shared' }),
  product(from(5), 'old', { bol_product_id: 'p-shared', outcome: 'not_found' }),
];

const RATES: Dated = [
  ...['low', 'file', 'both', 'vat', 'newer'].map((ean) => rate(from(30), ean)),
  rate(from(30), 'asked'),
  rate(from(30), 'asked', { asked_price: '20', total_cost: '2.49' }),
  rate(from(30), 'total', { asked_price: '20', total_cost: '1.99', total_cost_without_reduction: '2.49' }),
  rate(from(30), 'gone'),
  rate(DAY, 'gone', { outcome: 'not_found', fixed_amount: null, percentage: null }),
  rate(DAY, 'early', { percentage: '20' }, '23:59:59.999'),
  rate(addDays(DAY, 1), 'early', { percentage: '30' }, '00:00:00'),
  rate(from(30), 'refused', { outcome: 'refused', fixed_amount: null, percentage: null }),
  rate(from(30), 'zero', { fixed_amount: null, percentage: '1' }),
  rate(from(30), 'half', { fixed_amount: '0.001', percentage: '12.345' }),
  rate(addDays(DAY, 6), 'cut'),
  rate(from(30), 'changed'),
  rate(from(30), 'changed', { condition: 'GOOD' }),
  rate(DAY, 'changed', { percentage: '8' }),
  rate(addDays(DAY, 3), 'changed', { percentage: '8', reason: 'other words' }),
  rate(addDays(DAY, 4), 'changed', { outcome: 'not_found', fixed_amount: null, percentage: null }),
];

const BOUNDARIES: Dated = [
  boundary(from(30), 'both', '20', '0.4', dated(from(30), DAY)),
  boundary(from(30), 'both', '19.99', '2', { ...dated(from(30), DAY), position: '1' }),
  boundary(from(30), 'zero', '25', '5', dated(null, null)),
  boundary(addDays(DAY, 6), 'cut', '15', '1', dated(NEWEST, addDays(DAY, 50))),
  boundary(from(30), 'low', '30', '9', dated(addDays(DAY, 1), addDays(DAY, 2))),
];

const LINES: Dated = [
  line(from(9), 'file', '20', '0.3', dated(DAY, DAY)),
  line(from(9), 'file', '25', '0.2', dated(DAY, addDays(DAY, 3))),
  line(from(9), 'both', '21', '0.4', dated(from(9), DAY)),
  line(from(9), 'both', null, '0.1', dated(from(9), addDays(DAY, 40))),
  line(from(9), 'vat', '20', '1', dated(from(9), addDays(DAY, 9))),
  line(DAY, 'vat', '20', '1', { ...dated(from(9), addDays(DAY, 9)), ended_by: 'gone' }),
  line(addDays(DAY, 6), 'cut', '15', '1', dated(addDays(DAY, 6), addDays(DAY, 50))),
  line(addDays(DAY, 6), 'cut', '10', '0.5', dated(NEWEST, NEWEST)),
  line(addDays(DAY, 6), 'cut', '18', '0.7', dated(addDays(NEWEST, 1), addDays(DAY, 50))),
  line(addDays(DAY, 1), 'low', '20', '2', dated(DAY, addDays(DAY, 1))),
];

const ITEMS: Dated = [
  item(DAY, 'low', 'a', { commission: '2' }),
  item(DAY, 'low', 'cent', { quantity: '3', commission: '7.47' }),
  item(DAY, 'low', 'two cents', { quantity: '3', commission: '7.46' }),
  item(DAY, 'low', 'rejected', { commission: '0', status_group: 'rejected' }),
  item(DAY, 'low', 'unpriced', { commission: '0', price_incl_vat: null }),
  item(DAY, 'low', 'nothing', { commission: null, status_group: null }),
  item(DAY, 'asked', 'b', { commission: '1' }),
  item(DAY, 'asked', 'b at 21', { commission: '1', price_incl_vat: '21' }),
  item(DAY, 'total', 'c', { commission: '1' }),
  item(DAY, 'total', 'c at 21', { commission: '0', price_incl_vat: '21' }),
  item(DAY, 'gone', 'd', { commission: '0' }),
  item(from(1), 'gone', 'd before', { commission: '0' }),
  item(DAY, 'none', 'e', { commission: '0' }),
  item(DAY, 'unknown', 'f', { commission: '0' }),
  item(DAY, 'file', 'g', { commission: '1' }),
  item(DAY, 'file', 'g at 25', { commission: '1', price_incl_vat: '25' }),
  item(DAY, 'file', 'g at 25.01', { commission: '1', price_incl_vat: '25.01' }),
  item(addDays(DAY, 1), 'file', 'g later', { commission: '1' }),
  item(DAY, 'both', 'h', { commission: '1' }),
  item(addDays(DAY, 1), 'both', 'h later', { commission: '1' }),
  item(DAY, 'early', 'i', { commission: '1' }),
  item(from(1), 'early', 'i before', { commission: '0' }),
  item(addDays(DAY, 1), 'early', 'i later', { commission: '1' }),
  item(DAY, 'refused', 'j', { commission: '0' }),
  item(DAY, 'vat', 'k', { commission: '1' }),
  item(from(1), 'vat', 'k before', { commission: '1' }),
  item(DAY, 'zero', 'l', { commission: '-1' }),
  item(DAY, 'half', 'm', { commission: '0', price_incl_vat: '10' }),
  item(DAY, 'shared', 'n', { commission: '1' }),
  item(from(29), 'changed', 'q1', { quantity: '100', price_incl_vat: '90' }),
  item(from(28), 'changed', 'q2', { quantity: '2', price_incl_vat: '80' }),
  item(from(1), 'changed', 'q3', { quantity: '3', price_incl_vat: '30' }),
  item(from(1), 'changed', 'q4', { quantity: '4', price_incl_vat: '40', price_excl_vat: null }),
  item(from(1), 'changed', 'q5', { quantity: '9', price_incl_vat: '70', status_group: 'rejected' }),
  item(DAY, 'changed', 'q6', { quantity: '5', price_incl_vat: '20' }),
  item(addDays(DAY, 27), 'changed', 'q7', { quantity: '1', price_incl_vat: '20' }),
];

/** Item, rate's percentage, reduction, expected, shortfall: of all that fall short. */
const BELOW = [
  ['a', '10.000000', null, '2.500000', '0.500000'],
  ['b', '10.000000', null, '2.490000', '1.490000'],
  ['b at 21', '10.000000', null, '2.600000', '1.600000'],
  ['c', '10.000000', 'total null 0.500000', '1.990000', '0.990000'],
  ['d before', '10.000000', null, '2.500000', '2.500000'],
  ['g', '10.000000', 'file 20.000000 0.300000', '2.200000', '1.200000'],
  ['g at 25', '10.000000', 'file 25.000000 0.200000', '2.800000', '1.800000'],
  ['g at 25.01', '10.000000', null, '3.000000', '2.000000'],
  ['g later', '10.000000', 'file 25.000000 0.200000', '2.300000', '1.300000'],
  ['h', '10.000000', 'rate 20.000000 0.400000', '2.100000', '1.100000'],
  ['h later', '10.000000', 'file null 0.100000', '2.400000', '1.400000'],
  ['i', '20.000000', null, '4.500000', '3.500000'],
  ['i later', '30.000000', null, '6.500000', '5.500000'],
  ['k', '10.000000', null, '2.500000', '1.500000'],
  ['k before', '10.000000', 'file 20.000000 1.000000', '1.500000', '0.500000'],
  ['l', '1.000000', 'rate 25.000000 5.000000', '0.000000', '1.000000'],
  ['m', '12.345000', null, '1.240000', '1.240000'],
  ['n', '10.000000', null, '2.500000', '1.500000'],
  ['nothing', '10.000000', null, '2.500000', '2.500000'],
  ['q6', '8.000000', null, '10.500000', '8.000000'],
  ['two cents', '10.000000', null, '7.500000', '0.040000'],
];

/** Everything that is known of these products, on days up to NEWEST. */
export function rateSlices(maker: SliceMaker): Promise<LoadSlice[]> {
  const files = [...new Set(LINES.map(([on]) => on))].map(
    (on) => [on, { observed_from: at(on), file_name: `f ${on}`, sha256: 'x' }] as const,
  );
  return Promise.all([
    ...mergedSlices(maker, products, PRODUCTS),
    ...mergedSlices(maker, commissionRates, RATES),
    ...mergedSlices(maker, commissionReductions, BOUNDARIES, RATES),
    ...slicesOf(maker, reductionsFiles, files),
    ...mergedSlices(maker, reductions, LINES),
    ...slicesOf(maker, orders, ITEMS, NEWEST),
  ]);
}

export function rateMarts(newWarehouse: NewWarehouse): void {
  const scene = useScene(newWarehouse, async ({ maker, publish }) => publish(await rateSlices(maker)));
  const ask: Ask = (sql) => scene.ask(sql);
  describe('the leakage', () => leakage(ask));
  describe('a rate change', () => rateChange(ask));
  describe('the reductions', () => reductionDays(ask));
  describe('a boundary', () => priceBoundary(ask));
}

type Ask = Scene['ask'];

function leakage(ask: Ask): void {
  test('is every sold item whose commission is more than a cent a piece below what its day gave', async () => {
    const found = await ask(
      `SELECT order_item_id, rate_percentage, reduction_source, reduction_maximum_price, reduction_cost_reduction, expected_commission, shortfall
       FROM mart.commission_leakage WHERE order_date BETWEEN '${from(1)}' AND '${NEWEST}' AND order_item_id NOT IN ('q3', 'q4')
       ORDER BY order_item_id`,
    );
    const spelled = found.map(([id, percentage, source, maximum, cost, ...amounts]) => [
      id,
      percentage,
      source === null ? null : `${source} ${maximum} ${cost}`,
      ...amounts,
    ]);
    expect(spelled).toEqual(BELOW.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
  });

  test('leaves out what has no rate, no EAN or no price on its day, and what came in after it', async () => {
    const unjudged = await ask(
      'SELECT order_item_id FROM mart.commission_expected WHERE expected_commission IS NULL ORDER BY order_item_id',
    );
    expect(unjudged.flat()).toEqual(['c at 21', 'd', 'e', 'f', 'i before', 'j', 'q7', 'unpriced']);
    const known = await ask(`SELECT order_item_id FROM mart.commission_expected WHERE order_item_id = 'rejected'`);
    expect(known).toEqual([]);
  });

  test("shows the version of the rate and, beside it, what the report's own percentage gives", async () => {
    const figures = `ean, quantity, unit_price, rate_fixed_amount, CAST(rate_valid_from AS varchar), rate_valid_to, asked_price,
      recorded_commission, reported_percentage, expected_by_report, shortfall_by_report`;
    const found = await ask(
      `SELECT ${figures} FROM mart.commission_leakage WHERE order_item_id IN ('b', 'two cents', 'n') ORDER BY ean`,
    );
    const seenAt = `${from(30)} 03:00:00+00`;
    const same = (...rest: (string | null)[]) => ['20.000000', '0.500000', seenAt, null, ...rest];
    expect(found).toEqual([
      ['asked', '1', ...same('20.000000', '1.000000', '15.000000', '2.480000', '1.480000')],
      ['low', '3', ...same(null, '7.460000', '15.000000', '7.440000', '-0.020000')],
      ['newer', '1', ...same(null, '1.000000', '15.000000', '2.480000', '1.480000')],
    ]);
  });

  test('stands beside how much could be judged', async () => {
    const found = await ask(
      `SELECT order_date, sold_items, judged_items, items_below, shortfall FROM mart.leakage_coverage WHERE order_date BETWEEN '${from(1)}' AND '${addDays(DAY, 1)}' ORDER BY order_date`,
    );
    expect(found.map(([, sold, judged]) => [sold, judged])).toEqual([
      ['5', '4'],
      ['23', '17'],
      ['3', '3'],
    ]);
    const summed = await ask(
      `SELECT order_date, count(*), sum(shortfall) FROM mart.commission_leakage
       WHERE order_date BETWEEN '${from(1)}' AND '${addDays(DAY, 1)}' GROUP BY order_date ORDER BY order_date`,
    );
    expect(found.map(([on, , , below, shortfall]) => [on, below, shortfall])).toEqual(summed);
  });
}

function rateChange(ask: Ask): void {
  const CHANGES = `SELECT changed_on, asked_price, percentage_before, percentage_after, outcome_after, sold_28_days_before, sold_28_days_after, days_after,
    revenue_excl_vat_28_days_before, revenue_excl_vat_28_days_after, price, commission_per_piece_before, commission_per_piece_after,
    effect_per_piece, effect_28_days FROM mart.rate_change`;

  test('tells what it means at the price of the last sale, for what was sold in the 28 days before', async () => {
    expect(await ask(`${CHANGES} WHERE ean = 'changed' AND changed_on = '${DAY}'`)).toEqual([
      [
        ...[DAY, null, '10.000000', '8.000000', 'found', '9', '6', '28', '82.650000', '99.180000', '40.000000'],
        ...['4.500000', '3.700000', '-0.800000', '-7.200000'],
      ],
    ]);
  });

  test('is also that a rate is gone, which has no figure', async () => {
    const [gone, ...more] = await ask(`${CHANGES} WHERE ean = 'changed' AND changed_on > '${DAY}'`);
    expect(more).toEqual([]);
    expect(gone?.slice(0, 5)).toEqual([addDays(DAY, 4), null, '8.000000', null, 'not_found']);
    expect(gone?.slice(7, 8)).toEqual(['24']);
    expect(gone?.slice(10)).toEqual(['20.000000', '2.100000', null, null, null]);
  });

  test('is none where only words changed, and none for the first version', async () => {
    const found = await ask('SELECT ean, changed_on, condition, title FROM mart.rate_change ORDER BY ean, changed_on');
    expect(found).toEqual([
      ['changed', DAY, 'NEW', 'title of changed'],
      ['changed', addDays(DAY, 4), 'NEW', 'title of changed'],
      ['early', addDays(DAY, 1), 'NEW', 'title of early'],
      ['gone', DAY, 'NEW', 'title of gone'],
    ]);
  });
}

function reductionDays(ask: Ask): void {
  test('of a day are those in force by what was known at its end', async () => {
    const counts = `day, lines_in_force, eans_in_force, sold_eans_in_force, lines_started, lines_ended, cost_reduction, highest_cost_reduction`;
    const found = await ask(
      `SELECT ${counts} FROM mart.reduction_day WHERE day BETWEEN '${from(9)}' AND '${addDays(DAY, 4)}' ORDER BY day`,
    );
    expect(found).toEqual([
      [from(9), '3', '2', '0', '3', '0', '1.500000', '1.000000'],
      [from(1), '3', '2', '1', '0', '1', '1.500000', '1.000000'],
      [DAY, '4', '2', '2', '2', '2', '1.000000', '0.400000'],
      [addDays(DAY, 1), '3', '3', '2', '1', '1', '2.300000', '2.000000'],
      [addDays(DAY, 3), '2', '2', '0', '0', '1', '0.300000', '0.200000'],
      [addDays(DAY, 4), '1', '1', '0', '0', '0', '0.100000', '0.100000'],
    ]);
    const [average] = await ask(
      `SELECT CAST(average_cost_reduction AS varchar) FROM mart.reduction_day WHERE day = '${DAY}'`,
    );
    expect(average?.map(Number)).toEqual([0.25]);
    expect(
      await ask(
        `SELECT lines_in_force, average_cost_reduction IS NULL FROM mart.reduction_day WHERE day = '${from(30)}'`,
      ),
    ).toEqual([['0', true]]);
  });

  test.each([
    [from(1), 3],
    [DAY, 4],
    [addDays(DAY, 1), 3],
    [addDays(DAY, 4), 1],
  ])('can be asked for line by line: on %s there are %i', async (on, lines) => {
    const found = await ask(`SELECT ean FROM warehouse.reductions_in_force('${on}') ORDER BY ean`);
    expect(found).toHaveLength(lines);
  });
}

function priceBoundary(ask: Ask): void {
  test('in force now stands with what a sale gives now and would give there', async () => {
    const figures = `as_of, ean, title, price, price_source, commission_now, maximum_price, cost_reduction, price_cut,
      commission_at_boundary, commission_difference, end_date, in_file, in_rate`;
    expect(await ask(`SELECT ${figures} FROM mart.price_boundary ORDER BY ean, maximum_price`)).toEqual([
      [
        ...[NEWEST, 'both', 'title of both', '20.000000', 'sold', '2.400000', null, '0.100000', null],
        ...[null, null, addDays(DAY, 40), true, false],
      ],
      [
        ...[NEWEST, 'cut', 'title of cut', '20.000000', 'offer', '2.500000', '10.000000', '0.500000', '10.000000'],
        ...['0.500000', '-2.000000', NEWEST, true, false],
      ],
      [
        ...[NEWEST, 'cut', 'title of cut', '20.000000', 'offer', '2.500000', '15.000000', '1.000000', '5.000000'],
        ...['1.000000', '-1.500000', addDays(DAY, 50), true, true],
      ],
      [
        ...[NEWEST, 'zero', 'title of zero', '20.000000', 'sold', '0.000000', '25.000000', '5.000000', '-5.000000'],
        ...['0.000000', '0.000000', null, false, true],
      ],
    ]);
  });
}
