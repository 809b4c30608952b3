import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { commissionRates } from '../../../pipelines/commission-rates.ts';
import { orders } from '../../../pipelines/orders.ts';
import { products } from '../../../pipelines/products.ts';
import type { Pipeline } from '../../../src/core/pipeline.ts';
import type { Target } from '../../../src/warehouse/target.ts';
import { day, publicationOf, type RowText, SliceMaker } from '../../support/slices.ts';
import { rowsOf } from '../bench.ts';
import { openProxy } from './proxy.ts';
import { type PostgresWarehouse, postgresWarehouse } from './warehouse.ts';

const DAYS = ['2026-03-01', '2026-03-02', '2026-03-03'].map(day);
const [FIRST, SECOND, THIRD] = DAYS as [(typeof DAYS)[0], (typeof DAYS)[0], (typeof DAYS)[0]];

const item = (id: string, more: RowText = {}): RowText => ({
  order_id: id,
  order_item_id: '1',
  commission: '1',
  ...more,
});
const rate = (asked: string | null, more: RowText = {}): RowText => ({
  ean: 'a',
  condition: 'NEW',
  asked_price: asked,
  observed_from: `${FIRST} 10:00:00+00`,
  outcome: 'found',
  ...more,
});
const product = (ean: string, more: RowText = {}): RowText => ({
  ean,
  country_code: 'NL',
  language: 'nl',
  observed_from: `${FIRST} 10:00:00+00`,
  outcome: 'found',
  ...more,
});

describe('a slice of which the table has rows', () => {
  let maker: SliceMaker;
  let warehouse: PostgresWarehouse;
  let target: Target;

  beforeAll(async () => {
    maker = await SliceMaker.open();
  });
  afterAll(() => maker.close());
  beforeEach(async () => {
    warehouse = await postgresWarehouse('migrated');
    target = warehouse.open();
  });
  afterEach(() => warehouse.remove());

  let runs = 0;
  /** Publishes slices of these rows by day. */
  const publish = async (pipeline: Pipeline, rows: Readonly<Record<string, readonly RowText[]>>, by = target) => {
    runs += 1;
    const slices = Object.entries(rows).map(([on, texts]) => maker.make(pipeline, day(on), texts));
    return by.publish(publicationOf(`r${runs}`, await Promise.all(slices)));
  };
  /** Row → where it lies, and which transaction wrote it. */
  const places = async ({ table, key }: Pipeline) => {
    const names = (key ?? []).map((name) => `CAST(${name} AS text)`).join(', ');
    const rows = await warehouse.ask(`SELECT concat_ws('|', concat(${names}), ctid, xmin) FROM warehouse.${table}`);
    return new Map(rows.map((row) => row.split(/\|(.*)/s) as [string, string]));
  };
  /** The keys of rows that were written since. */
  const written = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>) =>
    [...after.keys()].filter((key) => before.get(key) !== after.get(key)).sort();

  const CHANGES: readonly [string, Pipeline, RowText, RowText, boolean][] = [
    ['nothing', orders, item('a'), item('a'), false],
    ['an amount', orders, item('a'), item('a', { commission: '1.000001' }), true],
    ['a text that was erased', orders, item('a', { sub_id: 'jan@example.nl' }), item('a', { sub_id: 'erased' }), true],
    ['a text that is null now', orders, item('a', { name: '' }), item('a', { name: null }), true],
    ['a null that is a text now', orders, item('a', { name: null }), item('a', { name: '' }), true],
    ['the fetch alone', orders, item('a'), item('a', { fetch_id: 'f2' }), true],
    ['since when it is so', orders, item('a'), item('a', { valid_from: '2026-03-05 00:00:00.000001+00' }), true],
    [
      'a sign that moved between texts',
      orders,
      item('a', { site_name: 'x\u001f', site_code: 'y' }),
      item('a', { site_name: 'x', site_code: '\u001fy' }),
      true,
    ],
    [
      'JSON that is spelt otherwise',
      orders,
      item('a', { extra: '{"b":[1,2],"a":1}' }),
      item('a', { extra: '{ "a": 1, "b": [1, 2] }' }),
      false,
    ],
    ['JSON', orders, item('a', { extra: '{"a":1}' }), item('a', { extra: '{"a":2}' }), true],
    ['a whole ratio', products, product('a', { rating: '4' }), product('a', { rating: '4' }), false],
    ['a ratio', products, product('a', { rating: '4' }), product('a', { rating: '4.1' }), true],
    ['a key with a null', commissionRates, rate(null), rate(null), false],
    ['a row whose key has a null', commissionRates, rate(null), rate(null, { reason: 'x' }), true],
  ];
  test.each(CHANGES)(
    '%s: the row is written if it differs, and no other',
    async (_, pipeline, before, after, isWritten) => {
      const other = pipeline === commissionRates ? rate('2') : pipeline === products ? product('b') : item('b');
      const third = pipeline === commissionRates ? rate('3') : pipeline === products ? product('c') : item('c');
      await publish(pipeline, { [FIRST]: [before, other, third] });
      const there = await places(pipeline);
      await publish(pipeline, { [FIRST]: [after, other] });
      const now = await places(pipeline);
      expect(now.size).toBe(2);
      expect(written(there, now)).toHaveLength(isWritten ? 1 : 0);
      const loads = await rowsOf(target, `SELECT count(DISTINCT loaded_at) FROM warehouse.${pipeline.table}`);
      expect(loads).toEqual([[isWritten ? '2' : '1']]);
    },
  );
  const itemsByDay = () =>
    rowsOf(target, 'SELECT order_date, order_id, commission FROM warehouse.fact_order_item ORDER BY 1, 2');

  test('rows may go, come, and move between days, whether the table has rows of those or not', async () => {
    await publish(orders, { [FIRST]: [item('a'), item('b'), item('c')], [SECOND]: [item('d'), item('e')] });
    const before = await places(orders);
    await publish(orders, {
      [FIRST]: [item('b'), item('d')],
      [SECOND]: [item('a'), item('e')],
      [THIRD]: [item('c'), item('f')],
    });
    expect((await itemsByDay()).map(([on, id]) => `${on} ${id}`)).toEqual([
      `${FIRST} b`,
      `${FIRST} d`,
      `${SECOND} a`,
      `${SECOND} e`,
      `${THIRD} c`,
      `${THIRD} f`,
    ]);
    expect(written(before, await places(orders))).toEqual(['a1', 'c1', 'd1', 'f1']);
  });

  test('what somebody changed in the warehouse is as the lake has it, once the slice is loaded again', async () => {
    await publish(orders, { [FIRST]: [item('a'), item('b'), item('c')] });
    await warehouse.execute(`UPDATE warehouse.fact_order_item SET product_title = 'x' WHERE order_id = 'a';
      DELETE FROM warehouse.fact_order_item WHERE order_id = 'b'`);
    await publish(orders, { [FIRST]: [item('a'), item('b'), item('c', { commission: '2' })] });
    expect(await itemsByDay()).toEqual([
      [FIRST, 'a', '1.000000'],
      [FIRST, 'b', '1.000000'],
      [FIRST, 'c', '2.000000'],
    ]);
    expect(await rowsOf(target, 'SELECT count(product_title) FROM warehouse.fact_order_item')).toEqual([['0']]);
  });

  test('a key that is on another day too is refused, and nothing changes', async () => {
    await publish(orders, { [FIRST]: [item('a')], [SECOND]: [item('b')] });
    const before = await warehouse.fingerprint();
    await expect(publish(orders, { [SECOND]: [item('a'), item('b')] })).rejects.toMatchObject({
      code: 'duplicate_key',
      concern: { pipeline: 'orders', day: SECOND },
    });
    expect((await warehouse.ask('SELECT count(*) FROM warehouse.fact_order_item'))[0]).toBe('2');
    await publish(orders, { [FIRST]: [item('a')], [SECOND]: [item('b')] });
    expect(await warehouse.fingerprint()).toBe(before);
  });

  test('sums of the whole slice are proved, of rows that did not change too', async () => {
    await publish(orders, { [FIRST]: [item('a'), item('b')] });
    const slice = await maker.make(orders, FIRST, [item('a'), item('b', { quantity: '2' })]);
    const lying = { ...slice, content: { ...slice.content, sums: { ...slice.content.sums, commission: '3.000000' } } };
    await expect(target.publish(publicationOf('r2', [lying]))).rejects.toThrow('commission');
    expect(await rowsOf(target, 'SELECT count(quantity) FROM warehouse.fact_order_item')).toEqual([['0']]);
  });

  test('a connection lost while the rows are read is told as retry, and the next try ends the same', async () => {
    await publish(orders, { [FIRST]: [item('a'), item('b')] });
    const proxy = await openProxy(warehouse.url);
    onTestFinished(() => proxy.close());
    proxy.setCut({ after: 'COPY (SELECT ctid', at: ' FROM warehouse', delivered: true });
    const relayed = warehouse.openAt(proxy.url);
    await expect(publish(orders, { [FIRST]: [item('a')] }, relayed)).rejects.toMatchObject({ kind: 'retry' });
    proxy.setCut(null);
    await publish(orders, { [FIRST]: [item('a')] }, relayed);
    expect(await itemsByDay()).toEqual([[FIRST, 'a', '1.000000']]);
  });

  const ANY_ROWS = fc.dictionary(
    fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    fc.record({
      on: fc.constantFrom(...DAYS),
      name: fc.option(fc.constantFrom('', '\u001e', '\u001f', '\\N', '\t', "a'b", '\ufeffx')),
      sub_id: fc.option(fc.constantFrom('', '\u001f', 'x')),
      price_incl_vat: fc.option(fc.constantFrom('0', '-0.000001', '999999999999.999999')),
      quantity: fc.option(fc.constantFrom('-9223372036854775808', '0')),
      status_final: fc.option(fc.constantFrom('true', 'false')),
      order_utc_time: fc.option(fc.constantFrom('2026-03-01 00:00:00+00', '2026-03-01 23:59:59.999999+00')),
      extra: fc.option(fc.constantFrom('{"a":1}', '{"a":1.0}', '{"a":"\\u00e9"}', 'null')),
    }),
  );

  test('whatever there was, afterwards the rows are those of the slices', async () => {
    const columns = 'order_date, name, sub_id, price_incl_vat, quantity, status_final, order_utc_time, extra';
    await fc.assert(
      fc.asyncProperty(ANY_ROWS, async (rows) => {
        const on = (wanted: string) =>
          Object.entries(rows).flatMap(([id, { on, ...values }]) => (on === wanted ? [item(id, values)] : []));
        await publish(orders, Object.fromEntries(DAYS.map((one) => [one, on(one)])));
        const there = await rowsOf(target, `SELECT order_id, ${columns} FROM warehouse.fact_order_item ORDER BY 1`);
        const wanted = Object.entries(rows).sort(([a], [b]) => (a < b ? -1 : 1));
        expect(there.map(([id, order_date, name, sub_id]) => [id, order_date, name, sub_id])).toEqual(
          wanted.map(([id, row]) => [id, row.on, row.name, row.sub_id]),
        );
        expect(there.map((row) => row.slice(4))).toEqual(
          wanted.map(([, row]) => [
            row.price_incl_vat === '0' ? '0.000000' : row.price_incl_vat,
            row.quantity,
            row.status_final === null ? null : row.status_final === 'true',
            row.order_utc_time,
            row.extra === null ? null : expect.anything(),
          ]),
        );
      }),
      { numRuns: 20, seed: 23 },
    );
  });
});
