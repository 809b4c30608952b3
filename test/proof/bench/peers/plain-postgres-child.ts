/**
 * A straightforward script: kysely's `transaction().execute`, `deleteFrom` and `insertInto().values()` of many rows, as kysely's
 * documentation shows them. Arguments: address, first day, last day.
 */
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import type { Day } from '../../../../src/core/days.ts';
import { dayByDay, type Item } from './plain-rows.ts';

/** Of one INSERT: with 20 columns far below Postgres' 65,535 parameters. */
const ROWS_A_STATEMENT = 1000;

type Row = ReturnType<typeof rowOf>;

function rowOf(item: Item) {
  return {
    order_date: item.orderDate,
    order_date_time: item.orderDateTime,
    order_id: item.orderId,
    order_item_id: item.orderItemId,
    product_title: item.productTitle,
    product_id: item.productId,
    chunk_name: item.chunkName,
    site_name: item.siteName,
    site_code: item.siteCode,
    frame_type: item.frameType,
    name: item.name,
    sub_id: item.subId,
    status: item.status,
    quantity: item.quantity,
    price_excl_vat: item.priceExclVat,
    price_incl_vat: item.priceInclVat,
    commission_percentage: item.commissionPercentage,
    commission: item.commission,
    status_final: item.statusFinal,
    approved_for_payment: item.approvedForPayment,
  };
}

const [address = '', from = '', to = ''] = process.argv.slice(2);
const db = new Kysely<{ orders: Row }>({
  dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: address }) }),
});
await sql`CREATE TABLE IF NOT EXISTS orders (
  order_date date NOT NULL, order_date_time text, order_id text, order_item_id text, product_title text, product_id text,
  chunk_name text, site_name text, site_code text, frame_type text, name text, sub_id text, status text, quantity bigint,
  price_excl_vat numeric(18, 6), price_incl_vat numeric(18, 6), commission_percentage numeric(18, 6),
  commission numeric(18, 6), status_final boolean, approved_for_payment boolean, PRIMARY KEY (order_id, order_item_id)
)`.execute(db);
await sql`CREATE INDEX IF NOT EXISTS orders_by_day ON orders (order_date)`.execute(db);
for await (const { day, items } of dayByDay(from as Day, to as Day))
  await db.transaction().execute(async (transaction) => {
    await transaction.deleteFrom('orders').where('order_date', '=', day).execute();
    for (let i = 0; i < items.length; i += ROWS_A_STATEMENT)
      await transaction
        .insertInto('orders')
        .values(items.slice(i, i + ROWS_A_STATEMENT).map(rowOf))
        .execute();
  });
await db.destroy();
