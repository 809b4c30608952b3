import { expect, test } from 'vitest';
import { DAY_MS, media, NOON, openSandbox, retailer } from './client.ts';
import { HOOK, MINUTE_MS, openShop, subscribe } from './push-receiver.ts';

test('a shipment sends a message to those who subscribed to SHIPMENT, with what happened and where to look', async () => {
  const { client, sandbox, hook } = await openShop();
  await subscribe(client, ['PROCESS_STATUS'], 'https://shop.example/processes');
  await subscribe(client, ['PROCESS_STATUS', 'SHIPMENT'], 'https://shop.example/both');
  sandbox.change({ kind: 'shipment', shipmentId: 'A-1' });
  await sandbox.deliverDue();
  const truth = sandbox.pushTruth().filter(({ resource }) => resource === 'SHIPMENT');
  expect(truth.map(({ subscriptionId, url }) => [subscriptionId, url])).toEqual([
    ['5001', HOOK],
    ['5003', 'https://shop.example/both'],
  ]);
  const href = `${sandbox.baseUrl}/retailer/shipments/A-1`;
  expect(JSON.parse(hook.received[0]!.body)).toEqual({
    retailerId: 1234567,
    timestamp: '2026-06-10T12:00:00.000+02:00',
    event: {
      resource: 'SHIPMENT',
      type: 'UPDATE_TRANSPORT_EVENT',
      resourceId: 'A-1',
      metadata: [
        { key: 'eventCode', value: 'PRE_ANNOUNCED' },
        { key: 'transporterCode', value: 'TNT' },
      ],
      links: [{ method: 'GET', href }],
    },
  });
  const { messageId, subscriptionId, url, state, attempts, accepted, firstAcceptedMs, lastAcceptedMs, ...said } =
    truth[0]!;
  const { event, ...head } = JSON.parse(hook.received[0]!.body);
  expect(said).toEqual({ ...head, ...event, retailerId: '1234567' });
  expect([messageId, state, attempts, accepted, firstAcceptedMs, lastAcceptedMs]).toEqual([
    truth[0]!.messageId,
    'delivered',
    1,
    1,
    NOON,
    NOON,
  ]);
});

test('its address tells how far it has come, and moves on with each change', async () => {
  const { client, sandbox, pass } = await openShop();
  const said = async () => {
    const { status, text } = await retailer(client, '/retailer/shipments/77');
    return status === 200 ? JSON.parse(text) : status;
  };
  expect(await said()).toBe(404);
  sandbox.change({ kind: 'shipment', shipmentId: '77' });
  pass(MINUTE_MS);
  sandbox.change({ kind: 'shipment', shipmentId: '77' });
  expect(await said()).toEqual({
    shipmentId: '77',
    transport: {
      transporterCode: 'TNT',
      status: 'AT_TRANSPORTER',
      events: [
        { eventCode: 'PRE_ANNOUNCED', eventDateTime: '2026-06-10T12:00:00.000+02:00' },
        { eventCode: 'AT_TRANSPORTER', eventDateTime: '2026-06-10T12:01:00.000+02:00' },
      ],
    },
  });
  pass(DAY_MS);
  sandbox.change({ kind: 'shipment', shipmentId: '77', count: 3 });
  expect((await said()).transport).toMatchObject({ status: 'DELIVERED_AT_CUSTOMER', events: { length: 5 } });
});

test('its events are due at once, also many of one moment, and no two of their messages are alike', async () => {
  const { sandbox } = await openShop();
  sandbox.change({ kind: 'shipment', shipmentId: '77', count: 5 });
  sandbox.change({ kind: 'shipment', shipmentId: '77' });
  sandbox.change({ kind: 'shipment', count: 3 });
  expect(await sandbox.deliverDue()).toHaveLength(9);
  const names = sandbox.pushTruth().map(({ resourceId, timestamp }) => `${resourceId} ${timestamp.slice(17, 23)}`);
  expect(names).toEqual([
    ...['00.000', '00.001', '00.002', '00.003', '00.004', '00.005'].map((time) => `77 ${time}`),
    '700000001 00.000',
    '700000002 00.000',
    '700000003 00.000',
  ]);
});

test('is asked for with a token, the right media type, and within a budget', async () => {
  const client = await openSandbox({ limits: { calls: { shipments: { calls: 2, seconds: 1 } } } });
  client.sandbox.change({ kind: 'shipment', shipmentId: '77' });
  const path = '/retailer/shipments/77';
  const statuses = [];
  for (const headers of [{ authorization: 'Bearer no' }, { accept: 'text/csv' }, {}, {}])
    statuses.push((await client.call(path, { headers: { accept: media(10), ...headers } })).status);
  expect(statuses).toEqual([401, 406, 200, 429]);
  expect(client.sandbox.stats.calls).toMatchObject({ shipment: 4 });
  expect(client.sandbox.pushes()).toEqual([]);
});

test('its call meets the faults that are aimed at it', async () => {
  const client = await openSandbox();
  client.sandbox.addFault({ endpoint: 'shipment', kind: 'status', status: 503 });
  expect((await retailer(client, '/retailer/shipments/77')).status).toBe(503);
});
