import { describe, expect, test } from 'vitest';
import { commissions } from '../../../pipelines/commissions.ts';
import { pipelines } from '../../../pipelines/index.ts';
import { orders } from '../../../pipelines/orders.ts';
import type { Pipeline } from '../../../src/core/pipeline.ts';
import { type Check, parseCheck } from '../../../src/warehouse/checks/checks.ts';
import { day, publicationOf, type RowText } from '../../support/slices.ts';
import { type NewWarehouse, rowsOf, useBench } from '../bench.ts';

const FIRST = day('2026-05-01');
const SECOND = day('2026-05-02');
const THIRD = day('2026-05-03');
const NAMES = pipelines.map(({ name }) => name);
export const item = (id: string, more: RowText = {}): RowText => ({ order_id: id, order_item_id: '1', ...more });

/** A check of the installation. */
export const check = (sql: string, severity = 'block', of = 'orders'): Check =>
  parseCheck(
    'mine',
    '/home/checks/mine.sql',
    `-- severity: ${severity}\n-- about: a is a\n-- pipeline: ${of}\n-- fix: look\n${sql}`,
    NAMES,
  );

export function checking(newWarehouse: NewWarehouse): void {
  const bench = useBench(newWarehouse);
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
      await target.publish(publicationOf('r2', [], { drift: [field], showHolds: true }));
      expect((await found()).map(([, , kind]) => kind).sort()).toEqual(['check:mine', 'unknown_field']);
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
    expect(await target.publish(publicationOf('r2', [], { holds, showHolds: true }))).toMatchObject({ slices: 0 });
    expect(await rowsOf(target, 'SELECT pipeline, slice_day, reason FROM etl.hold')).toEqual([
      ['orders', SECOND, 'check'],
    ]);
    expect((await target.state()).lastRunId).toBe('r2');
  });
}
