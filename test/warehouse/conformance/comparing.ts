import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commissionRates } from '../../../pipelines/commission-rates.ts';
import { orders } from '../../../pipelines/orders.ts';
import { promotions } from '../../../pipelines/promotions.ts';
import type { LoadSlice } from '../../../src/warehouse/target.ts';
import { day, publicationOf } from '../../support/slices.ts';
import { type NewWarehouse, useSharedBench } from '../bench.ts';

const FIRST = day('2026-03-01');
const SECOND = day('2026-03-02');
const ITEM = 'warehouse.fact_order_item';
const SHOWN = 'warehouse.fact_promotion_day';
const RATE = 'warehouse.fact_commission_rate';

/** All rows of the promotions report, written again past the target. */
function shownAgain(...ids: readonly string[]): string {
  return `DELETE FROM ${SHOWN}; INSERT INTO ${SHOWN} (account, promotion_date, site_code, sub_id, fetch_id, loaded_at)
    SELECT 'default', DATE '${FIRST}', 's', sub_id, 'f0000000001', current_timestamp
    FROM (VALUES ${ids.map((id) => `('${id}')`).join(', ')}) AS v(sub_id)`;
}

/** What somebody does to the warehouse, what is found, and how it is undone. */
const DAMAGES: readonly (readonly [string, string, readonly [string, number, string][], string])[] = [
  [
    'two orders that have swapped their commissions',
    `UPDATE ${ITEM} SET commission = 3 - commission WHERE order_date = '${FIRST}'`,
    [[FIRST, 2, 'order_id a, order_item_id 1 in commission']],
    `UPDATE ${ITEM} SET commission = 3 - commission WHERE order_date = '${FIRST}'`,
  ],
  [
    'a text',
    `UPDATE ${ITEM} SET name = 'x' WHERE order_id = 'b'`,
    [[FIRST, 1, 'order_id b, order_item_id 1 in name']],
    `UPDATE ${ITEM} SET name = NULL WHERE order_id = 'b'`,
  ],
  [
    'an empty text in the place of none',
    `UPDATE ${ITEM} SET name = '' WHERE order_id = 'b'`,
    [[FIRST, 1, 'order_id b, order_item_id 1 in name']],
    `UPDATE ${ITEM} SET name = NULL WHERE order_id = 'b'`,
  ],
  [
    'a flag, of a row that another day has too much differ from',
    `UPDATE ${ITEM} SET status_final = true; UPDATE ${ITEM} SET status_final = false WHERE order_id = 'a'`,
    [
      [FIRST, 1, 'order_id b, order_item_id 1 in status_final'],
      [SECOND, 1, 'order_id c, order_item_id 1 in status_final'],
    ],
    `UPDATE ${ITEM} SET status_final = false`,
  ],
  [
    'a time, by a microsecond',
    `UPDATE ${ITEM} SET valid_from = valid_from + INTERVAL '1 microsecond' WHERE order_id = 'c'`,
    [[SECOND, 1, 'order_id c, order_item_id 1 in valid_from']],
    `UPDATE ${ITEM} SET valid_from = valid_from - INTERVAL '1 microsecond' WHERE order_id = 'c'`,
  ],
  [
    'a key',
    `UPDATE ${ITEM} SET order_id = 'z' WHERE order_id = 'a'`,
    [[FIRST, 1, 'order_id a, order_item_id 1 is missing']],
    `UPDATE ${ITEM} SET order_id = 'a' WHERE order_id = 'z'`,
  ],
  [
    'JSON',
    `UPDATE ${ITEM} SET extra = '{"a":2}' WHERE order_id = 'c'`,
    [[SECOND, 1, 'order_id c, order_item_id 1 in extra']],
    `UPDATE ${ITEM} SET extra = '{"a":1}' WHERE order_id = 'c'`,
  ],
  [
    'which answer brought it',
    `UPDATE ${SHOWN} SET fetch_id = 'other' WHERE sub_id = 'y'`,
    [[FIRST, 1, 'site_code s, frame_type null, name null, sub_id y in fetch_id']],
    `UPDATE ${SHOWN} SET fetch_id = 'f0000000001' WHERE sub_id = 'y'`,
  ],
  [
    'rows without a key, of which one is there once too often and another once too seldom',
    shownAgain('y', 'y', 'twice'),
    [[FIRST, 1, 'site_code s, frame_type null, name null, sub_id twice is missing']],
    shownAgain('y', 'twice', 'twice'),
  ],
  [
    'a version whose key has a null',
    `UPDATE ${RATE} SET reason = 'x' WHERE asked_price IS NULL`,
    [[FIRST, 1, 'ean 1, condition NEW, asked_price null in reason']],
    `UPDATE ${RATE} SET reason = NULL WHERE asked_price IS NULL`,
  ],
];

/** Every row of a target against its file, where counts and sums say nothing. */
export function comparing(newWarehouse: NewWarehouse): void {
  comparingAfter(newWarehouse, DAMAGES.slice(0, 1));
}

export function comparingAtLength(newWarehouse: NewWarehouse): void {
  comparingAfter(newWarehouse, DAMAGES.slice(1));
}

function comparingAfter(newWarehouse: NewWarehouse, damages: typeof DAMAGES): void {
  const bench = useSharedBench(newWarehouse);
  const slices: LoadSlice[] = [];

  const item = (id: string, commission: string, extra: string | null = null) => ({
    ...{ order_id: id, order_item_id: '1', commission, status_final: 'false', extra },
  });
  const shown = (sub_id: string) => ({ site_code: 's', sub_id });
  const rate = (asked_price: string | null) => ({
    ...{ ean: '1', condition: 'NEW', asked_price, valid_from: `${FIRST} 10:00:00+00`, outcome: 'found' },
  });
  const differing = async () => {
    const found = [];
    for (const one of [orders, promotions, commissionRates])
      found.push(...(await bench.target.differing(slices.filter(({ pipeline }) => pipeline === one))));
    return found;
  };

  describe('rows that differ from the lake', () => {
    beforeAll(async () => {
      const { maker, target } = bench;
      slices.push(
        await maker.make(orders, FIRST, [item('a', '1'), item('b', '2')]),
        await maker.make(orders, SECOND, [item('c', '3', '{"a":1}')]),
        await maker.make(orders, day('2026-03-03'), []),
        await maker.make(promotions, FIRST, [shown('y'), shown('twice'), shown('twice')]),
        await maker.make(commissionRates, FIRST, [rate(null), rate('2')]),
      );
      await target.publish(publicationOf('r1', slices));
    });

    test('are none after a load', async () => {
      expect(await differing()).toEqual([]);
    });

    test.each(damages)('%s', async (_, damage, found, undo) => {
      await bench.warehouse.execute(damage);
      expect(await differing()).toEqual(
        found.map(([on, rows, example]) => ({ day: on, rows, example: expect.stringContaining(example) })),
      );
      await bench.warehouse.execute(undo);
      expect(await differing()).toEqual([]);
    });

    test('are found without a trace in the warehouse, and of a day that has no rows', async () => {
      const before = await bench.warehouse.fingerprint();
      await bench.target.differing(slices.slice(0, 3));
      expect(await bench.warehouse.fingerprint()).toBe(before);
      const [row] = [{ ...slices[2]!, content: { ...slices[2]!.content, day: SECOND } }];
      expect(await bench.target.differing([row])).toEqual([
        { day: SECOND, rows: 1, example: 'order_id c, order_item_id 1 is not in the lake' },
      ]);
    });

    test('also among the rejects, whichever of their columns', async () => {
      const { maker, target } = bench;
      const rejects = [
        { item: 1, raw: 'ein \u{1f600}' },
        { item: 2, detail: 'a|b' },
        { item: 2, detail: 'a|b' },
      ];
      await target.publish(publicationOf('r2', [await maker.make(promotions, SECOND, [shown('z')], { rejects })]));
      const seen = new Set<string>();
      const sumsNow = async () => JSON.stringify([...(await target.rejectSums(promotions))]);
      seen.add(await sumsNow());
      for (const change of [`fetch_id = 'x'`, 'item = 3', `reason = 'x'`, `detail = 'a'`, `raw = raw || ' '`]) {
        await bench.warehouse.execute(
          `UPDATE etl.reject SET ${change} WHERE item = (SELECT min(item) FROM etl.reject)`,
        );
        seen.add(await sumsNow());
      }
      expect(seen.size).toBe(6);
      expect([...(await target.rejectSums(promotions))].map(([on, { rejects: n }]) => [on, n])).toEqual([[SECOND, 3]]);
      expect(await target.rejectSums(orders)).toEqual(new Map());
    });

    test('a file that is not there is named', async () => {
      const gone = { ...slices[0]!, file: `${slices[0]!.file}.gone` };
      await expect(bench.target.differing([gone])).rejects.toMatchObject({
        code: 'lake_file',
        concern: { pipeline: 'orders', day: FIRST },
      });
    });
  });
  afterAll(() => slices.splice(0));
}
