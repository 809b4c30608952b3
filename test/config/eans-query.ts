/** The default of `eans.query`, and a warehouse of its own shape that says what it must find. */
import { load } from './place.ts';

export async function defaultQuery(): Promise<string> {
  return (await load()).eans.query ?? '';
}

const orders: readonly (readonly [string, string | null, string])[] = [
  ['2026-03-14', '8712626055143', '10.00'],
  ['2026-03-01', '8712626055143', '0.05'],
  ['2026-03-14', '9200000111', '10.04'], // in the catalogue under two EANs: the smaller one
  ['2026-03-13', '9200000222', '99.00'], // in the catalogue, but not any more
  ['2026-03-13', '9200000333', '98.00'], // never in the catalogue
  ['2026-03-13', '123456789012', '97.00'], // no EAN and no product
  ['2026-03-13', '12345678901234', '96.00'],
  ['2026-03-13', null, '95.00'],
  ['2025-12-15', '5000000000001', '1.00'], // the first of the 90 days
  ['2025-12-14', '5000000000002', '94.00'], // the day before it
  ['2026-03-10', '5000000000003', '1.00'],
  ['2026-03-10', '9200000444', '0.50'], // sold under its EAN as well: added up
];

const products = [
  "('8000000000002', '9200000111', 'found')",
  "('8000000000001', '9200000111', 'found')",
  "('8000000000003', NULL, 'not_found')",
  "('5000000000003', '9200000444', 'found')",
];

const rows = orders.map(([day, id, price]) => `('${day}', ${id === null ? 'NULL' : `'${id}'`}, ${price})`);

/** For both engines. */
export const PREPARATION: readonly string[] = [
  'CREATE SCHEMA warehouse',
  'CREATE TABLE warehouse.fact_order_item (order_date DATE, product_id TEXT, price_excl_vat DECIMAL(18, 6))',
  'CREATE TABLE warehouse.dim_product (ean TEXT, bol_product_id TEXT, outcome TEXT)',
  `INSERT INTO warehouse.fact_order_item VALUES ${rows.join(', ')}`,
  `INSERT INTO warehouse.dim_product VALUES ${products.join(', ')}`,
];

/** The most valuable first; of the same value the smaller EAN. */
export const FOUND: readonly string[] = ['8712626055143', '8000000000001', '5000000000003', '5000000000001'];
