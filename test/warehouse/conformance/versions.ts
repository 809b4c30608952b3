import { describe, expect, test } from 'vitest';
import { commissionRates, commissionReductions } from '../../../pipelines/commission-rates.ts';
import type { Day } from '../../../src/core/days.ts';
import type { LoadSlice } from '../../../src/warehouse/target.ts';
import { commissionRateHistory } from '../../support/history-tables.ts';
import { day, publicationOf, type RowText } from '../../support/slices.ts';
import { type NewWarehouse, rowsOf, useBench } from '../bench.ts';

const FIRST = day('2026-05-01');
const SECOND = day('2026-05-02');

const at = (on: Day) => `${on} 10:00:00.123+00`;

/** What was seen at ten o'clock: a rate of product `ean` at an asked price, or at none. */
const rate = (on: Day, ean: string, asked: string | null = null, more: RowText = {}): RowText => ({
  ean,
  condition: 'NEW',
  asked_price: asked,
  valid_from: at(on),
  outcome: 'found',
  ...more,
});

/** A rate that held from one day to the other. */
const former = (from: Day, to: Day, ean: string, more: RowText = {}): RowText =>
  rate(from, ean, null, { observed_on: from, valid_to: at(to), ended_by: 'changed', ...more });

export function versions(newWarehouse: NewWarehouse): void {
  const bench = useBench(newWarehouse);
  const rates = (on: Day, ...rows: RowText[]) => bench.maker.make(commissionRates, on, rows);
  const past = (on: Day, ...rows: RowText[]) => bench.maker.make(commissionRateHistory, on, rows);
  const publish = (...slices: LoadSlice[]) => bench.target.publish(publicationOf('r1', slices));
  const known = async () => {
    const rows = await rowsOf(
      bench.target,
      `SELECT ean, asked_price, CAST(valid_from AS VARCHAR), CAST(valid_to AS VARCHAR), ended_by
       FROM warehouse.fact_commission_rate_version ORDER BY ean, asked_price, valid_from`,
    );
    const short = (time: unknown) => String(time ?? 'now').replace(' 10:00:00.123+00', '');
    return rows.map(
      ([ean, asked, from, to, why]) =>
        `${ean}${asked === null ? '' : ` at ${asked}`}: ${short(from)} > ${short(to)}${why === null ? '' : ` ${why}`}`,
    );
  };

  describe('a table with a history', () => {
    test('is one view with it; what changed leaves its slice and comes back in that of its day', async () => {
      await publish(await rates(FIRST, rate(FIRST, 'a'), rate(FIRST, 'b')));
      expect(await known()).toEqual([`a: ${FIRST} > now`, `b: ${FIRST} > now`]);
      await publish(
        await rates(FIRST, rate(FIRST, 'b')),
        await rates(SECOND, rate(SECOND, 'a')),
        await past(SECOND, former(FIRST, SECOND, 'a')),
      );
      expect(await known()).toEqual([`a: ${FIRST} > ${SECOND} changed`, `a: ${SECOND} > now`, `b: ${FIRST} > now`]);
    });

    test('that is published again changes nothing', async () => {
      const slices = [await rates(SECOND, rate(SECOND, 'a')), await past(SECOND, former(FIRST, SECOND, 'a'))];
      await publish(...slices);
      const before = await bench.warehouse.fingerprint();
      expect(await publish(...slices)).toMatchObject({ slices: 0, rows: 0 });
      expect(await bench.warehouse.fingerprint()).toBe(before);
    });

    test('of no asked price is one row, of another price or condition another', async () => {
      await publish(
        await rates(
          FIRST,
          rate(FIRST, 'a'),
          rate(FIRST, 'a', '9.99'),
          rate(FIRST, 'a', '-1'),
          rate(FIRST, 'a', '-1', { condition: 'GOOD' }),
        ),
      );
      expect(await known()).toHaveLength(4);
      await publish(
        await rates(FIRST, rate(FIRST, 'a', '9.99'), rate(FIRST, 'a', '-1', { condition: 'GOOD' })),
        await rates(SECOND, rate(SECOND, 'a'), rate(SECOND, 'a', '-1')),
      );
      expect(await known()).toEqual([
        `a at -1.000000: ${FIRST} > now`,
        `a at -1.000000: ${SECOND} > now`,
        `a at 9.990000: ${FIRST} > now`,
        `a: ${SECOND} > now`,
      ]);
    });
  });

  test('a file that lacks a column that every row has is named', async () => {
    const sound = await rates(FIRST, rate(FIRST, 'a'));
    const select = `SELECT * EXCLUDE (valid_from) FROM read_parquet('${sound.file}')`;
    const bad = await bench.maker.fromSelect(commissionRates, FIRST, select);
    const concern = { pipeline: 'commission-rates', day: FIRST };
    const boundaries = await bench.maker.make(commissionReductions, FIRST, []);
    await expect(publish(boundaries, bad)).rejects.toMatchObject({ code: 'lake_file', concern });
  });

  describe('a key', () => {
    const twice = 'ean a, condition NEW, asked_price null would be there twice';

    test('without an asked price is refused twice in a slice', async () => {
      const bad = await rates(FIRST, rate(FIRST, 'a'), rate(FIRST, 'a', null, { reason: 'x' }), rate(FIRST, 'b'));
      await expect(publish(await rates(SECOND, rate(SECOND, 'c')), bad)).rejects.toMatchObject({
        code: 'duplicate_key',
        concern: { pipeline: 'commission-rates', day: FIRST },
        message: `commission-rates ${FIRST}: ${twice}, on ${FIRST}`,
      });
    });

    test('without an asked price is refused on two days', async () => {
      await publish(await rates(FIRST, rate(FIRST, 'a')));
      await expect(publish(await rates(SECOND, rate(SECOND, 'a'), rate(SECOND, 'b')))).rejects.toMatchObject({
        code: 'duplicate_key',
        concern: { pipeline: 'commission-rates', day: SECOND },
        message: `commission-rates ${SECOND}: ${twice}, on ${FIRST}, ${SECOND}`,
      });
      expect(await known()).toEqual([`a: ${FIRST} > now`]);
    });
  });
}
