import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { orders } from '../../../pipelines/orders.ts';
import type { Target } from '../../../src/warehouse/target.ts';
import { day, publicationOf, SliceMaker } from '../../support/slices.ts';
import { rowsOf } from '../bench.ts';
import { type PostgresWarehouse, postgresWarehouse } from './warehouse.ts';

const FIRST = day('2026-03-01');
const ROWS = 12_000;
const INDEXES = `SELECT concat(indexrelid, ' ', pg_get_indexdef(indexrelid)) FROM pg_index
  WHERE indrelid = 'warehouse.fact_order_item'::regclass ORDER BY pg_get_indexdef(indexrelid)`;

describe('the first load of a table', () => {
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

  const load = async (by: Target, run: string, seed: number) =>
    by.publish(publicationOf(run, await maker.many(orders, FIRST, 2, ROWS / 2, seed)));
  const count = () => rowsOf(target, 'SELECT count(*) FROM warehouse.fact_order_item');
  /** Index → its number in the catalogue. */
  const indexes = async () =>
    new Map((await warehouse.ask(INDEXES)).map((text) => [text.slice(text.indexOf(' ') + 1), text.split(' ')[0]]));
  const madeAgain = (before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>) =>
    [...after].filter(([definition, number]) => before.get(definition) !== number).map(([definition]) => definition);

  test('makes the key and the indexes after the rows; a later load leaves them alone', async () => {
    const before = await indexes();
    await load(target, 'r2', 1);
    const after = await indexes();
    expect([...after.keys()]).toEqual([...before.keys()]);
    expect(madeAgain(before, after)).toEqual([...before.keys()]);
    await load(target, 'r3', 2);
    expect(await indexes()).toEqual(after);
    expect(await count()).toEqual([[String(ROWS)]]);
  });

  test('a load that fails leaves the indexes as they were', async () => {
    const before = await indexes();
    const [slice] = await maker.many(orders, FIRST, 1, ROWS);
    const lying = { ...slice!, content: { ...slice!.content, sums: { ...slice!.content.sums, quantity: '1' } } };
    await expect(target.publish(publicationOf('r2', [lying]))).rejects.toThrow('quantity');
    expect(await indexes()).toEqual(before);
    expect(await count()).toEqual([['0']]);
  });

  test('a key that is there twice is named, and nothing is loaded', async () => {
    const before = await indexes();
    const [slice, next] = await maker.many(orders, FIRST, 2, ROWS);
    const select = `SELECT * REPLACE (DATE '2026-03-02' AS order_date) FROM read_parquet('${slice!.file}')`;
    const same = await maker.fromSelect(orders, next!.content.day, select);
    await expect(target.publish(publicationOf('r2', [slice!, same]))).rejects.toMatchObject({
      code: 'duplicate_key',
      concern: { pipeline: 'orders' },
    });
    expect(await indexes()).toEqual(before);
    expect(await count()).toEqual([['0']]);
  });

  test('a key on which a view of somebody depends stays', async () => {
    await warehouse.execute(`CREATE VIEW public.own AS SELECT order_id, order_item_id, account, quantity, count(*)
      FROM warehouse.fact_order_item GROUP BY order_id, order_item_id, account`);
    const before = await indexes();
    await load(target, 'r2', 1);
    const after = await indexes();
    expect([...after.keys()]).toEqual([...before.keys()]);
    expect(madeAgain(before, after)).toEqual([...before.keys()].filter((definition) => !definition.includes('UNIQUE')));
  });

  test('whoever may write into the table but does not own it fills it with its indexes', async () => {
    const name = `writer_${randomBytes(4).toString('hex')}`;
    await warehouse.execute(`CREATE ROLE ${name} LOGIN; GRANT USAGE ON SCHEMA etl, warehouse, mart TO ${name};
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA etl, warehouse, mart TO ${name}`);
    onTestFinished(() => warehouse.execute(`DROP OWNED BY ${name}; DROP ROLE ${name}`).catch(() => undefined));
    const url = new URL(warehouse.url);
    url.username = name;
    const before = await indexes();
    await load(warehouse.openAt(url.href), 'r2', 1);
    expect(await indexes()).toEqual(before);
    expect(await count()).toEqual([[String(ROWS)]]);
  });
});
