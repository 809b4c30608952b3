/**
 * parquetjs-lite as the writer of one file, which DuckDB then loads in a transaction. Schema and writer are those of its README;
 * it knows no usable DECIMAL, so amounts are DOUBLE. Arguments: folder where it is installed, DuckDB file, first day, last day.
 */
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Day } from '../../../../src/core/days.ts';
import { quoteText } from '../../../../src/engine/duckdb.ts';
import { dayByDay } from './plain-rows.ts';

interface Parquetjs {
  readonly ParquetSchema: new (
    fields: Readonly<Record<string, { type: string; optional?: boolean; compression?: string }>>,
  ) => object;
  readonly ParquetWriter: {
    openFile(
      schema: object,
      file: string,
    ): Promise<{ appendRow(row: Readonly<Record<string, unknown>>): Promise<void>; close(): Promise<void> }>;
  };
}

const [installed = '', file = '', from = '', to = ''] = process.argv.slice(2);
const { ParquetSchema, ParquetWriter } = createRequire(path.join(installed, 'package.json'))(
  'parquetjs-lite',
) as Parquetjs;

const text = { type: 'UTF8', optional: true, compression: 'GZIP' };
const amount = { type: 'DOUBLE', compression: 'GZIP' };
const flag = { type: 'BOOLEAN' };
const schema = new ParquetSchema({
  orderDate: text,
  orderDateTime: text,
  orderId: text,
  orderItemId: text,
  productTitle: text,
  productId: text,
  chunkName: text,
  siteName: text,
  siteCode: text,
  frameType: text,
  name: text,
  subId: text,
  status: text,
  quantity: { type: 'INT64', compression: 'GZIP' },
  priceExclVat: amount,
  priceInclVat: amount,
  commissionPercentage: amount,
  commission: amount,
  statusFinal: flag,
  approvedForPayment: flag,
});
const parquet = `${file}.parquet`;
const writer = await ParquetWriter.openFile(schema, parquet);
for await (const { items } of dayByDay(from as Day, to as Day)) for (const item of items) await writer.appendRow(item);
await writer.close();

const instance = await DuckDBInstance.create(file);
const connection = await instance.connect();
const rows = `read_parquet(${quoteText(parquet)})`;
await connection.run(`CREATE TABLE IF NOT EXISTS orders AS FROM ${rows} LIMIT 0`);
await connection.run('BEGIN TRANSACTION');
await connection.run('DELETE FROM orders WHERE "orderDate" BETWEEN $from AND $to', { from, to });
await connection.run(`INSERT INTO orders FROM ${rows}`);
await connection.run('COMMIT');
connection.closeSync();
instance.closeSync();
rmSync(parquet);
