import { afterAll, beforeAll } from 'vitest';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';
import { hostileNight } from './hostile-night.ts';
import { querying } from './query.ts';

let database: Database;
let other: Database;
beforeAll(async () => {
  database = await freshDatabase();
  other = await freshDatabase();
});
afterAll(async () => {
  await database.drop();
  await other.drop();
});

// What the server itself may do for a superuser, such as pg_read_file(), is a matter of the user in the address: docs/security.md.
querying(
  'postgres',
  (_, out) => [
    ['COPY out', `COPY (SELECT 1) TO '${out}'`],
    ['COPY to a program', `COPY (SELECT 1) TO PROGRAM 'touch ${out}'`],
    ['COPY in', `COPY warehouse.fact_order_item FROM '/etc/passwd'`],
    ['a deletion', 'DELETE FROM warehouse.fact_order_item'],
    ['a deletion behind a SELECT', 'SELECT 1; DELETE FROM etl.receipt'],
    ['a deletion inside WITH', 'WITH x AS (DELETE FROM etl.receipt RETURNING *) SELECT * FROM x'],
    ['the end of the transaction', 'SELECT 1; COMMIT; DELETE FROM etl.receipt'],
    ['COMMIT', 'COMMIT'],
    ['writing allowed again', 'SET TRANSACTION READ WRITE'],
    ['the same by a function', `SELECT set_config('transaction_read_only', 'off', false)`],
    ['another user', 'SET ROLE postgres'],
    ['a table', 'CREATE TABLE warehouse.x AS SELECT 1'],
    ['SELECT INTO', 'SELECT 1 INTO warehouse.x'],
    ['code', `DO $$ BEGIN DELETE FROM etl.receipt; END $$`],
    ['a lock on rows', 'SELECT * FROM etl.receipt FOR UPDATE'],
    ['EXPLAIN that carries it out', 'EXPLAIN ANALYZE DELETE FROM etl.receipt'],
    ['a large object', `SELECT lo_from_bytea(0, 'x')`],
    ['NUL', 'SELECT 1\0'],
  ],
  () => database.url,
);

hostileNight('postgres', () => other.url);
