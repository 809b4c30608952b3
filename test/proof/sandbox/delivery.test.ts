import { describe, expect, test } from 'vitest';
import { DAY_MS, NOON, openSandbox, retailer } from './client.ts';
import {
  arrivedIds,
  HOOK,
  isGenuine,
  listedKeys,
  MINUTE_MS,
  openReceiver,
  openShop,
  type Reaction,
  subscribe,
} from './push-receiver.ts';

describe('a push', () => {
  test('is posted with its own signature to where the url is routed, under the host of the url', async () => {
    const { client, sandbox, hook } = await openShop();
    sandbox.change({ kind: 'shipment', shipmentId: 'A1' });
    const results = await sandbox.deliverDue();
    expect(results).toEqual([
      {
        messageId: 1,
        subscriptionId: '5001',
        url: HOOK,
        to: hook.url,
        attempt: 1,
        at: NOON,
        endedAt: NOON,
        status: 204,
        error: null,
      },
    ]);
    const [push] = sandbox.pushes();
    expect(hook.received).toMatchObject([{ method: 'POST', path: '/in', body: push!.body }]);
    expect(hook.received[0]!.headers).toMatchObject({ ...push!.headers, host: 'shop.example' });
    expect(isGenuine(push!, await listedKeys(client))).toBe(true);
    expect(await sandbox.deliverDue()).toEqual([]);
  });

  test.each<[Reaction, number | null, string]>([
    [199, null, 'no answer'],
    [301, 301, 'answered 301'],
    [400, 400, 'answered 400'],
    [503, 503, 'answered 503'],
    ['reset', null, 'socket hang up'],
    ['silence', null, 'no answer within 30 ms'],
  ])('that meets %s has failed', async (reaction, status, error) => {
    const isUnanswered = reaction === 199 || reaction === 'silence';
    const { sandbox, hook } = await openShop(isUnanswered ? { pushTimeoutMs: 30 } : {});
    sandbox.change({ kind: 'shipment' });
    hook.reactions.push(reaction);
    expect(await sandbox.deliverDue()).toMatchObject([{ status, error: expect.stringContaining(error) }]);
    expect(sandbox.pushes()).toMatchObject([{ state: 'waiting' }]);
  });

  test.each<Reaction>([200, 201, 202, 204, 299, 'endless'])('that meets %s is delivered', async (reaction) => {
    const { sandbox, hook } = await openShop();
    sandbox.change({ kind: 'shipment' });
    hook.reactions.push(reaction);
    expect(await sandbox.deliverDue()).toMatchObject([{ error: null }]);
    expect(sandbox.pushes()).toMatchObject([{ state: 'delivered' }]);
  });

  test('is tried again after 1, 2, 4 and 8 minutes by the clock, not a moment before, and then dropped', async () => {
    const { sandbox, hook, pass } = await openShop();
    sandbox.change({ kind: 'shipment' });
    hook.reactions.push(500, 500, 500, 500, 500);
    expect(await sandbox.deliverDue()).toMatchObject([{ attempt: 1 }]);
    for (const [i, minutes] of [1, 2, 4, 8].entries()) {
      expect(sandbox.pushes()).toMatchObject([{ state: 'waiting' }]);
      pass(minutes * MINUTE_MS - 1);
      expect(await sandbox.deliverDue()).toEqual([]);
      pass(1);
      expect(await sandbox.deliverDue()).toMatchObject([{ attempt: i + 2, status: 500 }]);
    }
    pass(DAY_MS);
    expect(await sandbox.deliverDue()).toEqual([]);
    const [push] = sandbox.pushes();
    expect(push!.state).toBe('dropped');
    expect(push!.attempts.map(({ at }) => (at - NOON) / MINUTE_MS)).toEqual([0, 1, 3, 7, 15]);
    expect(sandbox.pushTruth()).toMatchObject([{ state: 'dropped', attempts: 5, accepted: 0, firstAcceptedMs: null }]);
    expect(new Set(hook.received.map(({ headers, body }) => `${headers.signature} ${body}`)).size).toBe(1);
  });

  test.each([1, 2, 3, 4])('is not tried again after retry %i was taken', async (taken) => {
    const { sandbox, hook, pass } = await openShop();
    sandbox.change({ kind: 'shipment' });
    hook.reactions.push(...Array(taken).fill(500));
    for (const minutes of [0, 1, 2, 4, 8, 16]) {
      pass(minutes * MINUTE_MS);
      await sandbox.deliverDue();
    }
    expect(hook.received).toHaveLength(taken + 1);
    expect(sandbox.pushTruth()).toMatchObject([{ state: 'delivered', attempts: taken + 1, accepted: 1 }]);
  });

  test('of a process is made and sent when the clock passes its end, with the time of that end', async () => {
    const { client, sandbox, hook, pass } = await openShop({ processSeconds: 5 });
    pass(5000);
    await retailer(client, '/retailer/subscriptions/test/5001', { method: 'POST' });
    pass(4999);
    expect(await sandbox.deliverDue()).toEqual([]);
    pass(DAY_MS);
    expect(await sandbox.deliverDue()).toHaveLength(1);
    expect(JSON.parse(hook.received[0]!.body)).toEqual({
      retailerId: 1234567,
      timestamp: '2026-06-10T12:00:10.000+02:00',
      event: { resource: 'PROCESS_STATUS', type: 'SUCCESS', resourceId: '1000002' },
    });
  });

  test('goes on when the receiver comes back after it was gone', async () => {
    const gone = await openReceiver();
    const { sandbox, pass } = await openShop({}, gone);
    sandbox.change({ kind: 'shipment' });
    await sandbox.deliverDue();
    gone.close();
    sandbox.change({ kind: 'shipment' });
    const [failed] = await sandbox.deliverDue();
    expect([failed?.status, failed?.error]).toEqual([null, expect.stringMatching(/ECONNREFUSED|ECONNRESET|hang up/)]);
    const back = await openReceiver();
    sandbox.addPushRoute({ from: HOOK, to: back.url });
    pass(MINUTE_MS);
    expect(await sandbox.deliverDue()).toMatchObject([{ attempt: 2, to: back.url, status: 204 }]);
  });
});

describe('where pushes go', () => {
  test.each([
    ['the url itself', 'https://shop.example/hook?a=1', '/in', '/in'],
    ['its origin, keeping the path', 'https://shop.example', '', '/hook?a=1'],
    ['its origin, to one path', 'https://shop.example/', '/in', '/in'],
    ['every url', '*', '/in', '/in'],
  ])('is said by a route from %s', async (_, from, toPath, path) => {
    const hook = await openReceiver();
    const to = `${new URL(hook.url).origin}${toPath}`;
    const client = await openSandbox({ processSeconds: 0, pushRoutes: [{ from, to, forwardedFor: '35.204.195.116' }] });
    await subscribe(client, ['SHIPMENT'], 'https://shop.example/hook?a=1');
    client.sandbox.change({ kind: 'shipment' });
    expect(await client.sandbox.deliverDue()).toMatchObject([{ status: 204 }]);
    expect(hook.received).toMatchObject([{ path, headers: { 'x-forwarded-for': '35.204.195.116' } }]);
  });

  test('is the nearest route: the url before its origin before every url', async () => {
    const { client, sandbox, hook } = await openShop({ pushRoutes: [] });
    const { origin } = new URL(hook.url);
    for (const [from, path] of [
      ['https://shop.example', '/origin'],
      ['*', '/every'],
      [HOOK, '/url'],
    ] as const)
      sandbox.addPushRoute({ from, to: `${origin}${path}` });
    await subscribe(client, ['SHIPMENT'], 'https://shop.example/other');
    await subscribe(client, ['SHIPMENT'], 'https://other.example/hook');
    sandbox.change({ kind: 'shipment' });
    await sandbox.deliverDue();
    expect(hook.received.map(({ path }) => path)).toEqual(['/url', '/origin', '/every']);
  });

  test('is a receiver with any certificate, also without a route where the url is on loopback', async () => {
    const hook = await openReceiver({ isTls: true });
    const client = await openSandbox({ processSeconds: 0, pushRoutes: [{ from: HOOK, to: hook.url }] });
    const named = hook.url.replace('127.0.0.1', 'localhost');
    for (const url of [HOOK, hook.url, named]) await subscribe(client, ['SHIPMENT'], url);
    client.sandbox.change({ kind: 'shipment' });
    expect((await client.sandbox.deliverDue()).map(({ status, error }) => [status, error])).toEqual(
      Array(3).fill([204, null]),
    );
  });

  test.each([
    'https://shop.example/hook',
    'https://10.0.0.1/',
    'https://[::2]/',
    'https://127.0.0.1.example/',
    'https://169.254.169.254/latest',
  ])('is never beyond loopback: %s', async (url) => {
    const client = await openSandbox({ processSeconds: 0 });
    await subscribe(client, ['SHIPMENT'], url);
    client.sandbox.change({ kind: 'shipment' });
    const { host } = new URL(url);
    expect(await client.sandbox.deliverDue()).toMatchObject([
      { status: null, error: `${host} is not on loopback, and there is no route for it` },
    ]);
  });

  test.each([
    ['hook', 'http://127.0.0.1:1/'],
    [HOOK, 'http://example.org/'],
    [HOOK, 'ftp://127.0.0.1/'],
    [HOOK, 'http://10.0.0.1/'],
    [HOOK, 'nowhere'],
  ])('is refused as a route from %s to %s', async (from, to) => {
    const { sandbox } = await openSandbox();
    expect(() => sandbox.addPushRoute({ from, to })).toThrow(
      expect.objectContaining({ kind: 'usage', code: 'bad_route' }),
    );
  });
});

describe('the order of what is due together', () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

  /** Shipments in the order of their arrival. */
  async function arrivals(order: 'due' | 'reverse' | 'random', seed = 1): Promise<string> {
    const { sandbox, hook } = await openShop({ seed });
    sandbox.change({ kind: 'push-order', order });
    for (const shipmentId of ids) sandbox.change({ kind: 'shipment', shipmentId });
    await sandbox.deliverDue();
    expect(arrivedIds(hook).toSorted()).toEqual(ids);
    return arrivedIds(hook).join('');
  }

  test('is that in which they became due, the other way round, or one that the seed tells', async () => {
    expect(await arrivals('due')).toBe('abcdefgh');
    expect(await arrivals('reverse')).toBe('hgfedcba');
    const random = await arrivals('random');
    expect(['abcdefgh', 'hgfedcba']).not.toContain(random);
    expect(await arrivals('random')).toBe(random);
    expect(await arrivals('random', 2)).not.toBe(random);
  });
});

describe('the delivery', () => {
  test('has several messages under way at once when it is asked to, and waits for all of them', async () => {
    const { sandbox, hook } = await openShop();
    sandbox.change({ kind: 'shipment', count: 7 });
    let answer: (status: number) => void = () => {};
    const answered = new Promise<number>((resolve) => {
      answer = resolve;
    });
    hook.reactions.push(...Array(5).fill(answered));
    const over = sandbox.deliverDue({ concurrency: 5 });
    await hook.arrived(5);
    expect(sandbox.pushTruth().every(({ attempts }) => attempts === 0)).toBe(true);
    expect(hook.received).toHaveLength(5);
    answer(200);
    expect((await over).map(({ messageId, status }) => [messageId, status])).toEqual([
      ...[1, 2, 3, 4, 5].map((id) => [id, 200]),
      [6, 204],
      [7, 204],
    ]);
  });

  test('goes on by itself when it is asked to, and also sends what becomes due later', async () => {
    const { sandbox, hook, pass } = await openShop({ deliver: { everyMs: 1, concurrency: 2 } });
    hook.reactions.push(503);
    sandbox.change({ kind: 'shipment', count: 20 });
    await hook.arrived(20);
    // Those that it has under way are over when this resolves.
    await sandbox.deliverDue();
    expect(sandbox.pushTruth().filter(({ state }) => state === 'delivered')).toHaveLength(19);
    pass(MINUTE_MS);
    await hook.arrived(21);
    await sandbox.deliverDue();
    expect(sandbox.pushTruth().every(({ state }) => state === 'delivered')).toBe(true);
  });

  test('breaks off when the sandbox is closed', async () => {
    const { sandbox, hook } = await openShop();
    sandbox.change({ kind: 'shipment', count: 3 });
    hook.reactions.push('silence');
    const over = sandbox.deliverDue();
    await hook.arrived(1);
    await sandbox.close();
    expect(await over).toMatchObject([{ messageId: 1, status: null, error: 'the sandbox was closed' }]);
    expect(hook.received).toHaveLength(1);
  });

  test.each([{ deliver: { everyMs: 0 } }, { deliver: { everyMs: 1, concurrency: 0 } }, { pushTimeoutMs: 0 }])(
    'is refused with %j',
    async (options) => {
      await expect(openSandbox(options)).rejects.toMatchObject({ kind: 'usage', code: 'bad_sandbox' });
    },
  );
});
