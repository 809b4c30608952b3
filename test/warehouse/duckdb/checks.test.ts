/** What only DuckDB can do to a check: it has a limit of memory of its own. */
import { expect, test } from 'vitest';
import { orders } from '../../../pipelines/orders.ts';
import { parseCheck } from '../../../src/warehouse/checks/checks.ts';
import { day, publicationOf } from '../../support/slices.ts';
import { rowsOf, useBench } from '../bench.ts';
import { duckdbWarehouse } from './warehouse.ts';

const DAY = day('2026-05-01');
const HUNGRY = parseCheck(
  'hungry',
  '/home/checks/hungry.sql',
  `-- severity: block
-- about: a is a
-- pipeline: orders
-- fix: look
SELECT order_date AS slice_day, len(list(number)) AS numbers
FROM warehouse.fact_order_item, range(200_000_000) AS numbers(number) GROUP BY order_date`,
  ['orders'],
);
const bench = useBench(duckdbWarehouse, 'none');

test('a check for which memory does not do is told as such and not as a mistake in its file; nothing is published', async () => {
  const { target, maker } = bench;
  const slice = await maker.make(orders, DAY, [{ order_id: 'a', order_item_id: '1' }]);
  const publishing = target.publish(publicationOf('r1', [slice], { checks: [HUNGRY] }));
  await expect(publishing).rejects.toMatchObject({
    kind: 'failed',
    code: 'check_unfinished',
    message: expect.stringMatching(/^check hungry was not finished: failed to allocate/),
    concern: { target: 'duckdb', file: '/home/checks/hungry.sql' },
    hint: expect.stringContaining('{on_days:column}'),
  });
  await expect(rowsOf(target, 'SELECT 1')).rejects.toMatchObject({ code: 'no_warehouse' });
  await target.publish(publicationOf('r1', [slice]));
  expect(await rowsOf(target, 'SELECT order_id FROM warehouse.fact_order_item')).toEqual([['a']]);
});
