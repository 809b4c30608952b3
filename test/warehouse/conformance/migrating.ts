import { beforeAll, describe, expect, test } from 'vitest';
import { pipelines } from '../../../pipelines/index.ts';
import { orders } from '../../../pipelines/orders.ts';
import { DUCKDB_TYPE, POSTGRES_TYPE } from '../../../src/core/columns.ts';
import { LOADED_COLUMN, OBSERVED_TO, type Pipeline, storedColumns } from '../../../src/core/pipeline.ts';
import { readMigrations } from '../../../src/warehouse/migrations.ts';
import { receiptsOf } from '../../../src/warehouse/target.ts';
import { day, publicationOf } from '../../support/slices.ts';
import { type Bench, type NewWarehouse, rowsOf, useBench, useSharedBench } from '../bench.ts';

const FIRST = day('2026-03-01');

export function migrating(newWarehouse: NewWarehouse): void {
  describe('migrations', () => {
    const bench = useBench(newWarehouse, 'none');
    const slices = () => bench.maker.many(orders, FIRST, 3, 1);
    const publishAnother = async () => bench.target.publish(publicationOf('r2', (await slices()).slice(1)));

    test('are all applied and recorded, once', async () => {
      const [first, ...others] = await slices();
      await bench.target.publish(publicationOf('r1', [first!]));
      await bench.warehouse.open().publish(publicationOf('r2', others));
      const ours = await readMigrations(bench.warehouse.engine);
      expect(await rowsOf(bench.target, 'SELECT number, name, sha256 FROM etl.migration ORDER BY 1')).toEqual(
        ours.map(({ number, name, sha256 }) => [String(number), name, sha256]),
      );
    });

    const REFUSALS = [
      ['migration_changed', `UPDATE etl.migration SET sha256 = 'another' WHERE number = 2`],
      [
        'newer_schema',
        `INSERT INTO etl.migration VALUES (9999, '9999_later.sql', 'x', TIMESTAMPTZ '2030-01-01 00:00:00Z')`,
      ],
    ] as const;
    test.each(REFUSALS)('failed/%s is told by publish and check, and nothing is published', async (code, change) => {
      await bench.target.publish(publicationOf('r1', (await slices()).slice(0, 1)));
      await bench.warehouse.execute(change);
      await expect(publishAnother()).rejects.toMatchObject({ kind: 'failed', code, hint: expect.any(String) });
      await expect(bench.target.check()).rejects.toMatchObject({ kind: 'failed', code });
      await expect(bench.target.publish(publicationOf('r3', []))).rejects.toMatchObject({ kind: 'failed', code });
      expect(receiptsOf(await bench.target.receipts(), 'orders').size).toBe(1);
    });

    test('those that an older program did not have are told, and applied by a publication without slices', async () => {
      await bench.target.publish(publicationOf('r1', (await slices()).slice(0, 1)));
      expect([await bench.target.lacking(), (await bench.target.state()).isOutdated]).toEqual([[], false]);
      await bench.warehouse.execute('DELETE FROM etl.migration WHERE number = 11');
      await bench.warehouse.execute('ALTER TABLE etl.fetch DROP COLUMN pruned_at');
      expect(await bench.target.lacking()).toEqual(['0011_pruned_answers.sql']);
      expect((await bench.target.state()).isOutdated).toBe(true);
      await bench.target.publish(publicationOf('r2', []));
      expect([await bench.target.lacking(), (await bench.target.state()).isOutdated]).toEqual([[], false]);
      expect(await rowsOf(bench.target, 'SELECT count(pruned_at) FROM etl.fetch')).toEqual([['0']]);
    });

    test('comments that somebody changed are as declared after the next publication', async () => {
      await bench.target.publish(publicationOf('r1', (await slices()).slice(0, 1)));
      await bench.warehouse.execute(`COMMENT ON COLUMN warehouse.fact_order_item.quantity IS 'nonsense'`);
      await publishAnother();
      const found = await columnsOf(bench, orders);
      expect(found.find(([name]) => name === 'quantity')?.[3]).toBe('pieces');
    });
  });

  describe('tables', () => {
    const bench = useSharedBench(newWarehouse, 'none');
    beforeAll(async () => {
      await bench.target.publish(publicationOf('r1', await bench.maker.many(orders, FIRST, 1, 1)));
    });

    test.each(pipelines.map((pipeline) => [pipeline.table, pipeline] as const))(
      '%s has the declared columns, and no others, in type, order, NULL and comment',
      async (_, pipeline) => {
        expect(await columnsOf(bench, pipeline)).toEqual(declaredColumns(bench, pipeline));
        expect(await rowsOf(bench.target, tableComment(bench, pipeline))).toEqual([[pipeline.about]]);
      },
    );
  });
}

const isDuckdb = ({ warehouse }: Bench) => warehouse.engine === 'duckdb';

/** Name, type, whether NULL may be there, comment. */
function columnsOf(bench: Bench, pipeline: Pipeline) {
  const duckdb = `SELECT column_name, data_type, is_nullable, comment FROM duckdb_columns()
    WHERE table_name = '${pipeline.table}' ORDER BY column_index`;
  const postgres = `SELECT attname, format_type(atttypid, atttypmod), NOT attnotnull, col_description(attrelid, attnum)
    FROM pg_attribute WHERE attrelid = 'warehouse.${pipeline.table}'::regclass AND attnum > 0 ORDER BY attnum`;
  return rowsOf(bench.target, isDuckdb(bench) ? duckdb : postgres);
}

function tableComment(bench: Bench, pipeline: Pipeline): string {
  return isDuckdb(bench)
    ? `SELECT comment FROM duckdb_tables() WHERE table_name = '${pipeline.table}'`
    : `SELECT obj_description('warehouse.${pipeline.table}'::regclass)`;
}

function declaredColumns(bench: Bench, pipeline: Pipeline) {
  const types = isDuckdb(bench) ? DUCKDB_TYPE : POSTGRES_TYPE;
  const observedTo = [OBSERVED_TO, types['utc-time'], true, 'when the next version was first seen; null: holds now'];
  const required = new Set(pipeline.columns.filter((c) => c.required).map((c) => c.column)).add('fetch_id');
  return [
    ...storedColumns(pipeline).map((c) => [c.column, types[c.kind], !required.has(c.column), c.about]),
    [LOADED_COLUMN, types['utc-time'], false, 'when the row was loaded into this warehouse'],
    ...(pipeline.versions ? [observedTo] : []),
  ];
}
