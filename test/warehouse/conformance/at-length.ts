/** What takes an engine seconds: many at once, many slices, many nights. Only test/proof runs it. */
import { describe, expect, test } from 'vitest';
import { orders } from '../../../pipelines/orders.ts';
import { promotions } from '../../../pipelines/promotions.ts';
import { readMigrations } from '../../../src/warehouse/schema/migrations.ts';
import { type LoadSlice, receiptsOf } from '../../../src/warehouse/target.ts';
import { day, publicationOf } from '../../support/slices.ts';
import { type NewWarehouse, patientClock, rowsOf, useBench } from '../bench.ts';
import { expectBounded } from './querying.ts';
import { fetchRecord } from './recording.ts';

const FIRST = day('2026-03-01');
const SECOND = day('2026-03-02');
const PROCESSES = 20;

/** Easter Sundays, the earliest and the latest possible, leap years, and the two kinds of exception to the moon's rule. */
const EASTER = [
  ...['1943-04-25', '1954-04-18', '1981-04-19', '2000-04-23', '2008-03-23', '2013-03-31', '2016-03-27', '2019-04-21'],
  ...['2024-03-31', '2025-04-20', '2026-04-05', '2027-03-28', '2038-04-25', '2049-04-18', '2076-04-19', '2079-04-23'],
];

export function atLength(newWarehouse: NewWarehouse): void {
  const bench = useBench(newWarehouse);

  test('loads more slices than one statement reads files', async () => {
    const { target, maker } = bench;
    const one = await maker.make(orders, FIRST, []);
    const slices: LoadSlice[] = [one, ...(await maker.many(orders, SECOND, 405, 2))];
    expect(await target.publish(publicationOf('r1', slices))).toMatchObject({ slices: 406, rows: 810 });
    expect(receiptsOf(await target.receipts(), 'orders').size).toBe(406);
  });

  test('of thousands of large texts no more are in memory at once than fit, or the answer is refused', async () => {
    await bench.target.publish(publicationOf('r1', [await bench.maker.make(orders, FIRST, [])]));
    await expectBounded(bench, 2500, 0.2);
  });

  test('shows readers the old or the new, never half of it', async () => {
    const { target, maker, warehouse } = bench;
    const versions = [await maker.many(orders, FIRST, 5, 200, 1), await maker.many(orders, FIRST, 5, 400, 2)];
    await target.publish(publicationOf('r1', versions[0]!));
    const reader = warehouse.open();
    const seen = new Set<string>();
    const look = async () =>
      seen.add(
        JSON.stringify(
          await rowsOf(
            reader,
            'SELECT count(*), count(DISTINCT fetch_id), count(DISTINCT loaded_at) FROM warehouse.fact_order_item',
          ),
        ),
      );
    for (let round = 2; round <= 5; round++) {
      const publishing = target.publish(publicationOf(`r${round}`, versions[(round + 1) % 2]!));
      let done = false;
      const watched = publishing.finally(() => {
        done = true;
      });
      while (!done) await look();
      await watched;
    }
    await look();
    expect([...seen].sort()).toEqual(['[["1000","1","1"]]', '[["2000","1","1"]]']);
  });

  test('thousands of fetches and receipts go in one publication', async () => {
    const { maker, target } = bench;
    const one = await maker.make(orders, FIRST, []);
    const slices = Array.from({ length: 2000 }, (_, i) => {
      const on = new Date(Date.UTC(2020, 0, 1 + i)).toISOString().slice(0, 10);
      return { ...one, content: { ...one.content, day: day(on) } };
    });
    const fetches = Array.from({ length: 3000 }, (_, i) => fetchRecord(`f${1000 + i}`));
    await target.publish(publicationOf('r1', slices, { fetches }));
    const again = slices.map((slice) => ({ ...slice, content: { ...slice.content, digest: 'other' } }));
    await target.publish(publicationOf('r2', again, { fetches }));
    const counts = 'SELECT (SELECT count(*) FROM etl.fetch), count(*), count(superseded_at) FROM etl.receipt';
    expect(await rowsOf(target, counts)).toEqual([['3000', '4000', '2000']]);
  });

  test('dim_date knows Easter of any year, and what hangs on it', async () => {
    const span = ['1940-01-01', '2080-12-31'].map((text) => bench.maker.make(promotions, day(text), [{ clicks: '1' }]));
    await bench.target.publish(publicationOf('r1', await Promise.all(span)));
    const list = EASTER.map((text) => `DATE '${text}'`).join(', ');
    const found = await rowsOf(
      bench.target,
      `SELECT day FROM warehouse.dim_date WHERE nl_holiday LIKE '%Eerste paasdag%' AND day IN (${list}) ORDER BY 1`,
    );
    expect(found.flat()).toEqual(EASTER);
    const counts = await rowsOf(
      bench.target,
      `SELECT count(*), count(DISTINCT year) FROM warehouse.dim_date WHERE nl_holiday LIKE '%Hemelvaartsdag%' AND be_holiday LIKE '%Onze-Lieve-Heer-Hemelvaart%' AND iso_weekday = 4`,
    );
    expect(counts).toEqual([['141', '141']]);
  });

  describe('migrations', () => {
    const bench = useBench(newWarehouse, 'none');

    test(`are applied once by ${PROCESSES} publications at once, and all of those succeed`, async () => {
      const published = (await bench.maker.many(orders, FIRST, PROCESSES, 1)).map((slice, i) =>
        bench.warehouse.open(patientClock).publish(publicationOf(`r${i}`, [slice])),
      );
      for (const result of await Promise.all(published)) expect(result).toMatchObject({ slices: 1, rows: 1 });
      const counts =
        'SELECT (SELECT count(*) FROM etl.migration), (SELECT count(*) FROM etl.receipt), count(*) FROM warehouse.fact_order_item';
      const ours = await readMigrations(bench.warehouse.engine);
      expect(await rowsOf(bench.target, counts)).toEqual([[String(ours.length), String(PROCESSES), String(PROCESSES)]]);
    });
  });
}
