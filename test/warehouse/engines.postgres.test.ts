import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pipelines } from '../../pipelines/index.ts';
import type { Day } from '../../src/core/days.ts';
import { readDictionary } from '../../src/warehouse/dictionary/dictionary.ts';
import { day, publicationOf, SliceMaker } from '../support/slices.ts';
import { rowsOf, type Warehouse } from './bench.ts';
import { duckdbWarehouse } from './duckdb/warehouse.ts';
import { postgresWarehouse } from './postgres/warehouse.ts';

const FIRST = day('2026-03-27');

const dictionary = await readDictionary(pipelines);
const VIEWS = [...dictionary.values()].filter((entry) => entry.arguments === null && entry.schema !== 'etl');

/** They need what happens to an item, or rates and sales that fit, which slices of plausible rows lack: tests of their own show them. */
const MAY_BE_EMPTY = new Set([
  'mart.commission_expected',
  'mart.commission_leakage',
  'mart.rate_change',
  'mart.price_boundary',
  'mart.sub_id_unparsed',
  'warehouse.product_ean',
  'warehouse.product_now',
  'warehouse.reduction_in_force',
]);

/** Each engine has its own way to print a double; that the doubles are equal is a test of its own. */
const RATIOS = `SELECT CASE table_schema WHEN 'main' THEN 'warehouse' ELSE table_schema END || '.' || table_name, column_name
  FROM information_schema.columns WHERE lower(data_type) LIKE 'double%'`;

describe('the two engines', () => {
  let warehouses: Warehouse[];
  let declared: Map<string, Map<Day, unknown>>;
  let ratios: Set<string>;

  beforeAll(async () => {
    const maker = await SliceMaker.open();
    warehouses = [await duckdbWarehouse('none'), await postgresWarehouse('none')];
    const slices = (await Promise.all(pipelines.map((pipeline) => maker.many(pipeline, FIRST, 5, 60)))).flat();
    declared = new Map(pipelines.map(({ name }) => [name, new Map()]));
    for (const { pipeline, content } of slices)
      declared.get(pipeline.name)?.set(content.day, { rows: content.rows, sums: content.sums });
    for (const warehouse of warehouses) await warehouse.open().publish(publicationOf('r1', slices));
    await maker.close();
    const found = await both((warehouse) => rowsOf(warehouse.open(), RATIOS));
    ratios = new Set(found.flat().map((names) => names.join('.')));
  });
  afterAll(() => Promise.all(warehouses.map((warehouse) => warehouse.remove())));

  /** The same question to both. */
  const both = <T>(ask: (warehouse: Warehouse) => Promise<T>) => Promise.all(warehouses.map(ask));

  test.each(pipelines.map((pipeline) => [pipeline.name, pipeline] as const))(
    'give the same sums of %s as the lake, sign for sign',
    async (name, pipeline) => {
      const [duckdb, postgres] = await both((warehouse) => warehouse.open().sums(pipeline));
      expect(duckdb).toEqual(declared.get(name));
      expect(postgres).toEqual(declared.get(name));
    },
  );

  test.each([
    ...pipelines.map(({ table }) => `warehouse.${table}`),
    ...VIEWS.map(({ schema, name }) => `${schema}.${name}`),
  ])('show the same rows of %s, sign for sign', async (table) => {
    const contents = await both(async ({ open }) => {
      const { columns, rows, truncated } = await open().query(`SELECT * FROM ${table}`, 10_000);
      expect(truncated).toBe(false);
      const isTold = (column: string) => !ratios.has(`${table}.${column}`) && !column.endsWith('loaded_at');
      const kept = columns.flatMap((column, i) => (isTold(column) ? [i] : []));
      return { columns, rows: rows.map((row) => JSON.stringify(kept.map((i) => row[i]))).sort() };
    });
    if (!MAY_BE_EMPTY.has(table)) expect(contents[0]?.rows.length).toBeGreaterThan(0);
    expect(contents[0]).toEqual(contents[1]);
  });

  test('have the same bookkeeping: tables, columns, order, NULL and comments', async () => {
    const columns = `SELECT table_name, column_name, is_nullable = 'YES' FROM information_schema.columns
      WHERE table_schema = 'etl' AND table_name NOT IN ('drift', 'sub_id_seen') ORDER BY table_name, ordinal_position`;
    const [duckdb, postgres] = await both((warehouse) => rowsOf(warehouse.open(), columns));
    expect(duckdb).toEqual(postgres);
    expect(new Set(duckdb?.map(([table]) => table))).toEqual(
      new Set(['catalogue', 'drift_by_fetch', 'fetch', 'hold', 'migration', 'receipt', 'reject', 'run', 'setting']),
    );
    const comments: Record<string, string> = {
      duckdb: `SELECT table_name, column_name, comment FROM duckdb_columns() WHERE schema_name = 'etl' AND table_name NOT IN ('drift', 'sub_id_seen')
        UNION ALL SELECT table_name, NULL, comment FROM duckdb_tables() WHERE schema_name = 'etl'`,
      postgres: `SELECT relname, attname, col_description(attrelid, attnum) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = 'etl'::regnamespace AND relkind = 'r' AND attnum > 0
        UNION ALL SELECT relname, NULL, obj_description(oid) FROM pg_class WHERE relnamespace = 'etl'::regnamespace AND relkind = 'r'`,
    };
    const [ours, theirs] = await both(async (warehouse) => {
      const found = await rowsOf(warehouse.open(), comments[warehouse.engine]!);
      return new Map(found.map(([table, column, comment]) => [`${table}.${column}`, comment]));
    });
    expect(ours).toEqual(theirs);
    expect([...(ours ?? [])].filter(([, comment]) => comment === null)).toEqual([]);
  });
});
