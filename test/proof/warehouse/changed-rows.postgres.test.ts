/** Random rows into a slice of which the table has rows: only what differs is written, and afterwards it is the slice. */
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { orders } from '../../../pipelines/orders.ts';
import { day, publicationOf, type RowText, SliceMaker } from '../../support/slices.ts';
import { rowsOf } from '../../warehouse/bench.ts';
import { postgresWarehouse } from '../../warehouse/postgres/warehouse.ts';

const DAYS = ['2026-03-01', '2026-03-02', '2026-03-03'].map(day);

const item = (id: string, more: RowText): RowText => ({ order_id: id, order_item_id: '1', commission: '1', ...more });

const ANY_ROWS = fc.dictionary(
  fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  fc.record({
    on: fc.constantFrom(...DAYS),
    name: fc.option(fc.constantFrom('', '\u001e', '\u001f', '\\N', '\t', "a'b", '\ufeffx')),
    sub_id: fc.option(fc.constantFrom('', '\u001f', 'x')),
    price_incl_vat: fc.option(fc.constantFrom('0', '-0.000001', '999999999999.999999')),
    quantity: fc.option(fc.constantFrom('-9223372036854775808', '0')),
    status_final: fc.option(fc.constantFrom('true', 'false')),
    order_utc_time: fc.option(fc.constantFrom('2026-03-01 00:00:00+00', '2026-03-01 23:59:59.999999+00')),
    extra: fc.option(fc.constantFrom('{"a":1}', '{"a":1.0}', '{"a":"\\u00e9"}', 'null')),
  }),
);

test('whatever there was, afterwards the rows are those of the slices', async () => {
  const maker = await SliceMaker.open();
  const warehouse = await postgresWarehouse('migrated');
  onTestFinished(async () => {
    await warehouse.remove();
    await maker.close();
  });
  const target = warehouse.open();
  let runs = 0;
  const columns = 'order_date, name, sub_id, price_incl_vat, quantity, status_final, order_utc_time, extra';
  await fc.assert(
    fc.asyncProperty(ANY_ROWS, async (rows) => {
      const on = (wanted: string) =>
        Object.entries(rows).flatMap(([id, { on, ...values }]) => (on === wanted ? [item(id, values)] : []));
      runs += 1;
      const slices = await Promise.all(DAYS.map((one) => maker.make(orders, one, on(one))));
      await target.publish(publicationOf(`r${runs}`, slices));
      const there = await rowsOf(target, `SELECT order_id, ${columns} FROM warehouse.fact_order_item ORDER BY 1`);
      const wanted = Object.entries(rows).sort(([a], [b]) => (a < b ? -1 : 1));
      expect(there.map(([id, order_date, name, sub_id]) => [id, order_date, name, sub_id])).toEqual(
        wanted.map(([id, row]) => [id, row.on, row.name, row.sub_id]),
      );
      expect(there.map((row) => row.slice(4))).toEqual(
        wanted.map(([, row]) => [
          row.price_incl_vat === '0' ? '0.000000' : row.price_incl_vat,
          row.quantity,
          row.status_final === null ? null : row.status_final === 'true',
          row.order_utc_time,
          row.extra === null ? null : expect.anything(),
        ]),
      );
    }),
    { numRuns: 20, seed: 23 },
  );
});
