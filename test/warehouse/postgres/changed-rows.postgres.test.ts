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
  valid_from: `${FIRST} 10:00:00+00`,
  outcome: 'found',
  ...more,
});
const product = (ean: string, more: RowText = {}): RowText => ({
  ean,
  country_code: 'NL',
  language: 'nl',
  valid_from: `${FIRST} 10:00:00+00`,
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

  /** By pipeline and key: what there is, what comes, and whether that is another row. */
  const ITEMS: readonly [string, RowText, RowText, boolean][] = [
    ['nothing', {}, {}, false],
    ['an amount', {}, { commission: '1.000001' }, true],
    ['a text that was erased', { sub_id: 'jan@example.nl' }, { sub_id: 'erased' }, true],
    ['a text that is null now', { name: '' }, { name: null }, true],
    ['a null that is a text now', { name: null }, { name: '' }, true],
    ['the fetch alone', {}, { fetch_id: 'f2' }, true],
    ['since when it is so', {}, { valid_from: '2026-03-05 00:00:00.000001+00' }, true],
    [
      'a sign that moved between texts',
      { site_name: 'x\u001f', site_code: 'y' },
      { site_name: 'x', site_code: '\u001fy' },
      true,
    ],
    ['JSON that is spelt otherwise', { extra: '{"b":[1,2],"a":1}' }, { extra: '{ "a": 1, "b": [1, 2] }' }, false],
    ['JSON', { extra: '{"a":1}' }, { extra: '{"a":2}' }, true],
  ];
  const CHANGES: readonly [string, Pipeline, readonly RowText[], readonly RowText[], readonly string[]][] = [
    [
      'items',
      orders,
      [...ITEMS.map(([what, before]) => item(what, before)), item('other'), item('gone')],
      [...ITEMS.map(([what, , after]) => item(what, after)), item('other')],
      ITEMS.flatMap(([what, , , isWritten]) => (isWritten ? [`${what}1`] : [])),
    ],
    [
      'products with ratios',
      products,
      [product('whole', { rating: '4' }), product('other'), product('moved', { rating: '4' }), product('gone')],
      [product('whole', { rating: '4' }), product('other'), product('moved', { rating: '4.1' })],
      ['movedNLnl'],
    ],
    [
      'rates whose key has a null',
      commissionRates,
      [rate(null), rate('2'), rate(null, { ean: 'b' }), rate('3')],
      [rate(null), rate('2'), rate(null, { ean: 'b', reason: 'x' })],
      ['bNEW'],
    ],
  ];
  test.each(CHANGES)(
    '%s: a row is written if it differs, and no other',
    async (_, pipeline, before, after, expected) => {
      await publish(pipeline, { [FIRST]: before });
      const there = await places(pipeline);
      await publish(pipeline, { [FIRST]: after });
      const now = await places(pipeline);
      expect(now.size).toBe(after.length);
      expect(written(there, now)).toEqual([...expected].sort());
      const loads = `SELECT count(*) FROM warehouse.${pipeline.table} WHERE loaded_at = (SELECT max(loaded_at) FROM warehouse.${pipeline.table})`;
      expect(await rowsOf(target, loads)).toEqual([[String(expected.length)]]);
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
});
