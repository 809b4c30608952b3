import { describe, expect, test } from 'vitest';
import { processStatuses } from '../../../pipelines/process-statuses.ts';
import { pushDeliveries, pushMessages } from '../../../pipelines/push-messages.ts';
import { subscriptions } from '../../../pipelines/subscriptions.ts';
import type { Day } from '../../../src/core/days.ts';
import type { LoadSlice } from '../../../src/warehouse/target.ts';
import { processStatusHistory, subscriptionHistory } from '../../support/history-tables.ts';
import { day, publicationOf, type RowText } from '../../support/slices.ts';
import { type NewWarehouse, rowsOf, useBench } from '../bench.ts';

const FIRST = day('2026-05-01');
const SECOND = day('2026-05-02');
const at = (on: Day, time = '06:00:00') => `${on} ${time}+00`;

const listed = (on: Day, id: string, resources: string): RowText => ({
  id,
  url: `https://shop.example/${id}`,
  resources,
  valid_from: at(on),
});

const told = (on: Day, time: string, id: string, status: string | null, more: RowText = {}): RowText => ({
  process_status_id: id,
  valid_from: at(on, time),
  outcome: 'found',
  status,
  event_type: 'CREATE_SUBSCRIPTION',
  asked_by: 'status',
  ...more,
});

/** What held until then on its day. */
const until = (on: Day, time: string, row: RowText, why = 'changed'): RowText => ({
  observed_on: on,
  ...row,
  valid_to: at(on, time),
  ended_by: why,
});

/** A message by its own time and that of its first delivery. */
const message = (on: Day, id: string, timestamp: string, delivered: string, more: RowText = {}): RowText => ({
  retailer_id: '1234567',
  timestamp: at(on, timestamp),
  resource: 'PROCESS_STATUS',
  type: 'SUCCESS',
  resource_id: id,
  first_delivered_at: at(on, delivered),
  last_delivered_at: at(on, delivered),
  deliveries: '1',
  bodies: '1',
  delivery_id: 'd1',
  ...more,
});

const delivery = (on: Day, id: string, deliveryId: string, time: string): RowText => ({
  delivery_id: deliveryId,
  received_at: at(on, time),
  retailer_id: '1234567',
  timestamp: at(on),
  resource: 'PROCESS_STATUS',
  type: 'SUCCESS',
  resource_id: id,
});

const PUSHES =
  'SELECT day, messages, deliveries, duplicates, out_of_order, late, missing FROM mart.push_day ORDER BY day';

export function pushTables(newWarehouse: NewWarehouse): void {
  const bench = useBench(newWarehouse);
  const publish = (...slices: LoadSlice[]) => bench.target.publish(publicationOf('r1', slices));
  const ofSubscriptions = (on: Day, ...rows: RowText[]) => bench.maker.make(subscriptions, on, rows);
  const ofProcesses = (on: Day, ...rows: RowText[]) => bench.maker.make(processStatuses, on, rows);
  const ofEnded = (on: Day, ...rows: RowText[]) => bench.maker.make(processStatusHistory, on, rows);
  const ofMessages = (on: Day, ...rows: RowText[]) => bench.maker.make(pushMessages, on, rows);
  const ofDeliveries = (on: Day, ...rows: RowText[]) => bench.maker.make(pushDeliveries, on, rows);

  describe('what is pushed', () => {
    test('subscriptions are those that there are, and what they were is beside them', async () => {
      await publish(
        await ofSubscriptions(FIRST, listed(FIRST, 'a', '["SHIPMENT"]'), listed(FIRST, 'b', '["SHIPMENT"]')),
      );
      const ended = [
        { ...listed(FIRST, 'a', '["SHIPMENT"]'), valid_to: at(SECOND), ended_by: 'changed', observed_on: FIRST },
        { ...listed(FIRST, 'b', '["SHIPMENT"]'), valid_to: at(SECOND), ended_by: 'gone', observed_on: FIRST },
      ];
      await publish(
        await ofSubscriptions(FIRST),
        await ofSubscriptions(SECOND, listed(SECOND, 'a', '["PROCESS_STATUS","SHIPMENT"]')),
        await bench.maker.make(subscriptionHistory, SECOND, ended),
      );
      const found = (table: string) =>
        rowsOf(
          bench.target,
          `SELECT id, url, replace(resources::VARCHAR, ' ', '') FROM warehouse.${table} ORDER BY id, valid_from`,
        );
      const now = ['a', 'https://shop.example/a', '["PROCESS_STATUS","SHIPMENT"]'];
      expect(await found('subscription')).toEqual([now]);
      expect(await found('subscription_version')).toEqual([
        ['a', 'https://shop.example/a', '["SHIPMENT"]'],
        now,
        ['b', 'https://shop.example/b', '["SHIPMENT"]'],
      ]);
    });

    test('process statuses are one row each, with what was told last, also of a forgotten one', async () => {
      await publish(
        await ofProcesses(FIRST, told(FIRST, '06:00:05', 'a', 'SUCCESS', { entity_id: '5001' })),
        await ofEnded(FIRST, until(FIRST, '06:00:05', told(FIRST, '06:00:00', 'a', 'PENDING', { asked_by: 'start' }))),
        await ofProcesses(SECOND, told(SECOND, '07:00:00', 'b', null, { outcome: 'not_found', event_type: null })),
        await ofEnded(SECOND, {
          ...until(SECOND, '07:00:00', told(FIRST, '06:00:00', 'b', 'PENDING')),
          observed_on: FIRST,
        }),
      );
      const found = await rowsOf(
        bench.target,
        `SELECT process_status_id, event_type, status, entity_id, started_here, end_seen IS NULL, end_seen_on, is_forgotten
         FROM mart.process ORDER BY 1`,
      );
      expect(found).toEqual([
        ['a', 'CREATE_SUBSCRIPTION', 'SUCCESS', '5001', true, false, FIRST, false],
        ['b', 'CREATE_SUBSCRIPTION', 'PENDING', null, false, true, null, true],
      ]);
    });

    test('each day tells what was delivered, twice, out of order and late', async () => {
      await publish(
        await ofMessages(
          FIRST,
          message(FIRST, 'a', '06:00:00', '06:00:01'),
          message(FIRST, 'b', '06:00:30', '06:00:31'),
          message(FIRST, 'before b', '06:00:20', '06:00:40', { deliveries: '2' }),
          message(FIRST, 'late', '06:05:00', '06:06:01'),
        ),
        await ofDeliveries(
          FIRST,
          ...['a', 'b', 'before b', 'late'].map((id, i) => delivery(FIRST, id, `s${i}`, '06:00:40')),
        ),
        await ofDeliveries(SECOND, delivery(SECOND, 'before b', 's9', '06:00:00')),
      );
      expect(await rowsOf(bench.target, PUSHES)).toEqual([
        [FIRST, '4', '4', '0', '1', '1', '0'],
        [SECOND, '0', '1', '1', '0', '0', '0'],
      ]);
    });

    test('missing is what we started, has ended, was subscribed to, and never came', async () => {
      const start = (id: string, more: RowText = {}) =>
        until(SECOND, '08:00:00', told(SECOND, '07:00:00', id, 'PENDING', { asked_by: 'start', ...more }));
      const end = (id: string, more: RowText = {}) => told(SECOND, '08:00:00', id, 'SUCCESS', more);
      await publish(
        await ofSubscriptions(FIRST, listed(FIRST, 's', '["PROCESS_STATUS"]')),
        await ofProcesses(FIRST, told(FIRST, '05:00:00', 'before', 'SUCCESS')),
        await ofEnded(
          FIRST,
          until(FIRST, '05:00:00', told(FIRST, '04:00:00', 'before', 'PENDING', { asked_by: 'start' })),
        ),
        await ofProcesses(
          SECOND,
          ...[end('never came'), end('came'), end('not ours', { asked_by: 'message' })],
          told(SECOND, '07:00:00', 'not ended', 'PENDING', { asked_by: 'start' }),
        ),
        await ofEnded(SECOND, start('never came'), start('came'), start('not ours', { asked_by: 'message' })),
        await ofMessages(SECOND, message(SECOND, 'came', '08:00:00', '08:00:01')),
        await ofDeliveries(SECOND, delivery(SECOND, 'came', 's0', '08:00:01')),
      );
      expect(await rowsOf(bench.target, PUSHES)).toEqual([[SECOND, '1', '1', '0', '0', '0', '1']]);
    });

    test('of an end that was seen just now nothing is missing yet', async () => {
      const far = day('2199-05-01');
      await publish(
        await ofSubscriptions(FIRST, listed(FIRST, 's', '["PROCESS_STATUS"]')),
        await ofProcesses(far, told(far, '06:00:05', 'a', 'SUCCESS')),
        await ofEnded(far, until(far, '06:00:05', told(far, '06:00:00', 'a', 'PENDING', { asked_by: 'start' }))),
      );
      expect(await rowsOf(bench.target, PUSHES)).toEqual([]);
    });
  });
}
