import { describe, expect, test } from 'vitest';
import { commissionRates, commissionReductions } from '../../../pipelines/commission-rates.ts';
import type { Day } from '../../../src/core/days.ts';
import type { Pipeline } from '../../../src/core/pipeline.ts';
import type { LoadSlice, Target } from '../../../src/warehouse/target.ts';
import { day, publicationOf, type RowText } from '../../support/slices.ts';
import { type NewWarehouse, rowsOf, useBench } from '../bench.ts';

const FIRST = day('2026-05-01');
const SECOND = day('2026-05-02');
const THIRD = day('2026-05-03');

/** What was seen at ten o'clock: a rate of product `ean` at an asked price, or at none. */
export const rate = (on: Day, ean: string, asked: string | null = null, more: RowText = {}): RowText => ({
  ean,
  condition: 'NEW',
  asked_price: asked,
  observed_from: `${on} 10:00:00.123+00`,
  outcome: 'found',
  ...more,
});

export const boundary = (on: Day, ean: string, position = '0', asked: string | null = null): RowText =>
  rate(on, ean, asked, { position });

/** Each version as `thing: first day > day of the next`, `now` where there is none. */
export async function chains(target: Target, pipeline: Pipeline): Promise<string[]> {
  const rows = await rowsOf(
    target,
    `SELECT ean, asked_price, CAST(observed_from AS VARCHAR), CAST(observed_to AS VARCHAR)
     FROM warehouse.${pipeline.table} ORDER BY ean, asked_price, observed_from`,
  );
  const short = (time: unknown) => String(time ?? 'now').replace(' 10:00:00.123+00', '');
  return rows.map(
    ([ean, asked, from, to]) => `${ean}${asked === null ? '' : ` at ${asked}`}: ${short(from)} > ${short(to)}`,
  );
}

export function versions(newWarehouse: NewWarehouse): void {
  const bench = useBench(newWarehouse);
  const rates = (on: Day, ...rows: RowText[]) => bench.maker.make(commissionRates, on, rows);
  const boundaries = (on: Day, ...rows: RowText[]) => bench.maker.make(commissionReductions, on, rows);
  const publish = (...slices: LoadSlice[]) => bench.target.publish(publicationOf('r1', slices));
  const rateChains = () => chains(bench.target, commissionRates);
  const boundaryChains = () => chains(bench.target, commissionReductions);

  describe('a version', () => {
    test('holds until the next one of the same thing', async () => {
      await publish(await rates(FIRST, rate(FIRST, 'a'), rate(FIRST, 'b')));
      expect(await rateChains()).toEqual([`a: ${FIRST} > now`, `b: ${FIRST} > now`]);
      await publish(await rates(SECOND, rate(SECOND, 'a')));
      await publish(await rates(THIRD, rate(THIRD, 'a', null, { outcome: 'not_found' })));
      expect(await rateChains()).toEqual([
        `a: ${FIRST} > ${SECOND}`,
        `a: ${SECOND} > ${THIRD}`,
        `a: ${THIRD} > now`,
        `b: ${FIRST} > now`,
      ]);
    });

    test('may have a successor on its own day, to the microsecond', async () => {
      const times = ['00:00:00', '10:00:00.000001', '10:00:00.000002'];
      await publish(
        await rates(FIRST, ...times.map((time) => rate(FIRST, 'a', null, { observed_from: `${FIRST} ${time}+00` }))),
      );
      const found = await rowsOf(
        bench.target,
        'SELECT CAST(observed_to AS VARCHAR) FROM warehouse.fact_commission_rate ORDER BY observed_from',
      );
      expect(found).toEqual([[`${FIRST} 10:00:00.000001+00`], [`${FIRST} 10:00:00.000002+00`], [null]]);
    });

    test('that is published again changes nothing', async () => {
      const slices = [await rates(FIRST, rate(FIRST, 'a')), await rates(SECOND, rate(SECOND, 'a'))];
      await publish(...slices);
      const before = await bench.warehouse.fingerprint();
      expect(await publish(...slices)).toMatchObject({ slices: 0, rows: 0 });
      expect(await bench.warehouse.fingerprint()).toBe(before);
    });

    test('is open again when its day is replaced by one without the next version', async () => {
      await publish(await rates(FIRST, rate(FIRST, 'a'), rate(FIRST, 'b')));
      await publish(await rates(SECOND, rate(SECOND, 'a'), rate(SECOND, 'b')));
      await publish(await rates(SECOND, rate(SECOND, 'b')));
      expect(await rateChains()).toEqual([`a: ${FIRST} > now`, `b: ${FIRST} > ${SECOND}`, `b: ${SECOND} > now`]);
      await publish(await rates(SECOND));
      expect(await rateChains()).toEqual([`a: ${FIRST} > now`, `b: ${FIRST} > now`]);
    });
  });

  describe('a part', () => {
    test('ends with the version that it is part of', async () => {
      await publish(
        await boundaries(FIRST, boundary(FIRST, 'a', '0'), boundary(FIRST, 'a', '1'), boundary(FIRST, 'b')),
        await rates(FIRST, rate(FIRST, 'a'), rate(FIRST, 'b')),
      );
      expect(await boundaryChains()).toEqual([`a: ${FIRST} > now`, `a: ${FIRST} > now`, `b: ${FIRST} > now`]);
      await publish(await rates(SECOND, rate(SECOND, 'a')), await boundaries(SECOND, boundary(SECOND, 'a')));
      expect(await boundaryChains()).toEqual([
        `a: ${FIRST} > ${SECOND}`,
        `a: ${FIRST} > ${SECOND}`,
        `a: ${SECOND} > now`,
        `b: ${FIRST} > now`,
      ]);
    });

    test('ends though nothing of it came: the next answer had no boundaries', async () => {
      await publish(await rates(FIRST, rate(FIRST, 'a', '5')), await boundaries(FIRST, boundary(FIRST, 'a', '0', '5')));
      await publish(await rates(SECOND, rate(SECOND, 'a', '5')));
      expect(await boundaryChains()).toEqual([`a at 5.000000: ${FIRST} > ${SECOND}`]);
      await publish(await rates(SECOND));
      expect(await boundaryChains()).toEqual([`a at 5.000000: ${FIRST} > now`]);
    });
  });

  test('a file that lacks the time of its versions is named', async () => {
    const sound = await rates(FIRST, rate(FIRST, 'a'));
    const select = `SELECT * EXCLUDE (observed_from) FROM read_parquet('${sound.file}')`;
    const bad = await bench.maker.fromSelect(commissionRates, FIRST, select);
    const concern = { pipeline: 'commission-rates', day: FIRST };
    await expect(publish(await boundaries(FIRST), bad)).rejects.toMatchObject({ code: 'lake_file', concern });
  });

  describe('a key', () => {
    const twice =
      'ean a, condition NEW, asked_price null, observed_from 2026-05-01 10:00:00.123+00 would be there twice';

    test('without an asked price is refused twice in a slice', async () => {
      const bad = await rates(FIRST, rate(FIRST, 'a'), rate(FIRST, 'a', null, { reason: 'x' }), rate(FIRST, 'b'));
      await expect(publish(await rates(SECOND, rate(SECOND, 'a')), bad)).rejects.toMatchObject({
        code: 'duplicate_key',
        concern: { pipeline: 'commission-rates', day: FIRST },
        message: `commission-rates ${FIRST}: ${twice}, on ${FIRST}`,
      });
    });

    test('without an asked price is refused on two days', async () => {
      await publish(await rates(FIRST, rate(FIRST, 'a')));
      await expect(publish(await rates(SECOND, rate(FIRST, 'a'), rate(SECOND, 'b')))).rejects.toMatchObject({
        code: 'duplicate_key',
        concern: { pipeline: 'commission-rates', day: SECOND },
        message: `commission-rates ${SECOND}: ${twice}, on ${FIRST}, ${SECOND}`,
      });
      expect(await rateChains()).toEqual([`a: ${FIRST} > now`]);
    });
  });
}

/** What history becomes by the statements that both engines share (src/warehouse/versions.ts). */
export function sharedVersions(newWarehouse: NewWarehouse): void {
  const bench = useBench(newWarehouse);
  const rates = (on: Day, ...rows: RowText[]) => bench.maker.make(commissionRates, on, rows);
  const boundaries = (on: Day, ...rows: RowText[]) => bench.maker.make(commissionReductions, on, rows);
  const publish = (...slices: LoadSlice[]) => bench.target.publish(publicationOf('r1', slices));
  const rateChains = () => chains(bench.target, commissionRates);
  const boundaryChains = () => chains(bench.target, commissionReductions);

  describe('a version', () => {
    test('of no asked price is one thing, of another price or condition another', async () => {
      await publish(await rates(FIRST, rate(FIRST, 'a'), rate(FIRST, 'a', '9.99'), rate(FIRST, 'a', '-1')));
      await publish(await rates(SECOND, rate(SECOND, 'a'), rate(SECOND, 'a', '-1', { condition: 'GOOD' })));
      await publish(await rates(THIRD, rate(THIRD, 'a', '9.990000')));
      expect(await rateChains()).toEqual([
        `a at -1.000000: ${FIRST} > now`,
        `a at -1.000000: ${SECOND} > now`,
        `a at 9.990000: ${FIRST} > ${THIRD}`,
        `a at 9.990000: ${THIRD} > now`,
        `a: ${FIRST} > ${SECOND}`,
        `a: ${SECOND} > now`,
      ]);
    });

    test('finds its place whatever the order in which days come', async () => {
      for (const on of [THIRD, FIRST, SECOND]) await publish(await rates(on, rate(on, 'a')));
      expect(await rateChains()).toEqual([`a: ${FIRST} > ${SECOND}`, `a: ${SECOND} > ${THIRD}`, `a: ${THIRD} > now`]);
    });
  });

  describe('a part', () => {
    test('comes right whichever of the two is published first', async () => {
      const whole = [await rates(FIRST, rate(FIRST, 'a'), rate(FIRST, 'b')), await rates(SECOND, rate(SECOND, 'a'))];
      const part = await boundaries(FIRST, boundary(FIRST, 'a'), boundary(FIRST, 'b'));
      const right = [`a: ${FIRST} > ${SECOND}`, `b: ${FIRST} > now`];
      await publish(part);
      await publish(...whole);
      expect(await boundaryChains()).toEqual(right);
      await publish(await boundaries(FIRST));
      await publish(part);
      expect(await boundaryChains()).toEqual(right);
    });
  });
}
