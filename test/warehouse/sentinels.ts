/**
 * What watches the reports over time: one scene of some weeks, in which each fault has a day of its own, and many questions to it.
 * Its first five weeks are published as they are, the days behind them with all checks that ship.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commissions } from '../../pipelines/commissions.ts';
import { pipelines } from '../../pipelines/index.ts';
import { orders } from '../../pipelines/orders.ts';
import { promotions } from '../../pipelines/promotions.ts';
import { DUCKDB_TYPE } from '../../src/core/columns.ts';
import { addDays, type Day, dayNumber } from '../../src/core/days.ts';
import { type Pipeline, storedColumns } from '../../src/core/pipeline.ts';
import type { BrokenCheck } from '../../src/warehouse/checks/checks.ts';
import { readChecks } from '../../src/warehouse/checks/checks.ts';
import type { CheckWarning, LoadSlice, Target } from '../../src/warehouse/target.ts';
import { day, publicationOf, SliceMaker } from '../support/slices.ts';
import { type NewWarehouse, rowsOf, type Warehouse } from './bench.ts';

/** Column → SQL over `i`, the number of the row; what is left out is NULL. */
type Values = Readonly<Record<string, string>>;

const FIRST = day('2026-01-05');
const HISTORY_DAYS = 35;
const ROWS = 60;

/** Of each report a row that is right: five euros of commission on a hundred of revenue. `sub_id` is there in five of six rows. */
const SOUND: ReadonlyMap<Pipeline, Values> = new Map([
  [
    orders,
    {
      product_title: `'title'`,
      site_code: `'1'`,
      sub_id: `CASE WHEN i % 6 > 0 THEN 's' END`,
      status: `'Geaccepteerd'`,
      status_group: `'approved'`,
      quantity: '2',
      price_excl_vat: '50',
      price_incl_vat: '60.5',
      commission_percentage: '5',
      commission: '5',
    },
  ],
  [
    promotions,
    {
      name: 'i',
      site_code: `'1'`,
      clicks: '9',
      impressions: '90',
      orders: '1',
      commission: '5',
      revenue_excl_vat: '100',
      revenue_incl_vat: '121',
    },
  ],
  [
    commissions,
    {
      name: 'i',
      site_code: `'1'`,
      commission_percentage: '5',
      commission_original: '5',
      commission_approved: '5',
      commission_open: '0',
      revenue_original_excl_vat: '100',
      revenue_original_incl_vat: '121',
    },
  ],
]);

/** What a day is like where it is not sound: other values of a report's columns, or another number of rows in all three. */
interface Odd {
  readonly rows?: number;
  readonly orders?: Values;
  readonly promotions?: Values;
  readonly commissions?: Values;
}

const first = (value: string, other: string) => `CASE WHEN i = 0 THEN ${value} ELSE ${other} END`;

/** Days after the history, with what is told of them: the check and its field. */
const DAYS: readonly (readonly [string, Odd, readonly string[]])[] = [
  ['a sound one', {}, []],
  [
    'a field of each report is gone',
    { orders: { product_title: 'NULL' }, promotions: { clicks: 'NULL' }, commissions: { commission_open: 'NULL' } },
    [
      'commissions_vanished_field commission_open',
      'orders_vanished_field product_title',
      'promotions_vanished_field clicks',
    ],
  ],
  ['a field is gone but for one row', { orders: { product_title: first(`'title'`, 'NULL') } }, []],
  ['a field is gone that was not always there', { orders: { sub_id: 'NULL' } }, []],
  [
    'too few rows to tell that a field is gone, and too few for that weekday',
    { rows: 19, orders: { status: 'NULL' } },
    ['commissions_volume', 'orders_volume', 'promotions_volume'],
  ],
  ['few rows, but not too few', { rows: 24 }, []],
  ['many rows, but not too many', { rows: 150 }, []],
  ['too many rows', { rows: 151 }, ['commissions_volume', 'orders_volume', 'promotions_volume']],
  [
    'percentages as fractions',
    { orders: { commission_percentage: '0.05' }, commissions: { commission_percentage: '0.05' } },
    ['commissions_unit_flip commission_percentage', 'order_items_unit_flip commission_percentage'],
  ],
  [
    'fractions in less than half of the rows',
    { orders: { commission_percentage: 'CASE WHEN i % 3 = 0 THEN 0.05 ELSE 5 END' } },
    [],
  ],
  [
    'prices in cents',
    { orders: { price_excl_vat: '5000', price_incl_vat: '6050' } },
    ['order_items_unit_flip commission_percentage'],
  ],
  [
    'numbers as large as they can be',
    {
      orders: {
        quantity: first('9223372036854775807', '2'),
        price_excl_vat: first('999999999999', '50'),
        price_incl_vat: first('999999999999', '60.5'),
      },
      promotions: { orders: first('-9223372036854775808', '1') },
      commissions: { quantity_payable: '9223372036854775807' },
    },
    [],
  ],
  [
    'one price with too much VAT',
    {
      orders: { price_incl_vat: first('62.6', '60.5') },
      promotions: { revenue_incl_vat: first('125.1', '121') },
      commissions: { revenue_original_incl_vat: first('125.1', '121') },
    },
    ['commissions_vat revenue_original_incl_vat', 'order_items_vat', 'promotions_vat'],
  ],
  ['a report that differs a little', { commissions: { commission_original: first('14.9', '5') } }, []],
  ['a report that differs by 11 of 300 euros', { promotions: { commission: first('16', '5') } }, ['reports_agree']],
  [
    'an approval that differs by 20 of 300 euros',
    { commissions: { commission_approved: 'CASE WHEN i < 4 THEN 0 ELSE 5 END' } },
    ['reports_agree'],
  ],
  [
    'a report that differs by 11 of 3,000 euros',
    {
      orders: { commission: '50', commission_percentage: '50' },
      promotions: { commission: first('61', '50') },
      commissions: { commission_original: '50', commission_approved: '50', commission_percentage: '50' },
    },
    [],
  ],
  ['the newest, which is not over', { rows: 3 }, []],
];
const dayOf = (name: string) => addDays(FIRST, HISTORY_DAYS + DAYS.findIndex(([known]) => known === name));
const NEWEST = addDays(FIRST, HISTORY_DAYS + DAYS.length - 1);

const told = ({ check, field }: BrokenCheck) => (field === null ? check : `${check} ${field}`);

export function sentinels(newWarehouse: NewWarehouse): void {
  let warehouse: Warehouse;
  let target: Target;
  let maker: SliceMaker;
  let warnings: readonly CheckWarning[];
  const shipped = () => readChecks(warehouse.engine, '/nowhere', pipelines);

  beforeAll(async () => {
    maker = await SliceMaker.open();
    warehouse = await newWarehouse('migrated');
    target = warehouse.open();
    const sound = Array.from({ length: HISTORY_DAYS }, (_, n) => slicesOf(maker, addDays(FIRST, n), {}));
    await target.publish(publicationOf('r1', (await Promise.all(sound)).flat()));
    const odd = DAYS.map(([name, what]) => slicesOf(maker, dayOf(name), what));
    const slices = (await Promise.all(odd)).flat();
    warnings = (await target.publish(publicationOf('r2', slices, { checks: await shipped() }))).warnings;
  });
  afterAll(async () => {
    await warehouse.remove();
    await maker.close();
  });

  describe('a day is told for what is wrong with it, and for nothing else', () => {
    test.each(DAYS)('%s', (name, _, expected) => {
      expect(warnings.filter((warning) => warning.day === dayOf(name)).map(told)).toEqual(expected);
    });
  });

  test('all days at once are told alike, whatever was published when', async () => {
    const broken = await target.broken(await shipped());
    expect(broken.map((b) => `${b.day} ${told(b)}`)).toEqual(warnings.map((w) => `${w.day} ${told(w)}`));
  });

  test('etl.drift has rule, field, count and an example with the figures', async () => {
    const drift = await rowsOf(
      target,
      `SELECT kind, field, count, example FROM etl.drift WHERE pipeline = 'orders' AND kind <> 'check:reports_agree' ORDER BY kind, field`,
    );
    expect(drift.map(([kind, field, count]) => [kind, field, count])).toEqual([
      ['check:order_items_unit_flip', 'commission_percentage', '2'],
      ['check:order_items_vat', 'slice_day', '1'],
      ['check:orders_vanished_field', 'product_title', '1'],
      ['check:orders_volume', 'slice_day', '2'],
    ]);
    const example = JSON.parse(String(drift[2]?.[3])) as object;
    expect(example).toEqual({
      slice_day: dayOf('a field of each report is gone'),
      field: 'product_title',
      row_count: ROWS,
      filled_before: 14 * ROWS,
      row_count_before: 14 * ROWS,
    });
  });

  test('a newest day is judged when it is the newest no more', async () => {
    const next = await slicesOf(maker, addDays(NEWEST, 1), {});
    await target.publish(publicationOf('r3', next));
    const checks = (await shipped()).filter(({ name }) => name === 'orders_volume');
    expect((await target.broken(checks)).map((b) => b.day)).toContain(NEWEST);
  });

  test('a row that no receipt accounts for is told', async () => {
    const on = dayOf('a sound one');
    await warehouse.execute(
      `UPDATE warehouse.fact_promotion_day SET fetch_id = 'nobody' WHERE promotion_date = '${on}'`,
    );
    const broken = await target.broken((await shipped()).filter(({ name }) => name === 'promotions_receipt'));
    expect(broken).toMatchObject([
      { severity: 'warn', day: on, rows: ROWS, example: expect.stringContaining('nobody') },
    ]);
  });
}

function slicesOf(maker: SliceMaker, on: Day, odd: Odd): Promise<LoadSlice[]> {
  return Promise.all(
    [...SOUND].map(([pipeline, sound]) => {
      const values: Values = {
        ...sound,
        ...odd[pipeline.name as 'orders'],
        [pipeline.day]: `DATE '${on}'`,
        fetch_id: `'f-${pipeline.name}-${on}'`,
        valid_from: `TIMESTAMPTZ '${on} 12:00:00Z'`,
        order_id: `${dayNumber(on)}000 + i`,
        order_item_id: '1',
      };
      const columns = storedColumns(pipeline).map(
        ({ column, kind }) => `CAST(${values[column] ?? 'NULL'} AS ${DUCKDB_TYPE[kind]}) AS "${column}"`,
      );
      const select = `SELECT ${columns.join(', ')} FROM range(${odd.rows ?? ROWS}) AS r(i)`;
      return maker.fromSelect(pipeline, on, select, { fetchId: `f-${pipeline.name}-${on}` });
    }),
  );
}
