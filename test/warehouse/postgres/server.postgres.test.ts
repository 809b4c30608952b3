import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { orders } from '../../../pipelines/orders.ts';
import { type LoadSlice, receiptsOf, type Target } from '../../../src/warehouse/target.ts';
import { day, publicationOf, SliceMaker } from '../../support/slices.ts';
import { leapingClock, rowsOf } from '../bench.ts';
import { type Cut, openProxy } from './proxy.ts';
import { type PostgresWarehouse, postgresWarehouse } from './warehouse.ts';

const FIRST = day('2026-03-01');
const COUNT = 'SELECT count(*) FROM warehouse.fact_order_item';

describe('the Postgres server', () => {
  let maker: SliceMaker;
  let warehouse: PostgresWarehouse;
  let target: Target;
  const slices = (rows: number, seed = 1): Promise<LoadSlice[]> => maker.many(orders, FIRST, 2, rows, seed);

  beforeAll(async () => {
    maker = await SliceMaker.open();
  });
  afterAll(() => maker.close());
  beforeEach(async () => {
    warehouse = await postgresWarehouse('migrated');
    target = warehouse.open();
    await target.publish(publicationOf('r1', await slices(1)));
  });
  afterEach(() => warehouse.remove());

  const COPY = 'COPY staged';
  const breaks: [string, Cut, string, number][] = [
    ['in the middle of COPY', { after: COPY, at: 'product_title', delivered: false }, 'postgres_connection', 2],
    ['before COMMIT reaches the server', { after: COPY, at: 'COMMIT', delivered: false }, 'commit_unknown', 2],
    ['before the answer to COMMIT arrives', { after: COPY, at: 'COMMIT', delivered: true }, 'commit_unknown', 0],
  ];
  test.each(breaks)('lost %s: told as retry, and the next try ends the same', async (_, cut, code, left) => {
    const proxy = await openProxy(warehouse.url);
    onTestFinished(() => proxy.close());
    const relayed = warehouse.openAt(proxy.url);
    proxy.setCut(cut);
    const publication = publicationOf('r2', await slices(500));
    await expect(relayed.publish(publication)).rejects.toMatchObject({ kind: 'retry', code });
    proxy.setCut(null);
    expect(await relayed.publish(publication)).toMatchObject({ slices: left });
    expect(await rowsOf(target, COUNT)).toEqual([['1000']]);
    expect(await rowsOf(target, 'SELECT count(*), count(superseded_at) FROM etl.receipt')).toEqual([['4', '2']]);
  });

  test('ending our session while it waits is told as retry', async () => {
    const free = await warehouse.occupy();
    const publishing = expect(target.publish(publicationOf('r2', await slices(2)))).rejects.toMatchObject({
      kind: 'retry',
    });
    const end = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
      WHERE application_name = 'partner-etl' AND query LIKE '%pg_try_advisory_xact_lock%' AND datname = current_database()`;
    while ((await warehouse.ask(end))[0] === '0');
    await publishing;
    await free();
    expect(await target.publish(publicationOf('r2', await slices(2)))).toMatchObject({ slices: 2 });
  });

  test('who else publishes is told by session, user, program and time', async () => {
    const free = await warehouse.occupy();
    const patient = warehouse.open(leapingClock());
    await expect(patient.publish(publicationOf('r2', await slices(2)))).rejects.toThrow(
      /^session \d+ of postgres \(a test\) from 127\.0\.0\.1, since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, is publishing/,
    );
    await free();
  });

  test('nobody there: retry, with the address but not the password', async () => {
    const port = await closedPort();
    const error = await warehouse
      .openAt(`postgres://me:geheim@127.0.0.1:${port}/x`)
      .check()
      .catch((thrown) => thrown);
    expect(error).toMatchObject({ kind: 'retry', code: 'postgres_connection' });
    expect(error.message).toContain(String(port));
    expect(JSON.stringify([error.message, error.hint, error.concern])).not.toContain('geheim');
  });

  test.each([
    ['an unknown database', (url: string) => url.replace(/\/t_.*/, '/nowhere')],
    ['an unknown user', (url: string) => url.replace('postgres@', 'nobody_such@')],
    ['an address that is none', () => 'postgres://me:geheim@[nonsense/x'],
  ])('%s: the settings are to be fixed', async (_, change) => {
    await expect(warehouse.openAt(change(warehouse.url)).check()).rejects.toMatchObject({
      kind: 'usage',
      code: 'postgres_login',
      hint: expect.stringContaining('PARTNER_ETL_POSTGRES_URL'),
    });
  });

  test('a user without rights is told by check and by publish', async () => {
    const name = `guest_${new URL(warehouse.url).pathname.slice(3)}`;
    await warehouse.execute(`CREATE ROLE ${name} LOGIN; GRANT USAGE ON SCHEMA etl, warehouse TO ${name};
      GRANT SELECT ON ALL TABLES IN SCHEMA etl, warehouse TO ${name}`);
    onTestFinished(() => warehouse.execute(`DROP OWNED BY ${name}; DROP ROLE ${name}`).catch(() => undefined));
    const guest = warehouse.openAt(warehouse.url.replace('postgres@', `${name}@`));
    const rights = { kind: 'failed', code: 'postgres_rights' };
    expect(receiptsOf(await guest.receipts(), 'orders').size).toBe(2);
    await expect(guest.check()).rejects.toMatchObject(rights);
    await expect(guest.publish(publicationOf('r2', await slices(2)))).rejects.toMatchObject(rights);
  });

  test('a text that Postgres cannot hold is told, and nothing is published', async () => {
    const [sound, other] = await slices(2);
    const select = `SELECT * REPLACE (concat('a', chr(0), 'b') AS product_title) FROM read_parquet('${sound!.file}')`;
    const bad = await maker.fromSelect(orders, FIRST, select);
    await expect(target.publish(publicationOf('r2', [other!, bad]))).rejects.toMatchObject({
      kind: 'failed',
      code: 'postgres_value',
      concern: { pipeline: 'orders', day: FIRST },
      message: expect.stringMatching(/^orders 2026-03-01: Postgres: /),
    });
    expect(await rowsOf(target, COUNT)).toEqual([['2']]);
  });

  test('a row that breaks a constraint is named by that, without what stands in it', async () => {
    await warehouse.execute(
      `ALTER TABLE warehouse.fact_order_item ADD CONSTRAINT no_jan CHECK (name <> 'Jan de Vries')`,
    );
    const [sound] = await slices(1);
    const select = `SELECT * REPLACE ('Jan de Vries' AS name) FROM read_parquet('${sound!.file}')`;
    const bad = await maker.fromSelect(orders, FIRST, select);
    const error = await target.publish(publicationOf('r2', [bad])).then(
      () => null,
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ kind: 'failed', message: expect.stringContaining('no_jan') });
    expect(`${error.message} ${error.hint}`).not.toContain('Jan');
  });

  test('a user who may not make schemas can fill those that were made for it', async () => {
    const name = `owner_${new URL(warehouse.url).pathname.slice(3)}`;
    await warehouse.execute(`DROP SCHEMA warehouse, mart, etl CASCADE; CREATE ROLE ${name} LOGIN`);
    onTestFinished(() => warehouse.execute(`DROP OWNED BY ${name}; DROP ROLE ${name}`).catch(() => undefined));
    const owner = warehouse.openAt(warehouse.url.replace('postgres@', `${name}@`));
    await expect(owner.check()).rejects.toMatchObject({ kind: 'failed', code: 'postgres_rights' });
    const schemas = ['warehouse', 'mart', 'etl'].map((schema) => `CREATE SCHEMA ${schema} AUTHORIZATION ${name}`);
    await warehouse.execute(schemas.join('; '));
    expect(await owner.check()).toMatch(/^\d+/);
    expect(await owner.publish(publicationOf('r1', await slices(2)))).toMatchObject({ slices: 2, rows: 4 });
  });

  test('a setting of the server that prints days and times otherwise changes nothing', async () => {
    const name = new URL(warehouse.url).pathname.slice(1);
    await warehouse.execute(
      `ALTER DATABASE ${name} SET DateStyle = 'German'; ALTER DATABASE ${name} SET TimeZone = 'Asia/Tokyo'`,
    );
    const other = warehouse.open();
    expect([...receiptsOf(await other.receipts(), 'orders').keys()]).toEqual([FIRST, '2026-03-02']);
    expect([...(await other.sums(orders)).keys()]).toEqual([FIRST, '2026-03-02']);
    expect(await other.publish(publicationOf('r2', await slices(2)))).toMatchObject({ slices: 2 });
  });

  test('keyed tables have their key, every fact table an index that begins with its day, a slice one current receipt', async () => {
    const indexes = `SELECT concat(tablename, ': ', regexp_replace(indexdef, '.* USING ', '')) FROM pg_indexes
      WHERE schemaname = 'warehouse' OR indexname = 'receipt_current' ORDER BY 1`;
    const line = [
      'ean',
      "COALESCE(maximum_price, 'NaN'::numeric)",
      "COALESCE(cost_reduction, 'NaN'::numeric)",
      "COALESCE(start_date, 'infinity'::date)",
      "COALESCE(end_date, 'infinity'::date)",
    ];
    const status = "COALESCE(status_group, 'unknown'::text)";
    const unpaid = `((${status} <> 'rejected'::text) AND ((${status} <> 'approved'::text) OR (NOT COALESCE(approved_for_payment, false))))`;
    expect(await warehouse.ask(indexes)).toEqual([
      "dim_product: btree (bol_product_id, account, valid_from, ean) WHERE ((outcome = 'found'::text) AND (bol_product_id IS NOT NULL))",
      'dim_product: btree (ean, country_code, language, account)',
      'dim_product: btree (observed_on)',
      "dim_product_history: btree (bol_product_id, account, valid_from, ean) WHERE ((outcome = 'found'::text) AND (bol_product_id IS NOT NULL))",
      'dim_product_history: btree (ean, country_code, language, account, valid_from)',
      'dim_product_history: btree (ended_on)',
      'fact_commission_day: btree (account, sub_id, order_date)',
      'fact_commission_day: btree (order_date)',
      "fact_commission_rate: btree (ean, condition, COALESCE(asked_price, 'NaN'::numeric), account)",
      'fact_commission_rate: btree (observed_on)',
      "fact_commission_rate_history: btree (ean, condition, COALESCE(asked_price, 'NaN'::numeric), account, valid_from)",
      'fact_commission_rate_history: btree (ended_on)',
      `fact_commission_reduction: btree (ean, condition, COALESCE(asked_price, 'NaN'::numeric), "position", account)`,
      'fact_commission_reduction: btree (observed_on)',
      `fact_commission_reduction_history: btree (ean, condition, COALESCE(asked_price, 'NaN'::numeric), "position", account, valid_from)`,
      'fact_commission_reduction_history: btree (ended_on)',
      'fact_order_item: btree (account, sub_id, order_date)',
      `fact_order_item: btree (order_date) WHERE ${unpaid}`,
      "fact_order_item: btree (order_date, COALESCE(sub_id, ''::text), COALESCE(name, ''::text))",
      'fact_order_item: btree (order_date, product_id)',
      'fact_order_item: btree (order_id, order_item_id, account)',
      'fact_order_item_history: btree (ended_on)',
      "fact_order_item_history: btree (order_date, COALESCE(sub_id, ''::text), COALESCE(name, ''::text))",
      'fact_order_item_history: btree (order_date, order_id COLLATE "C", order_item_id COLLATE "C", account, valid_from)',
      'fact_order_item_history: btree (order_id, order_item_id, account, valid_from)',
      'fact_promotion_day: btree (account, sub_id, promotion_date)',
      'fact_promotion_day: btree (promotion_date)',
      'fact_push_message: btree (received_on)',
      'fact_push_message: btree (resource_id)',
      'fact_push_message: btree (retailer_id, resource, type, resource_id, "timestamp", account)',
      `fact_reduction: btree (${line.join(', ')}, account)`,
      'fact_reduction: btree (observed_on)',
      `fact_reduction_history: btree (${line.join(', ')}, account, valid_from)`,
      'fact_reduction_history: btree (ended_on)',
      'process_status: btree (observed_on)',
      'process_status: btree (process_status_id, account)',
      'process_status_history: btree (ended_on)',
      'process_status_history: btree (process_status_id, account, valid_from)',
      'push_delivery: btree (delivery_id, account)',
      'push_delivery: btree (received_on)',
      'push_link: btree (href, account)',
      'push_link: btree (observed_on)',
      'push_link_history: btree (ended_on)',
      'push_link_history: btree (href, account, valid_from)',
      'receipt: btree (pipeline, slice_day, account) WHERE (superseded_at IS NULL)',
      'reductions_file: btree (observed_on)',
      'subscription: btree (id, account)',
      'subscription: btree (observed_on)',
      'subscription_history: btree (ended_on)',
      'subscription_history: btree (id, account, valid_from)',
    ]);
  });

  test('a write of somebody else in the facts does not get lost unseen: the sums tell', async () => {
    await warehouse.execute('UPDATE warehouse.fact_order_item SET price_incl_vat = price_incl_vat + 0.000001');
    const [slice] = await slices(1);
    expect((await target.sums(orders)).get(FIRST)?.sums.price_incl_vat).not.toBe(slice!.content.sums.price_incl_vat);
  });
});

/** A port on which nobody listens. */
function closedPort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
