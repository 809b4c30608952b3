/** Every Parquet file of a lake that nights have filled, by a reader that shares no code with the engine that wrote it. */
import { Buffer } from 'node:buffer';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pipelines } from '../../../pipelines/index.ts';
import { isNamed, storedColumns } from '../../../src/core/pipeline.ts';
import { Engine, quoteName, quoteText } from '../../../src/engine/duckdb.ts';
import { asciiJson } from '../../support/hostile-json.ts';
import { tableFolder } from '../../support/lake-folders.ts';
import { listEans, openLookupWorld } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';
import {
  calling,
  deliver,
  get,
  HOUR,
  MINUTE,
  PUSHED,
  pass,
  processMessage,
  shipmentMessage,
  subscribe,
} from '../../support/states.ts';
import { byDuckdb, byHyparquet, valuesFrom } from './parquet.ts';

/** As the warehouse may hold them, sent as they are. */
const TEXTS = [
  '=cmd()',
  '\ufeffx',
  '\u202eexe',
  '\u001e',
  'a\u001fb',
  '\\N\t\\.',
  '',
  '\u{10ffff}',
  'e\u0301',
  'x'.repeat(70_000),
];
/** Sent, and in millionths. */
const AMOUNTS: readonly (readonly [string, bigint])[] = [
  ['999999999999.999999', 999_999_999_999_999_999n],
  ['-999999999999.999999', -999_999_999_999_999_999n],
  ['0.30000000000000004', 300_000n],
  ['5.684341886080802E-14', 0n],
  ['-0', 0n],
  ['1e2', 100_000_000n],
];
const COUNTS = ['9007199254740993', '9223372036854775807', '-9223372036854775807'];

const MERGED = ['products', 'commission-rates', 'reductions', ...PUSHED];

/** A day later everything that is merged says something else. */
async function changeAll(eans: readonly string[], reduced: string): Promise<void> {
  const { sandbox } = world;
  pass(world, 25 * HOUR);
  sandbox.change({ kind: 'product', ean: eans[0]!, title: 'Anders' });
  sandbox.change({ kind: 'commission-reductions', ean: reduced, reductions: [] });
  // A day later the reductions file is another one, in which lines came and went.
  sandbox.change({ kind: 'shipment', shipmentId: 'S-1', count: 1 });
  const link = get(`${sandbox.baseUrl}/retailer/shipments/S-1`);
  await deliver(world, shipmentMessage('S-1', [link], '2026-03-21T03:59:00+01:00'));
  await calling(world, (calls) => calls.remove('5001', () => undefined));
  await subscribe(world, 'https://hook.example.org/other');
  pass(world, MINUTE);
}

let world: World;
beforeAll(async () => {
  world = await openLookupWorld({
    rates: {},
    products: { refreshDays: 1 },
    reductions: { recheckMinutes: 0 },
    lookbackDays: 2,
    windowDays: 2,
    ordersPerDay: 40,
    sandbox: { seriesLength: 40 },
  });
  const { sandbox } = world;
  // What the items are before they are odd becomes their history.
  expect((await world.night({ names: ['orders'] })).errors).toEqual([]);
  pass(world, 1000);
  for (const [item, text] of TEXTS.entries())
    sandbox.addFault({ endpoint: 'orders', kind: 'raw-value', item, field: 'productTitle', json: asciiJson(text) });
  for (const [item, [json]] of AMOUNTS.entries())
    sandbox.addFault({ endpoint: 'orders', kind: 'raw-value', item, field: 'commission', json });
  for (const [item, json] of COUNTS.entries())
    sandbox.addFault({ endpoint: 'orders', kind: 'raw-value', item, field: 'quantity', json });
  for (const [item, json] of ['1e-300', '0.1', '1e308'].entries())
    sandbox.addFault({ endpoint: 'promotions', kind: 'raw-value', item, field: 'conversion', json });
  const eans = sandbox.eans();
  const reduced = eans.filter((ean) => sandbox.truthOfCommission(ean, 'NEW', null)?.reductions?.length);
  await listEans(world, [...eans.slice(0, 2), ...reduced.slice(0, 2)]);
  sandbox.change({ kind: 'shipment', shipmentId: 'S-1', count: 1 });
  const processId = await subscribe(world);
  await deliver(
    world,
    processMessage(processId),
    shipmentMessage('S-1', [get(`${sandbox.baseUrl}/retailer/shipments/S-1`)]),
  );
  pass(world, 1000);
  const names = pipelines.filter(isNamed).map(({ name }) => name);
  sandbox.addFault({ endpoint: 'orders', kind: 'missing-field', item: 20, field: 'orderItemId' });
  expect((await world.night({ names })).errors).toEqual([]);
  await changeAll(eans, reduced[0]!);
  expect((await world.night({ names: MERGED })).errors).toEqual([]);
  pass(world, 1000);
  sandbox.change({ kind: 'shrink-day', report: 'promotions', day: world.lookback().from, items: 1 });
  expect((await world.night({ names: ['promotions'] })).run.summary).toMatchObject({ slices_held: 1 });
});
afterAll(() => world.close());

async function filesOf(name: string): Promise<string[]> {
  const folder = tableFolder(world.home, name);
  const files = await readdir(folder, { recursive: true });
  return files.filter((file) => file.endsWith('.parquet')).map((file) => path.join(folder, file));
}

describe('the folder of a table', () => {
  const lake = () => path.join(world.home, 'lake');
  const filesUnder = async (folder: string) =>
    (await readdir(folder, { recursive: true, withFileTypes: true })).filter((one) => one.isFile());

  it('is there for each pipeline, with Parquet files and nothing else, though a slice is held and a row rejected', async () => {
    expect((await readdir(lake())).sort()).toEqual(pipelines.map(({ table }) => table).sort());
    expect((await filesUnder(lake())).filter(({ name }) => !name.endsWith('.parquet'))).toEqual([]);
    for (const aside of ['held', 'rejects'])
      expect((await filesUnder(path.join(world.home, aside))).length, aside).toBeGreaterThan(0);
  });

  describe.each(pipelines.map((pipeline) => ({ name: pipeline.name, pipeline })))('of $name', ({ name, pipeline }) => {
    let engine: Engine;
    beforeAll(async () => {
      engine = await Engine.open({ tempDir: path.join(world.home, 'work', 'spill') });
      await engine.run(`ATTACH ${quoteText(path.join(world.home, 'warehouse.duckdb'))} AS warehouse (READ_ONLY)`);
    });
    afterAll(() => engine.close());

    const table = `warehouse.main.${quoteName(pipeline.table)}`;
    const columns = storedColumns(pipeline);
    const whole = () => quoteText(path.join(tableFolder(world.home, name), '**', '*.parquet'));

    it('is the table to DuckDB, to the last row', async () => {
      const names = columns.map(({ column }) => quoteName(column)).join(', ');
      const [ofLake, ofTable] = [`SELECT ${names} FROM read_parquet(${whole()})`, `SELECT ${names} FROM ${table}`];
      const count = async (sql: string) => Number((await engine.row(`SELECT count(*) AS n FROM (${sql})`)).n);
      expect(await count(ofLake)).toBeGreaterThan(0);
      expect(await count(`${ofLake} EXCEPT ALL ${ofTable}`)).toBe(0);
      expect(await count(`${ofTable} EXCEPT ALL ${ofLake}`)).toBe(0);
    });

    it('is the table to hyparquet, to the last value', async () => {
      const inLake = await Promise.all((await filesOf(name)).map((file) => byHyparquet(file, columns)));
      const inTable = await valuesFrom(engine, table, columns);
      const inOrder = (rows: readonly (readonly (string | null)[])[]) => rows.map((row) => JSON.stringify(row)).sort();
      expect(inOrder(inLake.flat())).toEqual(inOrder(inTable));
    });

    it('gives account and month to those who read hive partitions, and both are no columns of the files', async () => {
      const names = columns.map(({ column }) => column);
      expect(names.filter((column) => ['account', 'month'].includes(column))).toEqual([]);
      const rows = await engine.rows(
        `SELECT DISTINCT account, month, strftime(${quoteName(pipeline.day)}, '%Y-%m') AS of_day
         FROM read_parquet(${whole()}, hive_partitioning = true)`,
      );
      expect(rows.length).toBeGreaterThan(0);
      for (const { account, month, of_day } of rows) expect([account, month]).toEqual(['default', of_day]);
    });
  });
});

describe('two readers of one file', () => {
  it.each(pipelines.map((pipeline) => ({ name: pipeline.name, pipeline })))(
    'agree on every value of $name',
    async ({ name, pipeline }) => {
      const files = await filesOf(name);
      expect(files.length).toBeGreaterThan(0);
      for (const file of files) {
        const rows = await byDuckdb(file, storedColumns(pipeline));
        expect(rows.length).toBeGreaterThan(0);
        expect(await byHyparquet(file, storedColumns(pipeline))).toEqual(rows);
      }
    },
  );

  it('find in it what was sent, to the last letter and digit', async () => {
    const orders = pipelines.find(({ name }) => name === 'orders')!;
    const columns = storedColumns(orders).filter(({ column }) =>
      ['product_title', 'commission', 'quantity'].includes(column),
    );
    const rows = (await Promise.all((await filesOf('orders')).map((file) => byHyparquet(file, columns)))).flat();
    const found = (column: string) => rows.map((row) => row[columns.findIndex((one) => one.column === column)]);
    for (const text of TEXTS) expect(found('product_title')).toContain(Buffer.from(text).toString('hex'));
    for (const [, millionths] of AMOUNTS) expect(found('commission')).toContain(String(millionths));
    for (const count of COUNTS) expect(found('quantity')).toContain(count);
  });
});
