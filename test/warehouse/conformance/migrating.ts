import { beforeAll, describe, expect, test } from 'vitest';
import { pipelines } from '../../../pipelines/index.ts';
import { orders } from '../../../pipelines/orders.ts';
import { DUCKDB_TYPE, POSTGRES_TYPE } from '../../../src/core/columns.ts';
import { declareHistory } from '../../../src/core/history.ts';
import { column, LOADED_COLUMN, type Pipeline, storedColumns } from '../../../src/core/pipeline.ts';
import { readMigrations } from '../../../src/warehouse/schema/migrations.ts';
import { receiptsOf } from '../../../src/warehouse/target.ts';
import { orderHistory } from '../../support/history-tables.ts';
import { day, publicationOf } from '../../support/slices.ts';
import { type Bench, type NewWarehouse, rowsOf, useBench, useSharedBench } from '../bench.ts';

const FIRST = day('2026-03-01');
const UP_TO_DATE = [[], false];

export function migrating(newWarehouse: NewWarehouse): void {
  describe('migrations', () => {
    const bench = useBench(newWarehouse, 'none');

    test('are all applied and recorded, once', async () => {
      const [first, ...others] = await bench.maker.many(orders, FIRST, 3, 1);
      await bench.target.publish(publicationOf('r1', [first!]));
      await bench.warehouse.open().publish(publicationOf('r2', others));
      const ours = await readMigrations(bench.warehouse.engine);
      expect(await rowsOf(bench.target, 'SELECT number, name, sha256 FROM etl.migration ORDER BY 1')).toEqual(
        ours.map(({ number, name, sha256 }) => [String(number), name, sha256]),
      );
    });
  });

  describe('what is not as this program made it', () => {
    const bench = useBench(newWarehouse);
    const slices = () => bench.maker.many(orders, FIRST, 3, 1);
    const publishAnother = async () => bench.target.publish(publicationOf('r2', (await slices()).slice(1)));

    const REFUSALS = [
      ['migration_changed', `UPDATE etl.migration SET sha256 = 'another' WHERE number = 1`],
      [
        'newer_schema',
        `INSERT INTO etl.migration VALUES (9999, '9999_later.sql', 'x', TIMESTAMPTZ '2030-01-01 00:00:00Z')`,
      ],
    ] as const;
    test.each(REFUSALS)('failed/%s is said by publish and check, and nothing is published', async (code, change) => {
      await bench.target.publish(publicationOf('r1', (await slices()).slice(0, 1)));
      await bench.warehouse.execute(change);
      await expect(publishAnother()).rejects.toMatchObject({ kind: 'failed', code, hint: expect.any(String) });
      await expect(bench.target.check()).rejects.toMatchObject({ kind: 'failed', code });
      await expect(bench.target.publish(publicationOf('r3', []))).rejects.toMatchObject({ kind: 'failed', code });
      expect(receiptsOf(await bench.target.receipts(), 'orders').size).toBe(1);
    });

    test('comments that somebody changed are as declared after the next publication', async () => {
      await bench.warehouse.execute(`COMMENT ON COLUMN warehouse.fact_order_item.quantity IS 'nonsense'`);
      await publishAnother();
      const found = await rowsOf(bench.target, columnsIn(bench));
      expect(found.find(([table, name]) => table === orders.table && name === 'quantity')?.[4]).toBe('pieces');
    });
  });

  describe('views', () => {
    const bench = useBench(newWarehouse);
    const made = () => rowsOf(bench.target, 'SELECT sha256, made_at FROM etl.catalogue');

    test('are made anew by a publication without slices where their texts are others, else left alone', async () => {
      const [first, second] = await bench.maker.many(orders, FIRST, 2, 1);
      const before = await made();
      await bench.target.publish(publicationOf('r1', [first!]));
      expect(await made()).toEqual(before);
      await bench.warehouse.execute(`UPDATE etl.catalogue SET sha256 = 'of an older program'`);
      await bench.warehouse
        .execute(`CREATE OR REPLACE VIEW mart.freshness AS SELECT 'old' AS pipeline, 1 AS other`)
        .catch(() => bench.warehouse.execute('DROP VIEW mart.freshness'));
      expect([await bench.target.lacking(), (await bench.target.state()).isOutdated]).toEqual([
        ['tables and views'],
        true,
      ]);
      await bench.target.publish(publicationOf('r2', []));
      expect([await bench.target.lacking(), (await bench.target.state()).isOutdated]).toEqual(UP_TO_DATE);
      expect(await rowsOf(bench.target, 'SELECT pipeline, slices FROM mart.freshness')).toEqual([['orders', '1']]);
      await bench.target.publish(publicationOf('r3', [second!]));
      expect((await made())[0]?.[0]).toBe(before[0]?.[0]);
    });

    test('that somebody has dropped or replaced are named, and made again by a publication without slices', async () => {
      const { target, warehouse } = bench;
      await target.publish(publicationOf('r5', []));
      expect([await target.altered(), (await target.state()).isOutdated]).toEqual([[], false]);
      const before = await rowsOf(target, 'SELECT pipeline, slices FROM mart.freshness');
      const isPostgres = target.dialect === 'postgres';
      const as = isPostgres ? 'function' : 'macro table';
      await warehouse.execute('DROP VIEW mart.daily_performance');
      await warehouse.execute('DROP VIEW mart.freshness');
      await warehouse.execute(`CREATE VIEW mart.freshness AS SELECT 'forged' AS pipeline, 1 AS slices`);
      const dropped = isPostgres ? 'FUNCTION warehouse.orders_as_of' : 'MACRO TABLE main.orders_as_of';
      await warehouse.execute(`DROP ${dropped}`);
      if (isPostgres) await warehouse.execute('DROP INDEX warehouse.fact_order_item_unpaid');
      const index = isPostgres ? ['index warehouse.fact_order_item_unpaid is missing'] : [];
      expect([...(await target.altered())].sort()).toEqual(
        [
          'view mart.daily_performance is missing',
          'view mart.freshness is not the one that partner-etl made',
          `${as} warehouse.orders_as_of is missing`,
          ...index,
        ].sort(),
      );
      expect([await target.lacking(), (await target.state()).isOutdated]).toEqual([[], true]);
      await target.publish(publicationOf('r6', []));
      expect([await target.altered(), (await target.state()).isOutdated]).toEqual([[], false]);
      expect(await rowsOf(target, 'SELECT pipeline, slices FROM mart.freshness')).toEqual(before);
      expect(await rowsOf(target, 'SELECT count(*) FROM mart.daily_performance')).toHaveLength(1);
    });

    test('that this program has no text of any more are dropped', async () => {
      await bench.warehouse.execute(`CREATE VIEW mart.of_yesterday AS SELECT 1 AS one`);
      await bench.warehouse.execute(
        `UPDATE etl.catalogue SET sha256 = 'older', things = '[{"kind":"VIEW","name":"mart.of_yesterday"}]'`,
      );
      await bench.target.publish(publicationOf('r1', []));
      await expect(rowsOf(bench.target, 'SELECT * FROM mart.of_yesterday')).rejects.toMatchObject({ kind: 'usage' });
    });
  });

  describe('tables', () => {
    const bench = useSharedBench(newWarehouse, 'none');
    let columns: Rows;
    let comments: Rows;
    beforeAll(async () => {
      await bench.target.publish(publicationOf('r1', await bench.maker.many(orders, FIRST, 1, 1)));
      columns = await rowsOf(bench.target, columnsIn(bench));
      comments = await rowsOf(bench.target, tableComments(bench));
    });
    const of = (rows: Rows, { table }: Pipeline) => rows.filter(([name]) => name === table).map(([, ...row]) => row);

    test.each(pipelines.map((pipeline) => [pipeline.table, pipeline] as const))(
      '%s has the declared columns, and no others, in type, order, NULL and comment',
      (_, pipeline) => {
        expect(of(columns, pipeline)).toEqual(declaredColumns(bench, pipeline));
        expect(of(comments, pipeline)).toEqual([[pipeline.about]]);
      },
    );
  });

  describe('a changed declaration', () => {
    const bench = useBench(newWarehouse);
    test('adds the column to the rows that are there, and nobody loses a view', async () => {
      await loaded(bench, 2);
      const target = opened(bench, WIDER);
      expect(await target.lacking()).toEqual(['tables and views']);
      const [later] = await bench.maker.many(WIDER, day('2026-04-01'), 1, 3);
      await target.publish(publicationOf('r2', [later!]));
      expect(await rowsOf(target, `${COUNT} WHERE colour IS NULL`)).toEqual([['4', '4']]);
      expect(await rowsOf(target, `${COUNT} WHERE colour IS NOT NULL`)).toEqual([['3', '3']]);
      expect(await rowsOf(target, 'SELECT sum(items) FROM mart.reversal')).toEqual([['7']]);
      const fresh = await newWarehouse('none');
      const others = pipelines.filter((one) => one !== orders && one !== orderHistory);
      const other = fresh.open(undefined, undefined, [...others, WIDER, declareHistory(WIDER)]);
      await other.publish(publicationOf('r1', []));
      await other.publish(publicationOf('r2', await bench.maker.many(WIDER, FIRST, 1, 1)));
      const sorted = async (warehouse: typeof target) =>
        (await rowsOf(warehouse, columnsIn(bench)))
          .filter(([table]) => table === orders.table)
          .map((row) => row.join())
          .sort();
      expect(await sorted(other)).toEqual(await sorted(target));
      await fresh.remove();
    });

    test('with another type is refused by name, and a rebuild carries it out', () =>
      expectRebuilt(bench, OTHER_TYPE, /fact_order_item: column quantity is (BIGINT|bigint), this program writes/));

    test('with another type is carried out at once where the table holds nothing', async () => {
      const target = opened(bench, OTHER_TYPE);
      await target.publish(publicationOf('r1', await bench.maker.many(OTHER_TYPE, FIRST, 1, 1)));
      expect(await rowsOf(target, COUNT)).toEqual([['1', '1']]);
    });

    test('of a pipeline that is new makes its table', async () => {
      const target = bench.warehouse.open(undefined, undefined, [...pipelines, REPORT]);
      await target.publish(publicationOf('r1', await bench.maker.many(REPORT, FIRST, 2, 2)));
      expect(await rowsOf(target, 'SELECT count(*), sum(pieces) > 0 FROM warehouse.fact_made_up')).toEqual([
        ['4', true],
      ]);
    });
  });
}

/** Changes that take the way of one that is among those above. */
export function migratingAtLength(newWarehouse: NewWarehouse): void {
  describe('a changed declaration', () => {
    const bench = useBench(newWarehouse);

    test('that drops a column leaves it, and the rows of others', async () => {
      await loaded(bench, 1);
      const narrower = { ...orders, columns: orders.columns.filter((c) => c.column !== 'product_title') };
      const target = opened(bench, narrower);
      await target.publish(publicationOf('r2', await bench.maker.many(narrower, day('2026-04-01'), 1, 1)));
      expect(await rowsOf(target, 'SELECT count(*), count(product_title) FROM warehouse.fact_order_item')).toEqual([
        ['3', '2'],
      ]);
    });

    test('with a column that no row may be without is refused by name, and a rebuild carries it out', () =>
      expectRebuilt(bench, NEEDIER, /fact_order_item: it has no column colour, which every row must have/));
  });
}

const COUNT = 'SELECT count(*), count(order_id) FROM warehouse.fact_order_item';

const loaded = async ({ target, maker }: Bench, days: number) => {
  await target.publish(publicationOf('r1', await maker.many(orders, FIRST, days, 2)));
};

const opened = ({ warehouse }: Bench, declared: Pipeline) =>
  warehouse.open(
    undefined,
    undefined,
    pipelines.map((pipeline) => {
      if (pipeline === orderHistory) return declareHistory(declared);
      return pipeline.name === declared.name ? declared : pipeline;
    }),
  );

async function expectRebuilt(bench: Bench, declared: Pipeline, message: RegExp): Promise<void> {
  await loaded(bench, 2);
  const target = opened(bench, declared);
  const slices = await bench.maker.many(declared, FIRST, 1, 3);
  await expect(target.publish(publicationOf('r2', slices))).rejects.toMatchObject({
    kind: 'failed',
    code: 'table_differs',
    message: expect.stringMatching(message),
    concern: { pipeline: 'orders' },
    hint: expect.stringContaining(`rebuild --target ${bench.warehouse.name}`),
  });
  expect(await rowsOf(bench.target, COUNT)).toEqual([['4', '4']]);
  await target.publish({ ...publicationOf('r3', slices), afresh: true });
  expect(await rowsOf(target, COUNT)).toEqual([['3', '3']]);
  expect(await rowsOf(target, 'SELECT sum(items) FROM mart.reversal')).toEqual([['3']]);
  expect([await target.lacking(), (await target.state()).isOutdated]).toEqual(UP_TO_DATE);
}

const colour = column(90, 'colour', 'text', 'made up for a test');
const WIDER: Pipeline = { ...orders, columns: [...orders.columns, colour] };
const NEEDIER: Pipeline = { ...orders, columns: [...orders.columns, { ...colour, required: true }] };
const OTHER_TYPE: Pipeline = {
  ...orders,
  columns: orders.columns.map((c) => (c.column === 'quantity' ? { ...c, kind: 'money' as const } : c)),
};
const REPORT: Pipeline = {
  ...orders,
  keepsHistory: false,
  name: 'made-up',
  table: 'fact_made_up',
  columns: [column(1, 'day', 'day', 'the day', { required: true }), column(2, 'pieces', 'count', 'how many')],
  derived: [],
  key: null,
  day: 'day',
  sort: ['day'],
};

const isDuckdb = ({ warehouse }: Bench) => warehouse.engine === 'duckdb';

type Rows = Awaited<ReturnType<typeof rowsOf>>;

/** Of all tables: its name, then of each column name, type, whether NULL may be there, comment. */
function columnsIn(bench: Bench): string {
  return isDuckdb(bench)
    ? `SELECT table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()
       WHERE schema_name = 'main' ORDER BY table_name, column_index`
    : `SELECT relname, attname, format_type(atttypid, atttypmod), NOT attnotnull, col_description(attrelid, attnum)
       FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
       WHERE relnamespace = 'warehouse'::regnamespace AND attnum > 0 ORDER BY relname, attnum`;
}

function tableComments(bench: Bench): string {
  return isDuckdb(bench)
    ? 'SELECT table_name, comment FROM duckdb_tables()'
    : `SELECT relname, obj_description(oid) FROM pg_class WHERE relnamespace = 'warehouse'::regnamespace AND relkind = 'r'`;
}

function declaredColumns(bench: Bench, pipeline: Pipeline) {
  const types = isDuckdb(bench) ? DUCKDB_TYPE : POSTGRES_TYPE;
  const required = new Set(pipeline.columns.filter((c) => c.required).map((c) => c.column))
    .add('fetch_id')
    .add('valid_from');
  return [
    ['account', types.text, false, 'the partner account that the row belongs to'],
    ...storedColumns(pipeline).map((c) => [c.column, types[c.kind], !required.has(c.column), c.about]),
    [LOADED_COLUMN, types['utc-time'], false, 'when the row was loaded into this warehouse'],
  ];
}
