import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commissions } from '../../../pipelines/commissions.ts';
import { orders } from '../../../pipelines/orders.ts';
import { products } from '../../../pipelines/products.ts';
import { promotions } from '../../../pipelines/promotions.ts';
import { storedColumns } from '../../../src/core/pipeline.ts';
import { day, publicationOf, type RowText } from '../../support/slices.ts';
import { type NewWarehouse, rowsOf, useBench } from '../bench.ts';

const FIRST = day('2026-03-01');
const SECOND = day('2026-03-02');

const TEXTS = [
  '',
  ' ',
  '\\',
  '\\\\',
  '\\N',
  '\\.',
  '\\t',
  'a\tb',
  'a\nb',
  'a\r\nb',
  '\t\n\r\\',
  '\b\f\v\u0001\u007f',
  "'",
  '"',
  `"a","b"`,
  'NULL',
  '😀 naïve ﷽ \u202e \u200d',
  '\ufffd\ufeff',
  'x'.repeat(100_000),
];

/** Column, text given, text found: the same in both engines. */
const EDGES: [string, string, string][] = [
  ['price_incl_vat', '999999999999.999999', '999999999999.999999'],
  ['price_incl_vat', '-999999999999.999999', '-999999999999.999999'],
  ['price_incl_vat', '0.000001', '0.000001'],
  ['price_incl_vat', '-0.000001', '-0.000001'],
  ['price_incl_vat', '-0', '0.000000'],
  ['commission_percentage', '12.5', '12.500000'],
  ['quantity', '9223372036854775807', '9223372036854775807'],
  ['quantity', '-9223372036854775808', '-9223372036854775808'],
  ['status_final', 'true', 'true'],
  ['status_final', 'false', 'false'],
  ['order_local_time', '2026-03-29 02:30:00', '2026-03-29 02:30:00'],
  ['order_local_time', '2026-10-25 02:30:00.123456', '2026-10-25 02:30:00.123456'],
  ['order_utc_time', '2026-03-29 01:00:00+00', '2026-03-29 01:00:00+00'],
  ['order_utc_time', '2026-10-25 02:30:00+02', '2026-10-25 00:30:00+00'],
  ['order_utc_time', '2026-10-25 02:30:00+01', '2026-10-25 01:30:00+00'],
];

export function values(newWarehouse: NewWarehouse): void {
  const bench = useBench(newWarehouse);
  const load = async (rows: readonly RowText[]) => {
    const keyed = rows.map((row, i) => ({ order_id: String(i).padStart(6, '0'), order_item_id: '1', ...row }));
    await bench.target.publish(publicationOf('r1', [await bench.maker.make(orders, FIRST, keyed)]));
  };
  const column = async (sql: string) =>
    (await rowsOf(bench.target, `SELECT ${sql} FROM warehouse.fact_order_item ORDER BY order_id`)).map(
      ([value]) => value,
    );

  describe('values', () => {
    test('text arrives sign for sign', async () => {
      await load(TEXTS.map((text) => ({ product_title: text })));
      expect(await column('product_title')).toEqual(TEXTS);
    });

    test('any text arrives sign for sign', async () => {
      const texts = fc
        .sample(fc.string({ unit: 'binary', maxLength: 40 }), { numRuns: 150, seed: 42 })
        .map((text) => text.toWellFormed().replaceAll('\0', ''));
      await load(texts.map((text) => ({ product_title: text })));
      expect(await column('product_title')).toEqual(texts);
    });

    test('keys are told apart sign for sign', async () => {
      const ids = ['a', 'A', 'a ', ' a', 'ä', 'a\u0308', '01', '1', '\\N', ''];
      await load(ids.map((id) => ({ order_id: id })));
      expect((await column('order_id')).sort()).toEqual([...ids].sort());
    });

    test('at the edges of their types arrive exact', async () => {
      await load(EDGES.map(([name, given]) => ({ [name]: given })));
      const names = [...new Set(EDGES.map(([name]) => name))];
      const texts = await column(`concat(${names.map((name) => `CAST(${name} AS VARCHAR)`).join(', ')})`);
      expect(texts).toEqual(EDGES.map(([, , found]) => found));
    });

    test('ratios are the same double', async () => {
      const doubles = fc
        .sample(fc.double({ noNaN: true, noDefaultInfinity: true }), { numRuns: 150, seed: 7 })
        .map((x) => x + 0); // -0 has no text of its own
      const rows = doubles.map((value, i) => ({ conversion: String(value), name: String(i).padStart(6, '0') }));
      await bench.target.publish(publicationOf('r1', [await bench.maker.make(promotions, FIRST, rows)]));
      const found = await rowsOf(bench.target, 'SELECT conversion FROM warehouse.fact_promotion_day ORDER BY name');
      expect(found.map(([text]) => Number(text))).toEqual(doubles);
    });

    test('extra keeps numbers of any length, nesting and awkward text', async () => {
      const long = '1234567890123456789012345678901234567890.123456789';
      await load([{ extra: `{"n":${long},"deep":{"list":[1,null,"a\\tb\\\\ \\"q\\""]},"😀":"\\u00e9"}` }, {}]);
      const texts = (await column('CAST(extra AS VARCHAR)')).map((text) => String(text).replaceAll(' ', ''));
      expect(texts[0]).toContain(`"n":${long}`);
      expect(texts[1]).toBe('null');
      expect(await column(`extra->'deep'->'list'->>2`)).toEqual(['a\tb\\ "q"', null]);
      expect(await column(`extra->>'😀'`)).toEqual(['é', null]);
    });

    test('JSON that is a column of its own arrives, whole or not at all', async () => {
      const row = (ean: string, more: RowText): RowText => ({
        ean,
        country_code: 'NL',
        language: 'nl',
        valid_from: `${FIRST} 10:00:00+00`,
        outcome: 'found',
        ...more,
      });
      const payload = '{"a":[1,{"b":"tab\\t \\\\ \\"q\\" 😀"}],"n":12345678901234567890.10}';
      const rows = [row('1', { payload, gpc: '[]' }), row('2', { payload: 'null', fetch_id: 'other' }), row('3', {})];
      await bench.target.publish(publicationOf('r1', [await bench.maker.make(products, FIRST, rows)]));
      const found = await rowsOf(
        bench.target,
        `SELECT payload->'a'->1->>'b', CAST(payload AS VARCHAR) LIKE '%12345678901234567890.10}', CAST(gpc AS VARCHAR), CAST(payload AS VARCHAR) = 'null', fetch_id
         FROM warehouse.dim_product ORDER BY ean`,
      );
      expect(found).toEqual([
        ['tab\t \\ "q" 😀', true, '[]', false, 'f0000000001'],
        [null, false, null, true, 'other'],
        [null, null, null, null, 'f0000000001'],
      ]);
    });

    test('a row may be NULL in all that is not required', async () => {
      await load([{}]);
      const required = ['order_date', 'order_id', 'order_item_id', 'fetch_id', 'valid_from'];
      const free = storedColumns(orders).filter((c) => !required.includes(c.column));
      const [row] = await rowsOf(
        bench.target,
        `SELECT ${free.map((c) => c.column).join(', ')} FROM warehouse.fact_order_item`,
      );
      expect(row).toEqual(free.map(() => null));
    });
  });

  describe('sums', () => {
    test('are exact text by day, null where no row has a value', async () => {
      const { maker, target } = bench;
      const money = {
        revenue_open_incl_vat: '999999999999.999999',
        commission_percentage: '0.1',
        commission_open: '-0.5',
      };
      await target.publish(
        publicationOf('r1', [
          await maker.make(commissions, FIRST, [
            { ...money, quantity_payable: '9223372036854775807' },
            { ...money, quantity_payable: '9223372036854775807' },
            { ...money, commission_open: '1' },
          ]),
          await maker.make(commissions, SECOND, [{ commission_open: '0' }]),
        ]),
      );
      const nothing = Object.fromEntries(
        storedColumns(commissions)
          .filter((c) => ['money', 'percentage', 'count'].includes(c.kind))
          .map((c) => [c.column, null]),
      );
      expect(await target.sums(commissions)).toEqual(
        new Map([
          [
            FIRST,
            {
              rows: 3,
              sums: {
                ...nothing,
                revenue_open_incl_vat: '2999999999999.999997',
                commission_percentage: '0.300000',
                commission_open: '0.000000',
                quantity_payable: '18446744073709551614',
              },
            },
          ],
          [SECOND, { rows: 1, sums: { ...nothing, commission_open: '0.000000' } }],
        ]),
      );
    });

    test('are those of the days asked for, however they lie', async () => {
      const { maker, target } = bench;
      const slices = await maker.many(orders, FIRST, 12, 20);
      await target.publish(publicationOf('r1', slices));
      const asked = [1, 2, 5, 7, 8, 9].map((i) => slices[i]!.content);
      const found = await target.sums(orders, [...asked.map((content) => content.day).reverse(), day('2030-01-01')]);
      expect(found).toEqual(new Map(asked.map(({ day, rows, sums }) => [day, { rows, sums }])));
      expect(await target.sums(orders, [])).toEqual(new Map());
      expect((await target.sums(orders)).size).toBe(12);
    });
  });
}
