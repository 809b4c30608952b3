import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { pipelines } from '../../../pipelines/index.ts';
import { orders } from '../../../pipelines/orders.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { Engine } from '../../../src/engine/duckdb.ts';
import { openDuckdbTarget } from '../../../src/warehouse/duckdb/target.ts';
import { receiptsOf, type Target } from '../../../src/warehouse/target.ts';
import { day, publicationOf, SliceMaker } from '../../support/slices.ts';
import { rowsOf } from '../bench.ts';
import { type DuckdbWarehouse, duckdbWarehouse } from './warehouse.ts';

const FIRST = day('2026-03-01');
const COUNT = 'SELECT count(*) FROM warehouse.fact_order_item';

/** A program of somebody else that has the file open: it runs each line it gets and prints the rows as JSON. */
const ANALYST = `
  import { createInterface } from 'node:readline';
  import { DuckDBInstance } from '@duckdb/node-api';
  const instance = await DuckDBInstance.create(process.argv[1], { access_mode: process.argv[2] });
  const connection = await instance.connect();
  console.log('open');
  for await (const line of createInterface({ input: process.stdin }))
    console.log(JSON.stringify((await connection.runAndReadAll(line)).getRowsJson()));
`;

class Analyst {
  private readonly child: ChildProcess;
  private readonly answers: AsyncIterator<string>;

  private constructor(child: ChildProcess) {
    this.child = child;
    this.answers = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  }

  static async open(file: string, mode: 'READ_ONLY' | 'READ_WRITE'): Promise<Analyst> {
    const words = ['--input-type=module', '-e', ANALYST, file, mode];
    const analyst = new Analyst(spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] }));
    expect(await analyst.answer()).toBe('open');
    return analyst;
  }

  async ask(sql: string): Promise<unknown> {
    this.child.stdin!.write(`${sql}\n`);
    return JSON.parse(await this.answer());
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }

  private async answer(): Promise<string> {
    return (await this.answers.next()).value;
  }
}

describe('the DuckDB file', () => {
  let maker: SliceMaker;
  let warehouse: DuckdbWarehouse;
  let target: Target;
  let analysts: Analyst[];
  const analyst = async (mode: 'READ_ONLY' | 'READ_WRITE') => {
    const opened = await Analyst.open(warehouse.file, mode);
    analysts.push(opened);
    return opened;
  };
  /** Publishes the first day with so many rows. */
  const publish = async (rows: number) =>
    target.publish(publicationOf(`r${rows}`, await maker.many(orders, FIRST, 1, rows)));

  beforeAll(async () => {
    maker = await SliceMaker.open();
  });
  afterAll(() => maker.close());
  beforeEach(async () => {
    analysts = [];
    warehouse = await duckdbWarehouse('migrated');
    target = warehouse.open();
    await publish(1);
  });
  afterEach(async () => {
    await Promise.all(analysts.map((opened) => opened.kill()));
    await warehouse.remove();
  });

  test('open for reading elsewhere: old readers keep the old rows, new ones see the new', async () => {
    const before = await analyst('READ_ONLY');
    expect(await before.ask(COUNT)).toEqual([['1']]);
    await publish(2);
    expect(await before.ask(COUNT)).toEqual([['1']]);
    expect(await before.ask('SELECT count(DISTINCT order_id) FROM warehouse.fact_order_item')).toEqual([['1']]);
    expect(await (await analyst('READ_ONLY')).ask(COUNT)).toEqual([['2']]);
    expect(await rowsOf(target, COUNT)).toEqual([['2']]);
  });

  test('open for writing elsewhere: it is read and published all the same', async () => {
    await analyst('READ_WRITE');
    expect(receiptsOf(await target.receipts(), 'orders').size).toBe(1);
    expect(await publish(2)).toMatchObject({ slices: 1 });
    expect(await rowsOf(target, COUNT)).toEqual([['2']]);
  });

  test('written to elsewhere: a log left beside it is not taken for ours, before and after publishing', async () => {
    const writer = await analyst('READ_WRITE');
    await writer.ask('DELETE FROM warehouse.fact_order_item');
    expect(await readdir(warehouse.home)).toContain('warehouse.duckdb.wal');
    expect(await rowsOf(target, COUNT)).toEqual([['1']]);
    await publish(2);
    expect(await readdir(warehouse.home)).not.toContain('warehouse.duckdb.wal');
    await writer.ask(`INSERT INTO etl.migration VALUES (7777, 'x', 'x', now())`);
    await publish(3);
    await writer.kill();
    expect(await rowsOf(target, COUNT)).toEqual([['3']]);
    expect(await target.check()).toMatch(/^v/);
  });

  test('what a killed publication left does not matter and goes', async () => {
    const left = path.join(warehouse.workDir, 'publish-duckdb');
    await mkdir(path.join(left, 'spill'), { recursive: true });
    await writeFile(path.join(left, 'warehouse.next.duckdb'), 'half a file');
    await writeFile(path.join(left, 'warehouse.next.duckdb.wal'), 'half a log');
    expect(await rowsOf(target, COUNT)).toEqual([['1']]);
    await publish(2);
    expect(await rowsOf(target, COUNT)).toEqual([['2']]);
    expect(await readdir(warehouse.workDir)).toEqual([]);
  });

  test('nothing stays in the work folder, also when a publication is refused', async () => {
    const slice = await maker.make(orders, FIRST, [], { content: { rows: 1 } });
    await expect(target.publish(publicationOf('r9', [slice]))).rejects.toMatchObject({ code: 'control_sums' });
    expect(await readdir(warehouse.workDir)).toEqual([]);
  });

  test('damaged: the error says how to make it again', async () => {
    await truncate(warehouse.file, 5000);
    await expect(target.receipts()).rejects.toMatchObject({
      kind: 'failed',
      code: 'engine_open',
      hint: expect.stringContaining('rebuild'),
    });
  });

  test('a damaged block is told by whoever reads everything, and made good by making the file afresh', async () => {
    await target.proveWhole();
    const bytes = await readFile(warehouse.file);
    // Behind the three blocks of the head: in the middle of what is stored, whatever that is.
    for (let at = 20_000; at < bytes.length; at += 50_000) bytes[at] = bytes[at]! ^ 1;
    await writeFile(warehouse.file, bytes);
    const told = { kind: 'failed', concern: { file: warehouse.file }, hint: expect.stringContaining('rebuild') };
    await expect(target.proveWhole()).rejects.toMatchObject(told);
    const slice = await maker.make(orders, FIRST, []);
    await target.publish({ ...publicationOf('r9', [slice]), afresh: true });
    await target.proveWhole();
    expect(await rowsOf(target, COUNT)).toEqual([['0']]);
  });

  test('its tables and views can be read under whatever name it is attached', async () => {
    const engine = await Engine.open({ tempDir: path.join(warehouse.home, 'spill') });
    await engine.run(`ATTACH '${warehouse.file}' AS w (READ_ONLY)`);
    const names = ['w.fact_order_item', 'w.dim_date', 'w.dim_site', 'w.dim_sub_id', 'w.etl.receipt', 'w.etl.drift'];
    const counts: unknown[] = [];
    for (const name of names) counts.push((await engine.row(`SELECT count(*) > 0 AS some FROM ${name}`)).some);
    engine.close();
    expect(counts).toEqual([true, true, true, true, true, false]);
  });

  test('no table has a key or an index, which would cost at every delete', async () => {
    const constraints = `SELECT table_name FROM duckdb_constraints() WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')`;
    expect(await rowsOf(target, `${constraints} UNION ALL SELECT index_name FROM duckdb_indexes()`)).toEqual([]);
  });

  test('a query reaches no other file', async () => {
    await expect(target.query(`SELECT * FROM read_text('${__filename}')`, 1)).rejects.toMatchObject({ code: 'sql' });
    await expect(target.query(`SELECT * FROM '${warehouse.file}'`, 1)).rejects.toMatchObject({ code: 'sql' });
  });

  test('readings of one file wait for each other, whichever object they come from', async () => {
    const readings = Array.from({ length: 8 }, () => rowsOf(warehouse.open(), COUNT));
    expect(await Promise.all(readings)).toEqual(readings.map(() => [['1']]));
  });

  test('a folder that cannot be written to is told by check, with the fix', async () => {
    const file = path.join(warehouse.file, 'below', 'warehouse.duckdb');
    const options = { file, workDir: warehouse.workDir, clock: systemClock, pipelines };
    await expect(openDuckdbTarget(options).check()).rejects.toMatchObject({ kind: 'failed', code: 'not_writable' });
  });

  test('must be called warehouse.duckdb, after which its tables are named', () => {
    const options = {
      file: path.join(warehouse.home, 'other.duckdb'),
      workDir: warehouse.workDir,
      clock: systemClock,
      pipelines,
    };
    expect(() => openDuckdbTarget(options)).toThrow('must be called warehouse.duckdb');
  });
});
