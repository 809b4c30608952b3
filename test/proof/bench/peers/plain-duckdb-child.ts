/**
 * A straightforward script for DuckDB: its appender, which the client's README names for many rows. Amounts are DOUBLE, because
 * that is what a number of JavaScript is. Arguments: file, first day, last day.
 */
import { type DuckDBAppender, DuckDBInstance } from '@duckdb/node-api';
import type { Day } from '../../../../src/core/days.ts';
import { dayByDay, type Item } from './plain-rows.ts';

const [file = '', from = '', to = ''] = process.argv.slice(2);

function append(appender: DuckDBAppender, item: Item): void {
  const text = (value: string | null | undefined) => (value ? appender.appendVarchar(value) : appender.appendNull());
  for (const value of [item.orderDate, item.orderDateTime, item.orderId, item.orderItemId, item.productTitle])
    text(value);
  for (const value of [item.productId, item.chunkName, item.siteName, item.siteCode, item.frameType]) text(value);
  for (const value of [item.name, item.subId, item.status]) text(value);
  appender.appendBigInt(BigInt(item.quantity));
  for (const value of [item.priceExclVat, item.priceInclVat, item.commissionPercentage, item.commission])
    appender.appendDouble(value);
  appender.appendBoolean(item.statusFinal);
  appender.appendBoolean(item.approvedForPayment);
  appender.endRow();
}

const instance = await DuckDBInstance.create(file);
const connection = await instance.connect();
await connection.run(`CREATE TABLE IF NOT EXISTS orders (
  order_date VARCHAR, order_date_time VARCHAR, order_id VARCHAR, order_item_id VARCHAR, product_title VARCHAR,
  product_id VARCHAR, chunk_name VARCHAR, site_name VARCHAR, site_code VARCHAR, frame_type VARCHAR, name VARCHAR,
  sub_id VARCHAR, status VARCHAR, quantity BIGINT, price_excl_vat DOUBLE, price_incl_vat DOUBLE,
  commission_percentage DOUBLE, commission DOUBLE, status_final BOOLEAN, approved_for_payment BOOLEAN
)`);
for await (const { day, items } of dayByDay(from as Day, to as Day)) {
  await connection.run('BEGIN TRANSACTION');
  await connection.run('DELETE FROM orders WHERE order_date = $day', { day });
  const appender = await connection.createAppender('orders');
  for (const item of items) append(appender, item);
  appender.closeSync();
  await connection.run('COMMIT');
}
connection.closeSync();
instance.closeSync();
