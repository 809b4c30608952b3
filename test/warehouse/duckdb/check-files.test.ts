/** A check reads the warehouse; the files of this machine are none of its business, not even their first line. */
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { orders } from '../../../pipelines/orders.ts';
import { day, publicationOf } from '../../support/slices.ts';
import { rowsOf, useBench } from '../bench.ts';
import { check } from '../conformance/checking.ts';
import { type DuckdbWarehouse, duckdbWarehouse } from './warehouse.ts';

const DAY = day('2026-05-01');
const bench = useBench(duckdbWarehouse);

test.each<[string, (file: string) => string]>([
  ['a file by a function', (file) => `SELECT DATE '${DAY}' AS slice_day, * FROM read_csv('${file}')`],
  ['a file as text', (file) => `SELECT DATE '${DAY}' AS slice_day, content FROM read_text('${file}')`],
  ['a file by its name', (file) => `SELECT DATE '${DAY}' AS slice_day, * FROM '${file}'`],
  ['names of files', (file) => `SELECT DATE '${DAY}' AS slice_day, * FROM glob('${path.dirname(file)}/*')`],
  [
    'a file in a statement in a text',
    (file) => `SELECT DATE '${DAY}' AS slice_day, * FROM query('FROM read_csv(''${file}'')')`,
  ],
])('%s is refused before anything is loaded, and by verify', async (_, sql) => {
  const { target, maker, warehouse } = bench;
  const file = path.join((warehouse as DuckdbWarehouse).home, 'hidden.csv');
  await writeFile(file, 'the-secret\n1\n');
  const slice = await maker.make(orders, DAY, [{ order_id: 'a', order_item_id: '1' }]);
  const mine = check(sql(file));
  const publish = () => target.publish(publicationOf('r1', [slice], { checks: [mine] }));
  for (const refused of [publish, () => target.broken([mine])]) {
    const error = await refused().then(
      () => null,
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ kind: 'usage', code: 'check', concern: { file: '/home/checks/mine.sql' } });
    expect(error.message).not.toContain('the-secret');
  }
  expect(await rowsOf(target, 'SELECT * FROM warehouse.fact_order_item')).toEqual([]);
});

test('slices are loaded from wherever the lake lies, also below names that look like patterns', async () => {
  const { target, maker, warehouse } = bench;
  const slice = await maker.make(orders, DAY, [{ order_id: 'a', order_item_id: '1' }], { rejects: [{}] });
  const folder = path.join((warehouse as DuckdbWarehouse).home, "it's [a] *?");
  await mkdir(folder);
  const [file, rejectsFile] = [path.join(folder, 'rows.parquet'), path.join(folder, 'rejects.parquet')];
  await copyFile(slice.file!, file);
  await copyFile(slice.rejectsFile!, rejectsFile);
  const mine = check('SELECT order_date AS slice_day FROM warehouse.fact_order_item WHERE commission > 1');
  await target.publish(publicationOf('r1', [{ ...slice, file, rejectsFile }], { checks: [mine] }));
  expect(await rowsOf(target, 'SELECT order_id FROM warehouse.fact_order_item')).toEqual([['a']]);
});
