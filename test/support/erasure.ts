/** An installation that holds a sub-ID and an order in every place where they can come to stand. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { addDays, type Day } from '../../src/core/days.ts';
import { openWorld, type World } from './nights.ts';
import { deliver, get, shipmentMessage } from './states.ts';

export interface ErasureScene {
  readonly world: World;
  /** Of the order, and held. */
  readonly day: Day;
  readonly subId: string;
  readonly order: string;
  readonly items: readonly string[];
}

const OFTEN = 1000;

/** Two nights, and a run between them by which an item of the order changed; what the service does to its answers it does on later nights too. */
export async function openErasureScene(postgresUrl?: string): Promise<ErasureScene> {
  const on = { enabled: true };
  const world = await openWorld({
    ordersPerDay: 8,
    lookbackDays: 3,
    windowDays: 2,
    gzip: true,
    settings: { guards: { shrink: { minRows: 1 } }, pipelines: { 'push-messages': on, 'push-links': on } },
    ...(postgresUrl === undefined ? {} : { postgresUrl }),
  });
  const day = addDays(world.today(), -3);
  const told = [...world.sandbox.truth('orders', day, day)];
  const [subId, order] = [String(told[0]?.subId), String(told[0]?.orderId)];
  const items = told.filter(({ orderId }) => orderId === order).map(({ orderItemId }) => String(orderItemId));
  const note = JSON.stringify(`${order} of ${subId}!`).replace(order[0]!, `\\u00${order.charCodeAt(0).toString(16)}`);
  const faults = { endpoint: 'orders', times: OFTEN } as const;
  world.sandbox.addFault({ ...faults, kind: 'conflicting-duplicate', item: 0 });
  world.sandbox.addFault({ ...faults, kind: 'unknown-field', item: 1, field: 'note', json: note });
  world.sandbox.change({ kind: 'shipment', shipmentId: order, count: 1 });
  const shipment = `${world.sandbox.baseUrl}/retailer/shipments/${order}`;
  await deliver(world, shipmentMessage(order, [get(shipment)]));
  await world.night();
  const [item = ''] = items;
  world.sandbox.change({ kind: 'restate-item', orderId: order, orderItemId: item, values: { productTitle: 'Y' } });
  world.clock.set(world.clock.now() + 1_800_000);
  await world.night({ names: ['orders'] });
  world.sandbox.change({ kind: 'shrink-day', report: 'orders', day, items: 2 });
  world.clock.set(world.clock.now() + 3_600_000);
  await deliver(world, shipmentMessage(order, [get(shipment)], '2026-03-20T03:30:00+01:00'));
  await world.night();
  await deliver(world, shipmentMessage(order, [get(shipment)], '2026-03-20T03:40:00+01:00'));
  await setAside(world, order);
  world.clock.set(world.clock.now() + 60_000);
  return { world, day, subId, order, items };
}

/** What nobody takes in: bodies that were refused. */
async function setAside({ home }: World, order: string): Promise<void> {
  const body = JSON.stringify({ event: { resourceId: order } });
  const message = { reason: 'wrong_signature', detail: null, headers: [['x-order', order]], bodyBytes: body.length };
  const files: readonly (readonly [string, string | Buffer])[] = [
    ['inbox/refused/f00000000000000000.wrong_signature.json', JSON.stringify({ ...message, bodyBase64: btoa(body) })],
    ['raw/orders/refused/f00000000000000000.json.gz', gzipSync(`{"items":"${order}"}`)],
    ['raw/orders/refused/f00000000000000001.json.gz', gzipSync(`{"items":"${order}"}`).subarray(0, -9)],
    ['warehouse.duckdb.damaged', order],
  ];
  for (const [name, content] of files) {
    await mkdir(path.dirname(path.join(home, name)), { recursive: true });
    await writeFile(path.join(home, name), content);
  }
}
