import { createPublicKey, verify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { SandboxOptions } from '../../../src/sandbox/sandbox.ts';
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

  test('cannot share a url, however it is written, when two creations are under way at once', async () => {
    const { client, pass } = await opened();
    const started = [];
    for (const url of ['https://example.org/hook', 'https://EXAMPLE.org:443/hook'])
      started.push(JSON.parse((await write(client, 'POST', PATH, { ...WISH, url })).text));
    pass(5000);
    const ends = [];
    for (const { processStatusId } of started)
      ends.push(await read(client, `/shared/process-status/${processStatusId}`));
    expect(ends).toMatchObject([{ status: 'SUCCESS', entityId: '5001' }, { status: 'FAILURE' }]);
    expect((await read(client, PATH)).subscriptions).toHaveLength(1);
  });

  test('cannot take the url of another one by an update, and stay as they are; their own url they may keep', async () => {
    const { client, done } = await opened();
    await done(write(client, 'POST', PATH, WISH));
    await done(write(client, 'POST', PATH, { ...WISH, url: 'https://example.org/other' }));
    const update = { ...WISH, id: '5002', resources: ['SHIPMENT'] };
    expect(await done(write(client, 'PUT', `${PATH}/5002`, update))).toMatchObject({
      status: 'FAILURE',
      errorMessage: expect.stringContaining(WISH.url),
    });
    expect(await read(client, `${PATH}/5002`)).toMatchObject({
      url: 'https://example.org/other',
      resources: WISH.resources,
    });
    const own = { ...update, url: 'https://example.org/other' };
    expect(await done(write(client, 'PUT', `${PATH}/5002`, own))).toMatchObject({ status: 'SUCCESS' });
    expect(await read(client, `${PATH}/5002`)).toMatchObject({ resources: ['SHIPMENT'] });
  });

  test('that would share a url are refused at once where the service is set so, and fail when under way together', async () => {
    const { client, done, pass } = await opened({ urlTaken: 'at-once' });
    const first = await write(client, 'POST', PATH, WISH);
    const second = await write(client, 'POST', PATH, WISH);
    pass(5000);
    const ends = [];
    for (const { text } of [first, second])
      ends.push((await read(client, `/shared/process-status/${JSON.parse(text).processStatusId}`)).status);
    expect(ends).toEqual(['SUCCESS', 'FAILURE']);
    await done(write(client, 'POST', PATH, { ...WISH, url: 'https://example.org/other' }));
    const third = await write(client, 'POST', PATH, WISH);
    const update = await write(client, 'PUT', `${PATH}/5002`, { ...WISH, id: 5002 });
    for (const { status, text } of [third, update]) {
      expect(status).toBe(400);
      expect(JSON.parse(text).violations).toEqual([{ name: 'url', reason: expect.stringContaining(WISH.url) }]);
    }
    const own = { ...WISH, id: '5001', resources: ['SHIPMENT'] };
    expect((await write(client, 'PUT', `${PATH}/5001`, own)).status).toBe(202);
  });

  test.each([
    ['a url without https', { ...WISH, url: 'http://example.org' }, 'url'],
    ['an update to a url without https', { ...WISH, id: '5001', url: 'http://example.org' }, 'url'],
    ['what is no url', { ...WISH, url: 'https://' }, 'url'],
    ['no resource', { ...WISH, resources: [] }, 'resources'],
    ['an unknown resource', { ...WISH, resources: ['ORDERS'] }, 'resources'],
  ])('are refused for %s', async (_, wish, name) => {
    const { client, done } = await opened();
    await done(write(client, 'POST', PATH, WISH));
    const reply =
      'id' in wish ? await write(client, 'PUT', `${PATH}/5001`, wish) : await write(client, 'POST', PATH, wish);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text).violations).toMatchObject([{ name }]);
  });

  test.each([5001, '5001'])('take an update that names them as %j', async (id) => {
    const { client, done } = await opened();
    await done(write(client, 'POST', PATH, WISH));
    const update = write(client, 'PUT', `${PATH}/5001`, { ...WISH, id, resources: ['SHIPMENT'] });
    expect(await done(update)).toMatchObject({ status: 'SUCCESS' });
    expect((await read(client, `${PATH}/5001`)).resources).toEqual(['SHIPMENT']);
  });

  test('are refused an update that names another one or nothing', async () => {
    const { client, done } = await opened();
    await done(write(client, 'POST', PATH, WISH));
    for (const id of [5002, '05001', '', null, undefined, true]) {
      const reply = await write(client, 'PUT', `${PATH}/5001`, { ...WISH, id });
      expect(JSON.parse(reply.text).violations).toMatchObject([{ name: 'id' }]);
    }
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

  test('can be made to fail or to time out', async () => {
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

  test('hear of every end of a process from their own creation on, none before it, whenever the clock is looked at', async () => {
    const { client, pass } = await opened();
    const create = (name: string) => write(client, 'POST', PATH, { ...WISH, url: `https://example.org/${name}` });
    await create('a');
    pass(1000);
    client.sandbox.change({ kind: 'next-process', status: 'FAILURE', errorMessage: 'no luck' });
    await create('b');
    pass(1000);
    await create('c');
    pass(DAY_MS);
    expect(
      client.sandbox.pushTruth().map(({ subscriptionId, resourceId, type, timestamp }) => {
        return [subscriptionId, resourceId, type, timestamp.slice(11, 19)];
      }),
    ).toEqual([
      ['5001', '1000001', 'SUCCESS', '12:00:05'],
      ['5001', '1000002', 'FAILURE', '12:00:06'],
      ['5001', '1000003', 'SUCCESS', '12:00:07'],
      ['5002', '1000003', 'SUCCESS', '12:00:07'],
    ]);
  });

  test('are tested all at once where no id is named, and not at all where there are none', async () => {
    const { client, done } = await opened();
    expect((await retailer(client, `${PATH}/test`, { method: 'POST' }, 4)).status).toBe(404);
    await done(write(client, 'POST', PATH, WISH));
    expect((await retailer(client, `${PATH}/test`, { method: 'POST' }, 5)).status).toBe(202);
    expect((await retailer(client, `${PATH}/test/77`, { method: 'POST' })).status).toBe(404);
  });
});
