import { describe, expect, test } from 'vitest';
import { commissionReductions } from '../../../pipelines/commission-rates.ts';
import { commissions } from '../../../pipelines/commissions.ts';
import { pipelines } from '../../../pipelines/index.ts';
import { orders } from '../../../pipelines/orders.ts';
import { promotions } from '../../../pipelines/promotions.ts';
import { pushDeliveries, pushMessages } from '../../../pipelines/push-messages.ts';
import { reductions } from '../../../pipelines/reductions.ts';
import type { Day } from '../../../src/core/days.ts';
import type { Pipeline } from '../../../src/core/pipeline.ts';
import { readChecks } from '../../../src/warehouse/checks/checks.ts';
import { orderHistory } from '../../support/history-tables.ts';
import { day, publicationOf, type RowText } from '../../support/slices.ts';
import { type NewWarehouse, useBench } from '../bench.ts';

const FIRST = day('2026-05-01');
const SECOND = day('2026-05-02');
const THIRD = day('2026-05-03');
const FOURTH = day('2026-05-04');
const FIFTH = day('2026-05-05');
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

/** An item as it was from one day to the next, at three o'clock. */
const was = (id: string, from: Day, to: Day, more: RowText = {}): RowText =>
  item(id, { order_date: FIRST, valid_from: at(from), valid_to: at(to), ended_by: 'changed', ended_on: to, ...more });
const at = (on: Day): string => `${on} 03:00:00+00`;

const message = (id: string, deliveries: string): RowText => ({
  retailer_id: '1',
  timestamp: `${FIRST} 06:00:00+00`,
  resource: 'SHIPMENT',
  type: 'UPDATE',
  resource_id: id,
  first_delivered_at: `${FIRST} 06:00:00+00`,
  deliveries,
});

const delivery = (id: string, number: string): RowText => ({
  ...message(id, '1'),
  delivery_id: `d${number}`,
  received_at: `${FIRST} 06:00:00+00`,
});

export function shippedChecks(newWarehouse: NewWarehouse): void {
  const bench = useBench(newWarehouse);
  const shipped = () => readChecks(bench.warehouse.engine, '/nowhere', pipelines);

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

    test('an item that changed, went, came back on another day and moved has a history without a flaw', async () => {
      const { target, maker } = bench;
      const slices = [
        maker.make(orders, FIRST, [item('b', { valid_from: at(SECOND) })]),
        maker.make(orderHistory, SECOND, [was('a', FIRST, SECOND), was('b', FIRST, SECOND)]),
        maker.make(orderHistory, THIRD, [was('a', SECOND, THIRD, { ended_by: 'gone' })]),
        maker.make(orderHistory, FIFTH, [was('a', FOURTH, FIFTH, { order_date: THIRD, ended_by: 'moved' })]),
        maker.make(orders, SECOND, [item('a', { valid_from: at(FIFTH) })]),
      ];
      const publication = publicationOf('r1', await Promise.all(slices), { checks: await shipped() });
      expect(await target.publish(publication)).toMatchObject({ slices: 5, warnings: [] });
    });

    test.each<[string, readonly RowText[], RowText | null]>([
      ['that ended before it began', [was('a', FOURTH, THIRD)], null],
      ['that overlaps another one', [was('a', SECOND, FOURTH), was('a', FIRST, THIRD)], null],
      ['that holds another one', [was('a', FIRST, FOURTH), was('a', SECOND, THIRD)], null],
      [
        'whose item is as it is now since before it ended',
        [was('a', FIRST, THIRD)],
        item('a', { valid_from: at(SECOND) }),
      ],
      [
        'whose item is as it is now since before it began',
        [was('a', SECOND, THIRD)],
        item('a', { valid_from: at(FIRST) }),
      ],
    ])('a row of the history %s blocks', async (_, rows, now) => {
      const { target, maker } = bench;
      const checks = await shipped();
      const sound = [was('b', FIRST, THIRD), was('c', FIRST, THIRD)];
      const days = [THIRD, FOURTH].map((on) =>
        maker.make(
          orderHistory,
          on,
          [...sound, ...rows].filter((row) => row.ended_on === on),
        ),
      );
      const slices = [...days, maker.make(orders, FIRST, now ? [now] : [])];
      const broken = [{ check: 'order_items_history', pipeline: 'orders-history', rows: 1 }];
      const publishing = target.publish(publicationOf('r1', await Promise.all(slices), { checks }));
      await expect(publishing).rejects.toMatchObject({ code: 'check', broken });
    });

    test('the history is looked at for items that ended on the days in hand', async () => {
      const { target, maker } = bench;
      const bad = await maker.make(orderHistory, SECOND, [was('a', THIRD, SECOND)]);
      const released = new Set([bad.content.digest]);
      const checks = await shipped();
      const { warnings } = await target.publish(publicationOf('r1', [bad], { checks, released }));
      expect(warnings).toMatchObject([{ check: 'order_items_history', day: SECOND, rows: 1 }]);
      const next = await maker.make(orderHistory, THIRD, [was('b', FIRST, THIRD)]);
      expect(await target.publish(publicationOf('r2', [next], { checks }))).toMatchObject({ slices: 1, warnings: [] });
      expect(await target.broken(checks)).toMatchObject([{ check: 'order_items_history', day: SECOND, rows: 1 }]);
    });

    test.each<[string, Pipeline, RowText]>([
      ['commission_reductions_rate', commissionReductions, { ean: '1', condition: 'NEW', position: '1' }],
      ['reductions_file', reductions, { ean: '1' }],
      ['push_deliveries_message', pushDeliveries, delivery('a', '1')],
    ])('%s tells a part without its whole', async (name, pipeline, row) => {
      const { target, maker } = bench;
      const seen = { observed_on: FIRST, valid_from: `${FIRST} 03:00:00+00` };
      const orphan = await maker.make(pipeline, FIRST, [{ ...seen, ...row }]);
      const checks = await shipped();
      const refused = target.publish(publicationOf('r1', [orphan], { checks }));
      await expect(refused).rejects.toMatchObject({ code: 'check', broken: [{ check: name, day: FIRST, rows: 1 }] });
    });
  });
}
