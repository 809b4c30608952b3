import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Target } from '../../../src/warehouse/target.ts';
import { publicationOf } from '../../support/slices.ts';
import { rowsOf } from '../bench.ts';
import { type PostgresWarehouse, postgresWarehouse } from './warehouse.ts';

let warehouse: PostgresWarehouse;
let target: Target;
let reader: string;

beforeEach(async () => {
  warehouse = await postgresWarehouse('migrated');
  target = warehouse.open();
  reader = `reader_${new URL(warehouse.url).pathname.slice(3)}`;
  await warehouse.execute(`CREATE ROLE ${reader} LOGIN`);
});
afterEach(async () => {
  await warehouse.execute(`DROP OWNED BY ${reader} CASCADE; DROP ROLE ${reader}`);
  await warehouse.remove();
});

/** What others may do with views and functions, by thing. */
const RIGHTS = `SELECT concat_ws(' ', thing, pg_get_userbyid(grantee), privilege_type, is_grantable)
  FROM (
    SELECT oid::regclass::text AS thing, relacl AS acl, relowner AS owner FROM pg_class WHERE relkind = 'v'
    UNION ALL SELECT attrelid::regclass || '.' || attname, attacl, 10 FROM pg_attribute WHERE attacl IS NOT NULL AND attrelid > 16383
    UNION ALL SELECT pg_proc.oid::regproc::text, proacl, proowner FROM pg_proc WHERE pronamespace = 'warehouse'::regnamespace
  ) AS given CROSS JOIN LATERAL aclexplode(acl) WHERE grantee <> owner ORDER BY 1`;

const OLDER = `UPDATE etl.catalogue SET sha256 = 'older'`;

test('rights that were given to views and functions outlive their being made anew', async () => {
  await warehouse.execute(`GRANT USAGE ON SCHEMA mart, warehouse TO ${reader};
    GRANT SELECT ON ALL TABLES IN SCHEMA mart TO ${reader} WITH GRANT OPTION;
    GRANT SELECT (ean, is_current) ON mart.reduction TO ${reader};
    GRANT SELECT ON mart.ageing TO PUBLIC;
    REVOKE EXECUTE ON FUNCTION warehouse.orders_as_of FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION warehouse.orders_as_of TO ${reader}`);
  const before = await warehouse.ask(RIGHTS);
  expect(before.length).toBeGreaterThan(20);
  await warehouse.execute(OLDER);
  await target.publish(publicationOf('r1', []));
  expect(await warehouse.ask(RIGHTS)).toEqual(before);
  // A view that must be dropped, since it has other columns now.
  await warehouse.execute(
    `ALTER VIEW mart.ageing RENAME COLUMN age_bucket TO bucket; ALTER VIEW mart.push_day RENAME TO push_days;
     UPDATE etl.catalogue SET sha256 = 'older', things = things || '[{"kind":"VIEW","name":"mart.push_days"}]'`,
  );
  await target.publish(publicationOf('r2', []));
  expect(await warehouse.ask(RIGHTS)).toEqual(before.filter((right) => !right.startsWith('mart.push_day ')));
  expect(await rowsOf(target, 'SELECT count(age_bucket) FROM mart.ageing')).toEqual([['0']]);
});

test('a view of somebody else stays where ours keep their columns; where they cannot, it is named and nothing changes', async () => {
  await warehouse.execute(
    `CREATE SCHEMA own; CREATE VIEW own.old_orders AS SELECT as_of, items FROM mart.ageing; ${OLDER}`,
  );
  await target.publish(publicationOf('r1', []));
  expect(await warehouse.ask('SELECT count(*) FROM own.old_orders')).toEqual(['0']);
  await warehouse.execute(`ALTER VIEW mart.ageing RENAME COLUMN age_bucket TO bucket; ${OLDER}`);
  await expect(target.publish(publicationOf('r2', []))).rejects.toMatchObject({
    kind: 'failed',
    code: 'views_in_use',
    message: expect.stringContaining('own.old_orders'),
  });
  expect(await warehouse.ask('SELECT count(bucket) FROM mart.ageing')).toEqual(['0']);
});
