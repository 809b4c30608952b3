import { createPublicKey, verify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { type Client, DAY_MS, NOON, openSandbox, type Reply, retailer } from './client.ts';

describe('subscriptions', () => {
  const PATH = '/retailer/subscriptions';
  const WISH = { resources: ['PROCESS_STATUS'], url: 'https://example.org/hook' };

  const write = (client: Client, method: string, path: string, value: unknown, version = 10) =>
    retailer(client, path, { method, body: JSON.stringify(value) }, version);
  const read = async (client: Client, path: string, version = 10) =>
    JSON.parse((await retailer(client, path, {}, version)).text);

  async function opened(options: Partial<SandboxOptions> = {}) {
    const client = await openSandbox({ processSeconds: 5, ...options });
    let now = NOON;
    const pass = (ms: number) => {
      now += ms;
      client.sandbox.setNow(now);
    };
    /** Sends a change, lets it end, and returns its process status. */
    const done = async (reply: Promise<Reply>) => {
      const { processStatusId } = JSON.parse((await reply).text);
      pass(5000);
      return read(client, `/shared/process-status/${processStatusId}`);
    };
    return { client, pass, done };
  }

  test('are created by a process that is pending first and names the subscription when it ends', async () => {
    const { client, pass } = await opened();
    const reply = await write(client, 'POST', PATH, WISH);
    expect(reply.status).toBe(202);
    const started = JSON.parse(reply.text);
    expect(started).toEqual({
      processStatusId: '1000001',
      eventType: 'CREATE_SUBSCRIPTION',
      description: expect.any(String),
      status: 'PENDING',
      createTimestamp: '2026-06-10T12:00:00.000+02:00',
      links: [{ rel: 'self', href: `${client.sandbox.baseUrl}/shared/process-status/1000001`, method: 'GET' }],
    });
    pass(4999);
    expect(await read(client, PATH)).toEqual({ subscriptions: [] });
    expect(await read(client, '/shared/process-status/1000001')).toEqual(started);
    pass(1);
    const ended = await read(client, '/shared/process-status/1000001');
    expect(ended).toMatchObject({ status: 'SUCCESS', entityId: '5001' });
    expect(ended).not.toHaveProperty('links');
    expect(await read(client, `${PATH}/5001`)).toEqual({ id: '5001', ...WISH });
    expect(await read(client, PATH)).toEqual({ subscriptions: [{ id: '5001', ...WISH }] });
  });

  test('have ids as numbers up to version 4', async () => {
    const { client, pass } = await opened();
    const started = JSON.parse((await write(client, 'POST', PATH, WISH, 4)).text);
    expect(started.id).toBe(1_000_001);
    expect(started).not.toHaveProperty('processStatusId');
    pass(5000);
    expect(await read(client, `/retailer/process-status/${started.id}`, 4)).toMatchObject({ entityId: '5001' });
    expect(await read(client, `${PATH}/5001`, 4)).toMatchObject({ id: 5001 });
  });

  test('are replaced whole by an update, and removed', async () => {
    const { client, done } = await opened();
    await done(write(client, 'POST', PATH, WISH));
    const update = { id: '5001', resources: ['SHIPMENT', 'PROCESS_STATUS'], url: 'https://example.org/other' };
    expect(await done(write(client, 'PUT', `${PATH}/5001`, update))).toMatchObject({
      eventType: 'UPDATE_SUBSCRIPTION',
      status: 'SUCCESS',
      entityId: '5001',
    });
    expect(await read(client, `${PATH}/5001`)).toEqual(update);
    const removed = await done(retailer(client, `${PATH}/5001`, { method: 'DELETE' }));
    expect(removed).toMatchObject({ eventType: 'DELETE_SUBSCRIPTION', status: 'SUCCESS' });
    expect((await retailer(client, `${PATH}/5001`)).status).toBe(404);
  });

  test('cannot share a url: the second creation fails', async () => {
    const { client, done } = await opened();
    expect(await done(write(client, 'POST', PATH, WISH))).toMatchObject({ status: 'SUCCESS' });
    const second = await done(write(client, 'POST', PATH, WISH));
    expect(second).toMatchObject({ status: 'FAILURE', errorMessage: expect.stringContaining(WISH.url) });
    expect(second).not.toHaveProperty('entityId');
    expect((await read(client, PATH)).subscriptions).toHaveLength(1);
  });

  test.each([
    ['a url without https', { ...WISH, url: 'http://example.org' }, 'url'],
    ['what is no url', { ...WISH, url: 'https://' }, 'url'],
    ['no resource', { ...WISH, resources: [] }, 'resources'],
    ['an unknown resource', { ...WISH, resources: ['ORDERS'] }, 'resources'],
  ])('are refused for %s', async (_, wish, name) => {
    const { client } = await opened();
    const reply = await write(client, 'POST', PATH, wish);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text).violations).toMatchObject([{ name }]);
  });

  test('are refused an update that does not name them, and one of what is not there', async () => {
    const { client, done } = await opened();
    await done(write(client, 'POST', PATH, WISH));
    const reply = await write(client, 'PUT', `${PATH}/5001`, WISH);
    expect(JSON.parse(reply.text).violations).toMatchObject([{ name: 'id' }]);
    expect((await write(client, 'PUT', `${PATH}/5001`, { id: 5001, ...WISH })).status).toBe(202);
    expect((await write(client, 'PUT', `${PATH}/9`, { id: 9, ...WISH })).status).toBe(404);
  });

  test('have processes that are found by what they are about, and forgotten after 48 hours', async () => {
    const { client, done, pass } = await opened();
    await done(write(client, 'POST', PATH, WISH));
    const list = '/shared/process-status?entity-id=5001&event-type=CREATE_SUBSCRIPTION';
    expect((await read(client, list)).processStatuses).toMatchObject([{ processStatusId: '1000001' }]);
    expect((await read(client, `${list}&page=2`)).processStatuses).toEqual([]);
    pass(1000);
    expect((await retailer(client, '/shared/process-status')).status).toBe(400);
    pass(2 * DAY_MS);
    expect((await retailer(client, '/shared/process-status/1000001')).status).toBe(404);
  });

  test('can be told to fail or to time out', async () => {
    const { client, done } = await opened();
    client.sandbox.change({ kind: 'next-process', status: 'TIMEOUT' });
    client.sandbox.change({ kind: 'next-process', status: 'FAILURE', errorMessage: 'no luck' });
    expect(await done(write(client, 'POST', PATH, WISH))).toMatchObject({ status: 'TIMEOUT' });
    const failed = await done(write(client, 'POST', PATH, WISH));
    expect(failed).toMatchObject({ status: 'FAILURE', errorMessage: 'no luck' });
    expect(await done(write(client, 'POST', PATH, WISH))).toMatchObject({ status: 'SUCCESS' });
  });

  test('push a signed message when a process ends and when they are tested', async () => {
    const { client, done, pass } = await opened();
    await done(write(client, 'POST', PATH, WISH));
    expect(client.sandbox.pushes()).toHaveLength(1);
    const tested = await retailer(client, `${PATH}/test/5001`, { method: 'POST' });
    expect(JSON.parse(tested.text)).toMatchObject({ eventType: 'SEND_SUBSCRIPTION_TST_MSG', entityId: '5001' });
    pass(5000);
    const [created, test] = client.sandbox.pushes();
    expect(JSON.parse(created!.body)).toMatchObject({
      retailerId: 1234567,
      timestamp: '2026-06-10T12:00:05.000+02:00',
      event: {
        resource: 'PROCESS_STATUS',
        type: 'SUCCESS',
        resourceId: '1000001',
        metadata: [],
        links: [{ method: 'GET' }],
      },
    });
    expect(Object.keys(JSON.parse(test!.body).event)).toEqual(['resource', 'type', 'resourceId']);
    expect(test).toMatchObject({ subscriptionId: '5001', url: WISH.url });
    const { signatureKeys } = await read(client, `${PATH}/signature-keys`);
    expect(signatureKeys).toMatchObject([{ id: '0', type: 'RSA' }]);
    const [, signature = ''] = /^keyId=0, algorithm="rsa-sha256", signature=(.+)$/.exec(test!.headers.signature!) ?? [];
    const key = createPublicKey({
      key: Buffer.from(signatureKeys[0].publicKey, 'base64'),
      type: 'spki',
      format: 'der',
    });
    expect(verify('RSA-SHA256', Buffer.from(test!.body), key, Buffer.from(signature, 'base64'))).toBe(true);
  });

  test('are tested all at once where no id is named, and not at all where there are none', async () => {
    const { client, done } = await opened();
    expect((await retailer(client, `${PATH}/test`, { method: 'POST' }, 4)).status).toBe(404);
    await done(write(client, 'POST', PATH, WISH));
    expect((await retailer(client, `${PATH}/test`, { method: 'POST' }, 5)).status).toBe(202);
    expect((await retailer(client, `${PATH}/test/77`, { method: 'POST' })).status).toBe(404);
  });
});
