import { readFile, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { orders } from '../../../pipelines/orders.ts';
import { promotions } from '../../../pipelines/promotions.ts';
import type { SliceContent } from '../../../src/core/records.ts';
import { type LoadSlice, receiptsOf } from '../../../src/warehouse/target.ts';
import { day, publicationOf } from '../../support/slices.ts';
import { leapingClock, type NewWarehouse, rowsOf, useBench, useSharedBench } from '../bench.ts';

const FIRST = day('2026-03-01');
const SECOND = day('2026-03-02');
const item = (id: string, price = '1') => ({ order_id: id, order_item_id: '1', price_incl_vat: price });

/** Orders, promotions, receipts and runs that are there, in one look: each one opens a file. */
const SEEN = `SELECT (SELECT string_agg(order_id, ' ') FROM warehouse.fact_order_item), (SELECT count(*) FROM warehouse.fact_promotion_day),
  (SELECT string_agg(run_id, ' ') FROM etl.receipt), (SELECT string_agg(run_id, ' ') FROM etl.run)`;

export function refusing(newWarehouse: NewWarehouse): void {
  const bench = useSharedBench(newWarehouse);

  /** Publishes a slice that is sound beside one that is not, and expects that neither is seen. */
  const expectRefusal = async (bad: LoadSlice, code: string, on = bad.content.day) => {
    const { target, maker } = bench;
    const sound = await maker.make(promotions, SECOND, [{ clicks: '1' }]);
    await expect(target.publish(publicationOf('r2', [sound, bad]))).rejects.toMatchObject({
      kind: 'failed',
      code,
      concern: { pipeline: bad.pipeline.name, day: on },
    });
    expect(await rowsOf(target, SEEN)).toEqual([['before', '0', 'r1', 'r1']]);
  };

  describe('a publication is refused whole', () => {
    beforeAll(async () => {
      const { target, maker } = bench;
      await target.publish(publicationOf('r1', [await maker.make(orders, FIRST, [item('before')])]));
    });

    const lies: [string, Partial<SliceContent>][] = [
      ['more rows than are in the file', { rows: 3 }],
      ['fewer rows than are in the file', { rows: 1 }],
      ['a sum that is off by a millionth', { sums: { price_incl_vat: '3.000001' } }],
      ['a sum where there is none', { sums: { commission: '0.000000' } }],
      ['no sum where there is one', { sums: { price_incl_vat: null } }],
      ['rejects that are not there', { rejects: 1 }],
    ];
    test.each(lies)('when the lake declares %s', async (_, lie) => {
      const { maker } = bench;
      const honest = await maker.make(orders, SECOND, [item('a'), item('b', '2')]);
      const sums = { ...honest.content.sums, ...lie.sums };
      await expectRefusal({ ...honest, content: { ...honest.content, ...lie, sums } }, 'control_sums');
    });

    test('when a row belongs to another day', async () => {
      const { maker } = bench;
      await expectRefusal(
        await maker.make(orders, SECOND, [{ ...item('a'), order_date: '2026-03-03' }]),
        'control_sums',
      );
    });

    test('when rejects belong to another day', async () => {
      const { maker } = bench;
      const other = await maker.make(orders, day('2026-03-03'), [], { rejects: [{}] });
      const slice = await maker.make(orders, SECOND, [item('a')], { content: { rejects: 1 } });
      await expectRefusal({ ...slice, rejectsFile: other.rejectsFile }, 'control_sums');
    });

    test('when a key is in a slice twice', async () => {
      const { maker } = bench;
      await expectRefusal(await maker.make(orders, SECOND, [item('a'), item('a', '2'), item('b')]), 'duplicate_key');
    });

    test('when a key is on another day already', async () => {
      const { maker, target } = bench;
      const bad = await maker.make(orders, SECOND, [item('new'), item('before')]);
      await expectRefusal(bad, 'duplicate_key');
      await expect(target.publish(publicationOf('r3', [bad]))).rejects.toThrow(
        `orders ${SECOND}: order_id before, order_item_id 1 would be there twice, on ${FIRST}, ${SECOND}`,
      );
    });

    test('when a required value is missing', async () => {
      const { maker, warehouse } = bench;
      const bad = await maker.make(orders, SECOND, [{ ...item('a'), order_id: null }, item('b')]);
      await expectRefusal(bad, warehouse.engine === 'duckdb' ? 'lake_file' : 'postgres_value');
    });

    const damages: [string, (slice: LoadSlice) => Promise<LoadSlice>][] = [
      ['is missing', async (slice) => ({ ...slice, file: `${slice.file}.gone` })],
      ['is cut off', async (slice) => truncate(slice.file!, 1000).then(() => slice)],
      ['is empty', async (slice) => truncate(slice.file!, 0).then(() => slice)],
      ['is no Parquet', async (slice) => writeFile(slice.file!, 'PAR1 but no PAR1').then(() => slice)],
      ['is damaged in the middle', (slice) => scramble(slice)],
      ['lacks a column', (slice) => lacking(slice)],
    ];
    test.each(damages)('when a file %s', async (_, damage) => {
      const { maker } = bench;
      const [slice] = await maker.many(orders, SECOND, 1, 3000);
      await expectRefusal(await damage(slice!), 'lake_file');
    });

    test('when a file of rejects is missing', async () => {
      const { maker } = bench;
      const slice = await maker.make(orders, SECOND, [item('a')], { rejects: [{}] });
      await expectRefusal({ ...slice, rejectsFile: `${slice.rejectsFile}.gone` }, 'lake_file');
    });

    test('and works as soon as the bad slice is left out', async () => {
      const { maker, target } = bench;
      const sound = await maker.make(promotions, SECOND, [{ clicks: '1' }]);
      const bad = await maker.make(orders, SECOND, [item('a')], { content: { rows: 2 } });
      await expect(target.publish(publicationOf('r2', [sound, bad]))).rejects.toMatchObject({ code: 'control_sums' });
      expect(await target.publish(publicationOf('r2', [sound]))).toMatchObject({ slices: 1, rows: 1 });
    });
  });

  describe('while somebody else publishes', () => {
    const bench = useBench(newWarehouse);
    test('a publication waits, then says who, and nothing is changed', async () => {
      const { maker, warehouse } = bench;
      const slices = [await maker.make(orders, FIRST, [item('a')])];
      const patient = warehouse.open(leapingClock());
      const free = await warehouse.occupy();
      await expect(patient.publish(publicationOf('r1', slices))).rejects.toMatchObject({
        kind: 'locked',
        code: 'publish',
        message: expect.stringMatching(/process \d+ on |session \d+ of /),
      });
      expect(receiptsOf(await patient.receipts(), 'orders')).toEqual(new Map());
      await free();
      expect(await patient.publish(publicationOf('r1', slices))).toMatchObject({ slices: 1 });
    });
  });

  async function lacking(slice: LoadSlice): Promise<LoadSlice> {
    const without = await bench.maker.fromSelect(
      slice.pipeline,
      slice.content.day,
      `SELECT * EXCLUDE (status_group) FROM read_parquet('${slice.file}')`,
    );
    return { ...slice, file: without.file };
  }
}

/** Overwrites the data between head and footer. */
async function scramble(slice: LoadSlice): Promise<LoadSlice> {
  const bytes = await readFile(slice.file!);
  bytes.fill(0xa5, 200, Math.floor(bytes.length / 2));
  const file = path.join(path.dirname(slice.file!), `scrambled-${path.basename(slice.file!)}`);
  await writeFile(file, bytes);
  return { ...slice, file };
}
