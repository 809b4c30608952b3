import { describe, expect, test } from 'vitest';
import { commissionReductions } from '../../../pipelines/commission-rates.ts';
import { commissions } from '../../../pipelines/commissions.ts';
import { pipelines } from '../../../pipelines/index.ts';
import { orderItemVersions, orders } from '../../../pipelines/orders.ts';
import { promotions } from '../../../pipelines/promotions.ts';
import { pushDeliveries, pushMessages } from '../../../pipelines/push-messages.ts';
import { reductions } from '../../../pipelines/reductions.ts';
import { subscriptions } from '../../../pipelines/subscriptions.ts';
import type { Pipeline } from '../../../src/core/pipeline.ts';
import { type Check, parseCheck, readChecks } from '../../../src/warehouse/checks.ts';
import { day, publicationOf, type RowText } from '../../support/slices.ts';
import { type NewWarehouse, rowsOf, useBench } from '../bench.ts';

const FIRST = day('2026-05-01');
const SECOND = day('2026-05-02');
const THIRD = day('2026-05-03');
const NAMES = pipelines.map(({ name }) => name);
const item = (id: string, more: RowText = {}): RowText => ({ order_id: id, order_item_id: '1', ...more });

/** Each fact that a check is about, with a row that is right and one that breaks it. */
const FACTS: readonly (readonly [string, Pipeline, RowText, RowText])[] = [
  [
    'order_items_commission',
    orders,
    item('a', { commission: '20', price_incl_vat: '12.10', quantity: '2' }),
    item('b', { commission: '12.110000', price_incl_vat: '12.10', quantity: '1' }),
  ],
  [
    'order_items_vat',
    orders,
    item('a', { price_excl_vat: '-10', price_incl_vat: '-12.10' }),
    item('b', { price_excl_vat: '12.10', price_incl_vat: '10' }),
  ],
  ['promotions_clicks', promotions, { clicks: '3', impressions: '0' }, { clicks: '3', impressions: '2' }],
  [
    'commissions_parts',
    commissions,
    { commission_original: '3', commission_approved: '1', commission_open: '2' },
    { commission_original: '3', commission_approved: '1', commission_open: '2.000001' },
  ],
];

const version = (id: string, on: string, more: RowText = {}): RowText =>
  item(id, { observed_on: on, observed_from: `${on} 03:00:00+00`, is_present: 'true', ...more });

const message = (id: string, deliveries: string): RowText => ({
  retailer_id: '1',
  timestamp: `${FIRST} 06:00:00+00`,
  resource: 'SHIPMENT',
  type: 'UPDATE',
  resource_id: id,
  first_delivered_at: `${FIRST} 06:00:00+00`,
  deliveries,
});

const delivery = (id: string, position: string): RowText => ({
  ...message(id, '1'),
  segment: `s${position}`,
  position,
  received_at: `${FIRST} 06:00:00+00`,
});

export function checking(newWarehouse: NewWarehouse): void {
  const bench = useBench(newWarehouse);
  const shipped = () => readChecks(bench.warehouse.engine, '/nowhere', NAMES);
  const check = (sql: string, severity = 'block', of = 'orders'): Check =>
    parseCheck(
      'mine',
      '/home/checks/mine.sql',
      `-- severity: ${severity}\n-- about: a is a\n-- pipeline: ${of}\n-- mend: look\n${sql}`,
      NAMES,
    );
  const bad = (severity = 'block') =>
    check(
      `SELECT order_date AS slice_day, order_id FROM warehouse.fact_order_item WHERE product_title = 'bad'`,
      severity,
    );
  const days = () => rowsOf(bench.target, 'SELECT order_date FROM warehouse.fact_order_item ORDER BY 1');
  const slices = () =>
    Promise.all([
      bench.maker.make(orders, FIRST, [item('a')]),
      bench.maker.make(orders, SECOND, [item('b', { product_title: 'bad' }), item('c', { product_title: 'bad' })]),
      bench.maker.make(orders, THIRD, [item('d', { product_title: 'bad' })]),
    ]);

  describe('checks that ship', () => {
    test.each(FACTS)('%s tells a row that breaks it and no other', async (name, pipeline, right, wrong) => {
      const { target, maker } = bench;
      const good = await maker.make(pipeline, FIRST, [right]);
      const other = await maker.make(pipeline, SECOND, [right, wrong].slice(1));
      const { warnings } = await target.publish(publicationOf('r1', [good, other], { checks: await shipped() }));
      const told = { check: name, severity: 'warn', pipeline: pipeline.name, day: SECOND, rows: 1 };
      expect(warnings).toMatchObject([{ ...told, fetch_id: other.content.fetch_id }]);
      expect(await target.broken(await shipped())).toMatchObject([told]);
    });

    test('an order item that is there twice is found', async () => {
      const { target, maker, warehouse } = bench;
      const publication = publicationOf('r1', [await maker.make(orders, FIRST, [item('a'), item('b')])]);
      await target.publish({ ...publication, checks: await shipped() });
      expect(await target.broken(await shipped())).toEqual([]);
      if (warehouse.engine === 'postgres')
        await warehouse.execute('ALTER TABLE warehouse.fact_order_item DROP CONSTRAINT fact_order_item_pkey');
      await warehouse.execute(
        `INSERT INTO warehouse.fact_order_item SELECT * FROM warehouse.fact_order_item WHERE order_id = 'a'`,
      );
      expect(await target.broken(await shipped())).toMatchObject([
        { check: 'order_items_unique', severity: 'block', day: FIRST, rows: 1 },
      ]);
    });

    test('a message that counts other deliveries than there are blocks', async () => {
      const { target, maker } = bench;
      const deliveries = await maker.make(pushDeliveries, FIRST, [delivery('a', '1'), delivery('a', '2')]);
      const wrong = await maker.make(pushMessages, FIRST, [message('a', '3')]);
      const checks = await shipped();
      await expect(target.publish(publicationOf('r1', [wrong, deliveries], { checks }))).rejects.toMatchObject({
        code: 'check',
        broken: [{ check: 'push_messages_deliveries', pipeline: 'push-messages', day: FIRST, rows: 1 }],
      });
      const right = await maker.make(pushMessages, FIRST, [message('a', '2')]);
      expect(await target.publish(publicationOf('r1', [right, deliveries], { checks }))).toMatchObject({ slices: 2 });
    });

    // Rows of the others are made by their day, which is that of the sight.
    const versioned = pipelines.filter((p) => p.versions?.within === null && p.day === 'observed_on');
    test.each(versioned.map((p) => [p.name, p] as const))(
      '%s: two current versions of one thing are found',
      async (_, p) => {
        const { target, maker, warehouse } = bench;
        const checks = (await shipped()).filter(
          ({ name, pipeline }) => pipeline === p.name && name.endsWith('_current'),
        );
        expect(checks).toHaveLength(1);
        const made = await maker.many(p, FIRST, 2, 3);
        await target.publish(publicationOf('r1', made, { checks }));
        expect(await target.broken(checks)).toEqual([]);
        await warehouse.execute(`UPDATE warehouse.${p.table} SET observed_to = NULL`);
        expect(await target.broken(checks)).toMatchObject([
          { severity: 'block', pipeline: p.name, day: SECOND, rows: 3 },
        ]);
      },
    );

    test.each([
      ['two current versions', 'NULL', FIRST],
      ['no current version', 'observed_from', SECOND],
    ])('an order item that has %s is found', async (_, ends, on) => {
      const { target, maker, warehouse } = bench;
      const checks = await shipped();
      const made = [FIRST, SECOND].map((seen) => maker.make(orderItemVersions, seen, [version('a', seen)]));
      const there = maker.make(orders, SECOND, [item('a')]);
      await target.publish(publicationOf('r1', await Promise.all([...made, there]), { checks }));
      expect(await target.broken(checks)).toEqual([]);
      await warehouse.execute(`UPDATE warehouse.order_item_version SET observed_to = ${ends}`);
      const told = { check: 'order_items_versions', severity: 'block', day: on, rows: 1 };
      expect(await target.broken(checks)).toMatchObject([told]);
    });

    test('versions that do not add up to the items of their day block, whichever of the two is new', async () => {
      const { target, maker } = bench;
      const checks = await shipped();
      const price = (price_excl_vat: string) => ({ price_excl_vat, price_incl_vat: price_excl_vat });
      const items = await maker.make(orders, FIRST, [item('a', price('1'))]);
      const agreeing = await maker.make(orderItemVersions, FIRST, [version('a', FIRST, price('1'))]);
      const differing = await maker.make(orderItemVersions, FIRST, [version('a', FIRST, price('2'))]);
      const gone = await maker.make(orders, FIRST, []);
      const unversioned = await maker.make(orders, SECOND, [item('b')]);
      await target.publish(publicationOf('r1', [items, agreeing, unversioned], { checks }));
      const refused = { code: 'check', broken: [{ check: 'order_items_versions', pipeline: 'orders', day: FIRST }] };
      await expect(target.publish(publicationOf('r2', [differing], { checks }))).rejects.toMatchObject(refused);
      await expect(target.publish(publicationOf('r3', [gone], { checks }))).rejects.toMatchObject(refused);
      const released = new Set([differing.content.digest]);
      const { warnings } = await target.publish(publicationOf('r4', [differing], { checks, released }));
      expect(warnings).toMatchObject([{ day: FIRST, fetch_id: differing.content.fetch_id }]);
      expect(await target.broken(checks)).toMatchObject([{ check: 'order_items_versions', day: FIRST, rows: 1 }]);
    });

    test.each<[string, Pipeline, RowText]>([
      ['commission_reductions_rate', commissionReductions, { ean: '1', condition: 'NEW', position: '1' }],
      ['reductions_file', reductions, { ean: '1', is_present: 'true' }],
      ['push_deliveries_message', pushDeliveries, delivery('a', '1')],
    ])('%s tells a part without its whole', async (name, pipeline, row) => {
      const { target, maker } = bench;
      const seen = { observed_on: FIRST, observed_from: `${FIRST} 03:00:00+00` };
      const orphan = await maker.make(pipeline, FIRST, [{ ...seen, ...row }]);
      const checks = await shipped();
      const refused = target.publish(publicationOf('r1', [orphan], { checks }));
      await expect(refused).rejects.toMatchObject({ code: 'check', broken: [{ check: name, day: FIRST, rows: 1 }] });
    });

    test('a subscription that has no current version is found', async () => {
      const { target, maker, warehouse } = bench;
      const made = await maker.many(subscriptions, FIRST, 1, 1);
      await target.publish(publicationOf('r1', made, { checks: await shipped() }));
      await warehouse.execute(`UPDATE warehouse.subscription_version SET observed_to = observed_from`);
      expect(await target.broken(await shipped())).toMatchObject([{ check: 'subscriptions_current', rows: 1 }]);
    });
  });

  describe('a check that blocks', () => {
    test('names every slice that breaks it, and nothing is seen', async () => {
      const { target } = bench;
      const refused = target.publish(publicationOf('r1', await slices(), { checks: [bad()] }));
      await expect(refused).rejects.toMatchObject({
        kind: 'failed',
        code: 'check',
        hint: 'look',
        broken: [
          { check: 'mine', day: SECOND, rows: 2, example: expect.stringMatching(/"order_id": ?"b"/) },
          { check: 'mine', day: THIRD, rows: 1 },
        ],
      });
      expect(await target.receipts()).toEqual(new Map());
    });

    test('lets the other slices pass, and looks only at what is published', async () => {
      const { target } = bench;
      const [first, second, third] = await slices();
      await target.publish(publicationOf('r1', [second!]));
      const { warnings } = await target.publish(publicationOf('r2', [first!], { checks: [bad()] }));
      expect(warnings).toEqual([]);
      await expect(target.publish(publicationOf('r3', [third!], { checks: [bad()] }))).rejects.toMatchObject({
        broken: [{ day: THIRD }],
      });
      expect(await days()).toEqual([[FIRST], [SECOND], [SECOND]]);
      expect(await target.broken([bad()])).toMatchObject([{ day: SECOND, rows: 2 }]);
    });

    test('lets a slice pass that was released, and tells it', async () => {
      const { target } = bench;
      const [, second] = await slices();
      const released = new Set([second!.content.digest]);
      const { warnings } = await target.publish(publicationOf('r1', [second!], { checks: [bad()], released }));
      expect(warnings).toMatchObject([{ severity: 'block', day: SECOND, rows: 2 }]);
    });
  });

  describe('a check that warns', () => {
    test('is drift of the answer that brought the rows, told once however often it is published', async () => {
      const { target } = bench;
      for (const run of ['r1', 'r2'])
        await target.publish(publicationOf(run, await slices(), { checks: [bad('warn')], afresh: run === 'r2' }));
      const drift = await rowsOf(target, `SELECT pipeline, kind, field, count FROM etl.drift`);
      expect(drift).toEqual([['orders', 'check:mine', 'slice_day', '3']]);
      expect(await days()).toHaveLength(4);
    });

    test('is no drift any more when the slice is right', async () => {
      const { target, maker } = bench;
      const checks = [bad('warn')];
      await target.publish(publicationOf('r1', await slices(), { checks }));
      const right = [SECOND, THIRD].map((on) => maker.make(orders, on, [item(`right ${on}`)]));
      await target.publish(publicationOf('r2', await Promise.all(right), { checks }));
      expect(await rowsOf(target, `SELECT kind FROM etl.drift`)).toEqual([]);
    });
  });

  describe('a warning of one check for one fetch', () => {
    const found = () =>
      rowsOf(bench.target, 'SELECT pipeline, fetch_id, kind, field, count FROM etl.drift_by_fetch ORDER BY 1, 2');

    test.each([
      ['both days at once', [[SECOND, THIRD]]],
      ['one day after the other', [[SECOND], [THIRD]]],
      ['the second day, and then both again', [[THIRD], [SECOND], [SECOND, THIRD]]],
    ])('is one row over all days of the fetch that stand: %s', async (_, publications) => {
      const made = await slices();
      for (const [n, on] of publications.entries()) {
        const now = made.filter(({ content }) => on.includes(content.day));
        const digest = (was: string) => (n === 2 ? `${was.slice(0, -1)}-` : was);
        const again = now.map((one) => ({ ...one, content: { ...one.content, digest: digest(one.content.digest) } }));
        await bench.target.publish(publicationOf(`r${n}`, again, { checks: [bad('warn')] }));
      }
      expect(await found()).toEqual([['orders', made[1]!.content.fetch_id, 'check:mine', 'slice_day', '3']]);
    });

    test('lies with the fetch of the report that the check is about, whichever report was loaded last', async () => {
      const { target, maker } = bench;
      const both = check(
        `SELECT slice_day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL`,
        'warn',
        'orders, commissions',
      );
      const publish = async (run: string, pipeline: Pipeline, rows: readonly RowText[]) => {
        const slice = await maker.make(pipeline, FIRST, rows, { fetchId: `f-${pipeline.name}` });
        const { warnings } = await target.publish(publicationOf(run, [slice], { checks: [both] }));
        expect(warnings).toMatchObject([{ pipeline: 'orders', day: FIRST, fetch_id: 'f-orders' }]);
      };
      const once = [['orders', 'f-orders', 'check:mine', 'slice_day', '1']];
      await publish('r1', orders, [item('a')]);
      await publish('r2', commissions, [{ name: 'a' }]);
      expect(await found()).toEqual(once);
      await publish('r3', commissions, []);
      expect(await found()).toEqual(once);
    });

    test('is what this target found: what the run has noted of another target adds nothing to it', async () => {
      const { target, maker } = bench;
      const noted = { fetch_id: 'f-commissions', kind: 'check:mine', field: 'slice_day', count: 1, example: '{}' };
      const drift = ['orders', 'commissions'].map((pipeline) => ({ ...noted, pipeline }));
      const of = 'orders, commissions';
      const both = check(`SELECT order_date AS slice_day FROM warehouse.fact_commission_day`, 'warn', of);
      const made = await maker.make(commissions, FIRST, [{ name: 'a' }], { fetchId: 'f-commissions' });
      await target.publish(publicationOf('r1', [made], { checks: [both], drift }));
      expect(await found()).toEqual([['orders', 'f-commissions', 'check:mine', 'slice_day', '1']]);
      const field = { ...noted, pipeline: 'commissions', kind: 'unknown_field', field: 'x' };
      await target.publish(publicationOf('r2', [], { drift: [field], tellHolds: true }));
      expect((await found()).map(([, , kind]) => kind).sort()).toEqual(['check:mine', 'unknown_field']);
    });
  });

  describe('what is no check', () => {
    const wrong: [string, string][] = [
      ['a column that there is not', 'SELECT order_date AS slice_day, nothing FROM warehouse.fact_order_item'],
      ['no slice_day', 'SELECT order_date FROM warehouse.fact_order_item'],
      ['a slice_day that is no day', 'SELECT order_id AS slice_day FROM warehouse.fact_order_item WHERE order_id > 1'],
      ['no SELECT', 'DELETE FROM warehouse.fact_order_item'],
      ['two statements', `SELECT CURRENT_DATE AS slice_day; DELETE FROM warehouse.fact_order_item`],
      [
        'one that ends the statement around it',
        `SELECT CURRENT_DATE AS slice_day) AS x; DELETE FROM warehouse.fact_order_item; SELECT * FROM (SELECT 1 AS slice_day`,
      ],
      [
        'one that writes in a WITH',
        `WITH gone AS (DELETE FROM warehouse.fact_order_item RETURNING order_date) SELECT order_date AS slice_day FROM gone`,
      ],
      ['what is no SQL', 'SELEC'],
    ];
    test.each(wrong)('%s is refused with its file, and nothing is loaded', async (_, sql) => {
      const { target, maker } = bench;
      await target.publish(publicationOf('r1', [await maker.make(orders, FIRST, [item('before')])]));
      const [, second] = await slices();
      const refused = target.publish(publicationOf('r2', [second!], { checks: [check(sql)] }));
      await expect(refused).rejects.toMatchObject({
        kind: 'usage',
        code: 'check',
        concern: { file: '/home/checks/mine.sql' },
        message: expect.stringContaining('/home/checks/mine.sql is no check: '),
      });
      expect(await days()).toEqual([[FIRST]]);
      await expect(target.broken([check(sql)])).rejects.toMatchObject({ kind: 'usage', code: 'check' });
    });

    test('one whose SQL fails on the rows is refused alike', async () => {
      const { target } = bench;
      const failing = check(
        `SELECT order_date AS slice_day FROM warehouse.fact_order_item WHERE CAST(order_id AS INTEGER) > 1`,
      );
      const refused = target.publish(publicationOf('r1', await slices(), { checks: [failing] }));
      await expect(refused).rejects.toMatchObject({ kind: 'usage', code: 'check' });
      expect(await target.receipts()).toEqual(new Map());
    });
  });

  test('holds are told although no slice is loaded', async () => {
    const { target } = bench;
    const [first, second] = await slices();
    await target.publish(publicationOf('r1', [first!]));
    const { digest, fetch_id } = second!.content;
    const hold = {
      pipeline: 'orders',
      slice_day: SECOND,
      reason: 'check',
      detail: 'd',
      digest,
      rows: 2,
      rows_before: 0,
    };
    const holds = [{ ...hold, fetch_id, held_at: '2026-05-04T00:00:00.000Z' }];
    expect(await target.publish(publicationOf('r2', [], { holds, tellHolds: true }))).toMatchObject({ slices: 0 });
    expect(await rowsOf(target, 'SELECT pipeline, slice_day, reason FROM etl.hold')).toEqual([
      ['orders', SECOND, 'check'],
    ]);
    expect((await target.state()).lastRunId).toBe('r2');
  });
}
