import { describe, expect, test } from 'vitest';
import { reductions, reductionsFiles } from '../../../pipelines/reductions.ts';
import type { Day } from '../../../src/core/days.ts';
import type { LoadSlice } from '../../../src/warehouse/target.ts';
import { reductionHistory } from '../../support/history-tables.ts';
import { day, publicationOf, type RowText } from '../../support/slices.ts';
import { type NewWarehouse, rowsOf, useBench } from '../bench.ts';

const FIRST = day('2026-05-01');
const SECOND = day('2026-05-02');
const THIRD = day('2026-05-03');
const FOURTH = day('2026-05-04');

const fetched = (on: Day) => `${on} 06:00:00+00`;

/** A file as it was fetched in the morning. */
const file = (on: Day, name: string, isSame = 'false'): RowText => ({
  file_name: name,
  sha256: 'x',
  is_same_content: isSame,
  observed_from: fetched(on),
});

/** A line that came with a file. */
const line = (on: Day, name: string, ean: string, more: RowText = {}): RowText => ({
  ean,
  cost_reduction: '1.5',
  start_date: '2026-05-01',
  file_name: name,
  valid_from: fetched(on),
  ...more,
});

const LINES = `SELECT ean, maximum_price, first_file, last_file, is_current FROM mart.reduction`;

export function reductionLines(newWarehouse: NewWarehouse): void {
  const bench = useBench(newWarehouse);
  const files = (on: Day, ...rows: RowText[]) => bench.maker.make(reductionsFiles, on, rows);
  const lines = (on: Day, ...rows: RowText[]) => bench.maker.make(reductions, on, rows);
  /** Lines that a file of that day no longer had. */
  const gone = (on: Day, from: Day, ...rows: RowText[]) =>
    bench.maker.make(
      reductionHistory,
      on,
      rows.map((row) => ({ ...row, observed_on: from, valid_to: fetched(on), ended_by: 'gone' })),
    );
  const publish = (...slices: LoadSlice[]) => bench.target.publish(publicationOf('r1', slices));

  /** a stays, b goes with the third file and comes back with the fourth, c comes with the third; the second is the first again. */
  const publishFour = async () => {
    await publish(
      await files(FIRST, file(FIRST, 'f1')),
      await lines(FIRST, line(FIRST, 'f1', 'a'), line(FIRST, 'f1', 'b')),
    );
    await publish(await files(SECOND, file(SECOND, 'f2', 'true')));
    await publish(
      await files(THIRD, file(THIRD, 'f3')),
      await lines(FIRST, line(FIRST, 'f1', 'a')),
      await lines(THIRD, line(THIRD, 'f3', 'c')),
      await gone(THIRD, FIRST, line(FIRST, 'f1', 'b')),
    );
  };

  describe('the reductions', () => {
    test('tell of each line the first and the last file, and whether it is current', async () => {
      await publishFour();
      expect(await rowsOf(bench.target, `${LINES} ORDER BY ean, valid_from`)).toEqual([
        ['a', null, 'f1', 'f3', true],
        ['b', null, 'f1', 'f2', false],
        ['c', null, 'f3', 'f3', true],
      ]);
      await publish(await files(FOURTH, file(FOURTH, 'f4')), await lines(FOURTH, line(FOURTH, 'f4', 'b')));
      expect(await rowsOf(bench.target, `${LINES} ORDER BY ean, valid_from`)).toEqual([
        ['a', null, 'f1', 'f4', true],
        ['b', null, 'f1', 'f2', false],
        ['b', null, 'f4', 'f4', true],
        ['c', null, 'f3', 'f4', true],
      ]);
    });

    test('say what they said at any time', async () => {
      await publishFour();
      const told = async (instant: string) => {
        const at = `TIMESTAMPTZ '${instant}+00'`;
        const found = await rowsOf(
          bench.target,
          `SELECT ean FROM warehouse.fact_reduction_version WHERE valid_from <= ${at} AND (valid_to IS NULL OR valid_to > ${at}) ORDER BY 1`,
        );
        return found.flat();
      };
      expect(await told('2026-05-01 05:59:59')).toEqual([]);
      expect(await told('2026-05-01 06:00:00')).toEqual(['a', 'b']);
      expect(await told('2026-05-03 05:59:59')).toEqual(['a', 'b']);
      expect(await told('2026-05-03 06:00:00')).toEqual(['a', 'c']);
      expect(await told('2026-05-09 00:00:00')).toEqual(['a', 'c']);
    });

    test('keep lines apart that differ in anything, or only in what is missing', async () => {
      const cheap = { maximum_price: '-1', start_date: null };
      const rows = [{}, { maximum_price: '-1' }, cheap, { ...cheap, end_date: '2026-06-01' }, { cost_reduction: null }];
      await publish(
        await files(FIRST, file(FIRST, 'f1')),
        await lines(FIRST, ...rows.map((row) => line(FIRST, 'f1', 'a', row))),
      );
      await publish(
        await files(SECOND, file(SECOND, 'f2')),
        await lines(FIRST, ...rows.filter((row) => row !== cheap).map((row) => line(FIRST, 'f1', 'a', row))),
        await gone(SECOND, FIRST, line(FIRST, 'f1', 'a', cheap)),
      );
      const found = await rowsOf(
        bench.target,
        'SELECT maximum_price, cost_reduction, start_date, end_date FROM warehouse.fact_reduction ORDER BY 1, 2, 3, 4',
      );
      expect(found).toEqual([
        ['-1.000000', '1.500000', FIRST, null],
        ['-1.000000', '1.500000', null, '2026-06-01'],
        [null, '1.500000', FIRST, null],
        [null, null, FIRST, null],
      ]);
    });
  });
}
