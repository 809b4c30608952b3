import { beforeAll, describe, expect, test } from 'vitest';
import { orders } from '../../../pipelines/orders.ts';
import { promotions } from '../../../pipelines/promotions.ts';
import type { EtlError } from '../../../src/core/errors.ts';
import type { AnswerColumn, AnswerRow } from '../../../src/warehouse/target.ts';
import { day, publicationOf } from '../../support/slices.ts';
import { type Bench, type NewWarehouse, rowsOf, useSharedBench } from '../bench.ts';

const FIRST = day('2026-02-27');

const REFUSED = [
  'DELETE FROM warehouse.fact_order_item',
  'WITH gone AS (DELETE FROM warehouse.fact_order_item RETURNING *) SELECT * FROM gone',
  'INSERT INTO etl.reject SELECT * FROM etl.reject',
  'CREATE TABLE etl.mine AS SELECT 1 AS a',
  'DROP TABLE warehouse.fact_order_item',
  'SELECT 1; SELECT 2',
  'SELECT 1; DELETE FROM warehouse.fact_order_item',
  'SELECT * FROM nowhere',
  '',
  "COPY (SELECT 1) TO '/tmp/partner-etl-must-not-be-written'",
];

export function querying(newWarehouse: NewWarehouse): void {
  const bench = useSharedBench(newWarehouse);

  async function streamed(sql: string, limit: number | null) {
    const read = { columns: [] as readonly AnswerColumn[], rows: [] as AnswerRow[], largestBatch: 0 };
    const isCut = await bench.target.stream(sql, limit, async (columns, batches) => {
      read.columns = columns;
      for await (const batch of batches) {
        read.rows.push(...batch);
        read.largestBatch = Math.max(read.largestBatch, batch.length);
      }
    });
    return { ...read, isCut };
  }

  describe('query', () => {
    beforeAll(async () => {
      const { maker, target } = bench;
      const sold = await maker.many(orders, FIRST, 3, 4);
      const shown = await maker.make(promotions, FIRST, [
        { site_code: 's1', site_name: 'Old', sub_id: 'x' },
        { site_code: 's2', site_name: null, promotion_date: FIRST },
      ]);
      await target.publish(publicationOf('r1', [...sold, shown]));
    });

    test('returns columns and rows, every value as text but booleans', async () => {
      const sql = `SELECT 1 AS one, 1.50 AS "a decimal", 'x' AS text, true AS yes, NULL AS "no; 'thing'", 9223372036854775807 AS big`;
      expect(await bench.target.query(sql, 10)).toEqual({
        columns: ['one', 'a decimal', 'text', 'yes', "no; 'thing'", 'big'],
        rows: [['1', '1.50', 'x', true, null, '9223372036854775807']],
        truncated: false,
      });
    });

    test.each([
      [11, 11, true],
      [12, 12, false],
      [13, 12, false],
    ])('with limit %i gives %i rows of 12', async (limit, rows, truncated) => {
      const result = await bench.target.query('SELECT * FROM warehouse.fact_order_item', limit);
      expect([result.rows.length, result.truncated]).toEqual([rows, truncated]);
    });

    test('keeps the order asked for, takes comments and a closing semicolon', async () => {
      const sql = 'SELECT order_id FROM warehouse.fact_order_item ORDER BY order_id DESC -- newest first\n;';
      const { rows } = await bench.target.query(sql, 3);
      const all = await rowsOf(bench.target, 'SELECT order_id FROM warehouse.fact_order_item');
      expect(rows.map(([id]) => id)).toEqual(
        all
          .map(([id]) => id)
          .sort()
          .reverse()
          .slice(0, 3),
      );
    });

    test('explains', async () => {
      expect((await bench.target.query('EXPLAIN SELECT * FROM warehouse.fact_order_item', 100)).rows).not.toEqual([]);
    });

    test('refuses what writes, what is several statements, and what is no SQL', async () => {
      const before = await bench.warehouse.fingerprint();
      const codes: string[] = [];
      for (const sql of REFUSED)
        codes.push(
          await bench.target.query(sql, 10).then(
            () => `answered ${sql}`,
            ({ kind, code }) => `${kind}/${code}`,
          ),
        );
      expect(codes).toEqual(REFUSED.map(() => 'usage/sql'));
      expect(await bench.warehouse.fingerprint()).toBe(before);
      expect(await rowsOf(bench.target, 'SELECT count(*) FROM warehouse.fact_order_item')).toEqual([['12']]);
    });

    test.each<[number | null, number, boolean]>([
      [null, 5000, false],
      [5001, 5000, false],
      [5000, 5000, false],
      [4999, 4999, true],
      [0, 0, true],
    ])('streamed with limit %j, 5,000 rows come in order as %i, in batches', async (limit, expected, isCut) => {
      const sql = 'SELECT n FROM generate_series(1, 5000) AS made(n) ORDER BY n DESC';
      const read = await streamed(sql, limit);
      expect(read).toMatchObject({ isCut, columns: [{ name: 'n', kind: 'whole' }] });
      expect(read.rows).toEqual(Array.from({ length: expected }, (_, i) => [String(5000 - i)]));
      expect(read.largestBatch).toBeLessThan(2500);
    });

    test('a streamed answer has the values of a query, with the kind of each column', async () => {
      const sql = `SELECT CAST(1 AS BIGINT) AS one, 1.50 AS a, CAST(0.1 AS DOUBLE PRECISION) AS b, true AS yes, 'x' AS text, NULL AS "c1"`;
      const { columns, rows } = await streamed(`-- the kinds\n${sql} -- all of them\n;`, null);
      expect(columns.map(({ name, kind }) => `${name} ${kind}`).slice(0, 5)).toEqual([
        ...['one whole', 'a decimal', 'b float', 'yes boolean', 'text other'],
      ]);
      expect(rows).toEqual([['1', '1.50', '0.1', true, 'x', null]]);
      const explained = await streamed('-- how?\nEXPLAIN SELECT * FROM warehouse.fact_order_item', null);
      expect(explained.rows).not.toEqual([]);
    });

    test('of large texts no more are in memory at once than fit, or the answer is refused', () =>
      expectBounded(bench, 24, 2));

    test('a statement that fails after many rows fails the stream, and what a reader throws is its own', async () => {
      const late = `SELECT CAST(CASE WHEN n = 20000 THEN 'no' ELSE '1' END AS INTEGER) FROM generate_series(1, 30000) AS made(n)`;
      await expect(streamed(late, null)).rejects.toMatchObject({ kind: 'usage', code: 'sql' });
      const mine = new Error('mine');
      await expect(bench.target.stream('SELECT 1', null, () => Promise.reject(mine))).rejects.toBe(mine);
    });

    test('a stream refuses what a query refuses', async () => {
      for (const sql of REFUSED)
        await expect(streamed(sql, null), sql).rejects.toMatchObject({ kind: 'usage', code: 'sql' });
    });

    test('knows the calendar of all reports', async () => {
      const sql = 'SELECT day, month, iso_week, iso_weekday, is_weekend FROM warehouse.dim_date ORDER BY day';
      expect(await rowsOf(bench.target, sql)).toEqual([
        ['2026-02-27', '2', '9', '5', false],
        ['2026-02-28', '2', '9', '6', true],
        ['2026-03-01', '3', '9', '7', true],
      ]);
    });

    test('knows sites by their newest name, and sub-IDs', async () => {
      const { maker, target } = bench;
      const later = { site_code: 's1', site_name: 'New', sub_id: 'x', promotion_date: '2026-03-05' };
      await target.publish(publicationOf('r2', [await maker.make(promotions, day('2026-03-05'), [later])]));
      const sites = `SELECT site_code, site_name, first_day, last_day FROM warehouse.dim_site WHERE site_code IN ('s1', 's2') ORDER BY 1`;
      expect(await rowsOf(target, sites)).toEqual([
        ['s1', 'New', FIRST, '2026-03-05'],
        ['s2', null, FIRST, FIRST],
      ]);
      expect(
        await rowsOf(target, `SELECT sub_id, first_day, last_day FROM warehouse.dim_sub_id WHERE sub_id = 'x'`),
      ).toEqual([['x', FIRST, '2026-03-05']]);
    });
  });
}

/** Streams so many texts of so many MB. */
export async function expectBounded({ target }: Bench, rows: number, mb: number): Promise<void> {
  const sql = `SELECT n, repeat('x', ${mb * 1e6}) || n AS large FROM generate_series(1, ${rows}) AS made(n)`;
  const seen: string[] = [];
  let most = 0;
  const reading = target.stream(sql, null, async (_, batches) => {
    for await (const batch of batches) {
      most = Math.max(most, batch.flat().join('').length);
      for (const [n, large] of batch) seen.push(`${n} ${String(large).slice(mb * 1e6)}`);
    }
  });
  const refused = await reading.then(
    () => null,
    ({ code }: EtlError) => code,
  );
  if (refused === null) expect(seen).toEqual(Array.from({ length: rows }, (_, i) => `${i + 1} ${i + 1}`));
  // DuckDB itself refuses a statement for which its share of the memory is too small.
  else expect([/^(?:large_cells|sql)$/.test(refused), seen]).toEqual([true, []]);
  expect(most).toBeLessThan(140_000_000);
}
