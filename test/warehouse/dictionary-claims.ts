/** What the dictionary must be for every engine: one scene, a warehouse into which a single row was published. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pipelines } from '../../pipelines/index.ts';
import { orders } from '../../pipelines/orders.ts';
import { commentOf, type Dictionary, readDictionary } from '../../src/warehouse/dictionary/dictionary.ts';
import type { Target } from '../../src/warehouse/target.ts';
import { day, publicationOf, SliceMaker } from '../support/slices.ts';
import { type NewWarehouse, rowsOf, type Warehouse } from './bench.ts';

const FIRST = day('2026-03-01');

/** Schema, thing, kind, column (null: the thing itself), comment; columns in order. */
const COMMENTS: Readonly<Record<string, string>> = {
  duckdb: `WITH things AS (
      SELECT schema_name, table_name AS name, 'table' AS kind, comment FROM duckdb_tables()
      UNION ALL
      SELECT schema_name, view_name, 'view', comment FROM duckdb_views() WHERE NOT internal
      UNION ALL
      SELECT schema_name, function_name, 'function', comment FROM duckdb_functions() WHERE NOT internal
    ), found AS (
      SELECT schema_name, name, kind, NULL AS column_name, 0 AS place, comment FROM things
      UNION ALL
      SELECT things.schema_name, name, kind, c.column_name, c.column_index, c.comment
      FROM duckdb_columns() AS c JOIN things ON things.schema_name = c.schema_name AND name = table_name
      WHERE NOT c.internal
    )
    SELECT CASE schema_name WHEN 'main' THEN 'warehouse' ELSE schema_name END, name, kind, column_name, comment FROM found
    WHERE schema_name IN ('main', 'mart', 'etl') ORDER BY 1, 2, place`,
  postgres: `WITH things AS (
      SELECT oid, relnamespace AS schema, relname AS name, CASE relkind WHEN 'r' THEN 'table' ELSE 'view' END AS kind,
        obj_description(oid, 'pg_class') AS comment
      FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm')
      UNION ALL
      SELECT oid, pronamespace, proname, 'function', obj_description(oid, 'pg_proc') FROM pg_proc
    ), found AS (
      SELECT schema, name, kind, NULL AS column_name, 0 AS place, comment FROM things
      UNION ALL
      SELECT schema, name, kind, attname, attnum, col_description(attrelid, attnum)
      FROM things JOIN pg_attribute ON attrelid = oid
      WHERE kind <> 'function' AND attnum > 0 AND NOT attisdropped
    )
    SELECT nspname, name, kind, column_name, comment FROM found JOIN pg_namespace ON pg_namespace.oid = schema
    WHERE nspname IN ('warehouse', 'mart', 'etl') ORDER BY nspname, name, place`,
};

/** Statements that put nonsense into the place of comments of a view, of a column of it, and of a function. */
const NONSENSE: Readonly<Record<string, readonly string[]>> = {
  duckdb: ['VIEW mart.push_day', 'COLUMN mart.push_day.late', 'MACRO TABLE warehouse.orders_as_of'],
  postgres: ['VIEW mart.push_day', 'COLUMN mart.push_day.late', 'FUNCTION warehouse.orders_as_of'],
};

interface Found {
  /** `schema.name`. */
  readonly thing: string;
  readonly kind: string;
  readonly column: string | null;
  readonly comment: string | null;
}

export function dictionaryClaims(newWarehouse: NewWarehouse): void {
  let warehouse: Warehouse;
  let target: Target;
  let maker: SliceMaker;
  let dictionary: Dictionary;
  let found: readonly Found[];
  const look = async () =>
    (await rowsOf(target, COMMENTS[warehouse.engine]!)).map(([schema, name, kind, column, comment]) => ({
      thing: `${schema}.${name}`,
      kind: String(kind),
      column: column as string | null,
      comment: comment as string | null,
    }));
  const columnsOf = (thing: string) => found.flatMap((f) => (f.thing === thing && f.column !== null ? [f.column] : []));

  beforeAll(async () => {
    maker = await SliceMaker.open();
    warehouse = await newWarehouse('migrated');
    target = warehouse.open();
    dictionary = await readDictionary(pipelines);
    await target.publish(publicationOf('r1', await maker.many(orders, FIRST, 1, 1)));
    found = await look();
  });
  afterAll(async () => {
    await warehouse.remove();
    await maker.close();
  });

  describe('the dictionary and the catalogue', () => {
    test('everything in warehouse, mart and etl has a comment, and every column', () => {
      expect(found.length).toBeGreaterThan(400);
      const mute = found.filter(({ comment }) => comment === null || comment === '');
      expect(mute.map(({ thing, column }) => (column === null ? thing : `${thing}.${column}`))).toEqual([]);
    });

    test('every view and every function is in the dictionary, and nothing else', () => {
      const things = found.filter(({ kind, column }) => kind !== 'table' && column === null).map(({ thing }) => thing);
      expect([...dictionary.keys()].sort()).toEqual([...things].sort());
    });

    test('the dictionary names the columns of each, all of them, in order', async () => {
      const [named, there]: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
      for (const [thing, entry] of dictionary) {
        if (entry.returns !== null) continue;
        const { rowsOf: lender, columns } = entry;
        named[thing] = lender === null ? columns.map(({ name }) => name) : columnsOf(lender);
        const call = `${thing}(${entry.arguments?.map(() => 'NULL').join(', ')})`;
        there[thing] =
          entry.arguments === null ? columnsOf(thing) : (await target.query(`SELECT * FROM ${call}`, 1)).columns;
      }
      expect(named).toEqual(there);
    });

    test('the comments are the words of the dictionary', () => {
      const wrong = found.filter(({ thing, column, comment }) => {
        const entry = dictionary.get(thing);
        if (!entry) return false;
        const meaning = column === null ? commentOf(entry) : entry.columns.find(({ name }) => name === column)?.about;
        return meaning !== comment;
      });
      expect(wrong).toEqual([]);
    });

    test('no entry of the dictionary is the table of a pipeline, whose words are its own', () => {
      const tables = pipelines.map(({ table }) => `warehouse.${table}`);
      expect(tables.filter((table) => dictionary.has(table))).toEqual([]);
    });

    test('comments that somebody changed are the words of the dictionary after the next publication', async () => {
      for (const subject of NONSENSE[warehouse.engine]!) await warehouse.execute(`COMMENT ON ${subject} IS 'nonsense'`);
      expect((await look()).filter(({ comment }) => comment === 'nonsense')).toHaveLength(3);
      await target.publish(publicationOf('r2', await maker.many(orders, FIRST, 2, 2)));
      expect(await look()).toEqual(found);
    });
  });
}
