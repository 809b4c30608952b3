import { describe, expect, test } from 'vitest';
import { processStatuses } from '../../../pipelines/process-statuses.ts';
import { pushDeliveries, pushMessages } from '../../../pipelines/push-messages.ts';
import { subscriptions } from '../../../pipelines/subscriptions.ts';
import type { Day } from '../../../src/core/days.ts';
import type { LoadSlice } from '../../../src/warehouse/target.ts';
import { day, publicationOf, type RowText } from '../../support/slices.ts';
import { type NewWarehouse, rowsOf, useBench } from '../bench.ts';

const FIRST = day('2026-05-01');
const SECOND = day('2026-05-02');
const at = (on: Day, time = '06:00:00') => `${on} ${time}+00`;

const listed = (on: Day, id: string, resources: string | null, isPresent = 'true'): RowText => ({
  id,
  url: isPresent === 'true' ? `https://shop.example/${id}` : null,
  resources,
  is_present: isPresent,
  observed_from: at(on),
});

const told = (on: Day, time: string, id: string, status: string | null, more: RowText = {}): RowText => ({
  process_status_id: id,
  observed_from: at(on, time),
  outcome: 'found',
  status,
  event_type: 'CREATE_SUBSCRIPTION',
  asked_by: 'status',
  ...more,
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
  const ofMessages = (on: Day, ...rows: RowText[]) => bench.maker.make(pushMessages, on, rows);
  const ofDeliveries = (on: Day, ...rows: RowText[]) => bench.maker.make(pushDeliveries, on, rows);

  describe('what is pushed', () => {
    test('subscriptions are one row each, with what was listed last', async () => {
      await publish(
        await ofSubscriptions(FIRST, listed(FIRST, 'a', '["SHIPMENT"]'), listed(FIRST, 'b', '["PROCESS_STATUS"]')),
        await ofSubscriptions(
          SECOND,
          listed(SECOND, 'a', '["PROCESS_STATUS","SHIPMENT"]'),
          listed(SECOND, 'b', null, 'false'),
        ),
      );
      const found = await rowsOf(
        bench.target,
        `SELECT id, url, replace(resources::VARCHAR, ' ', ''), is_active, first_seen < changed_at FROM warehouse.subscription ORDER BY id`,
      );
      expect(found).toEqual([
        ['a', 'https://shop.example/a', '["PROCESS_STATUS","SHIPMENT"]', true, true],
        ['b', 'https://shop.example/b', '["PROCESS_STATUS"]', false, true],
      ]);
    });

    test('process statuses are one row each, with what was told last, also of a forgotten one', async () => {
      await publish(
        await ofProcesses(
          FIRST,
          told(FIRST, '06:00:00', 'a', 'PENDING', { asked_by: 'start' }),
          told(FIRST, '06:00:05', 'a', 'SUCCESS', { entity_id: '5001' }),
          told(FIRST, '06:00:00', 'b', 'PENDING'),
        ),
        await ofProcesses(SECOND, told(SECOND, '07:00:00', 'b', null, { outcome: 'not_found', event_type: null })),
      );
      const found = await rowsOf(
        bench.target,
        `SELECT process_status_id, event_type, status, entity_id, started_here, end_seen IS NULL, end_seen_on, is_forgotten
         FROM warehouse.process_status ORDER BY 1`,
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
      const ended = (id: string, more: RowText = {}, on = SECOND, time = '08:00:00') => [
        told(on, '07:00:00', id, 'PENDING', { asked_by: 'start', ...more }),
        told(on, time, id, 'SUCCESS', more),
      ];
      await publish(
        await ofSubscriptions(FIRST, listed(FIRST, 's', '["PROCESS_STATUS"]')),
        await ofProcesses(FIRST, ...ended('before the subscription', {}, FIRST, '05:00:00')),
        await ofProcesses(
          SECOND,
          ...ended('never came'),
          ...ended('came'),
          ...ended('not ours', { asked_by: 'message' }),
          told(SECOND, '07:00:00', 'not ended', 'PENDING', { asked_by: 'start' }),
        ),
        await ofMessages(SECOND, message(SECOND, 'came', '08:00:00', '08:00:01')),
        await ofDeliveries(SECOND, delivery(SECOND, 'came', 's0', '08:00:01')),
      );
      expect(await rowsOf(bench.target, PUSHES)).toEqual([[SECOND, '1', '1', '0', '0', '0', '1']]);
    });

    test('of an end that was seen just now nothing is missing yet', async () => {
      const far = day('2199-05-01');
      await publish(
        await ofSubscriptions(FIRST, listed(FIRST, 's', '["PROCESS_STATUS"]')),
        await ofProcesses(
          far,
          told(far, '06:00:00', 'a', 'PENDING', { asked_by: 'start' }),
          told(far, '06:00:05', 'a', 'SUCCESS'),
        ),
      );
      expect(await rowsOf(bench.target, PUSHES)).toEqual([]);
    });
  });
}
