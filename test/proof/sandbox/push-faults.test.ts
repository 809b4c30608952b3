import { describe, expect, test } from 'vitest';
import type { Change, Forgery, PushFault } from '../../../src/sandbox/sandbox.ts';
import { DAY_MS, NOON, openSandbox, retailer } from './client.ts';
import { arrivedIds, isGenuine, listedKeys, MINUTE_MS, openShop, subscribe } from './push-receiver.ts';

describe('a fault of the delivery', () => {
  test('sends copies at once, byte for byte the same, and one taken is enough', async () => {
    const { sandbox, hook, pass } = await openShop();
    sandbox.addFault({ endpoint: 'push', kind: 'copies', copies: 3 });
    sandbox.change({ kind: 'shipment', count: 2 });
    hook.reactions.push(500, 204, 500);
    const results = await sandbox.deliverDue();
    expect(results.map(({ messageId, attempt }) => [messageId, attempt])).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
      [2, 1],
    ]);
    const sent = hook.received.slice(0, 3).map(({ headers, body }) => `${headers.signature} ${body}`);
    expect(new Set(sent).size).toBe(1);
    expect(sandbox.pushTruth()).toMatchObject([
      { state: 'delivered', attempts: 3, accepted: 1 },
      { state: 'delivered', attempts: 1, accepted: 1 },
    ]);
    pass(MINUTE_MS);
    expect(await sandbox.deliverDue()).toEqual([]);
  });

  test('sends copies that all fail only once at the retry', async () => {
    const { sandbox, hook, pass } = await openShop();
    sandbox.addFault({ endpoint: 'push', kind: 'copies', copies: 2 });
    sandbox.change({ kind: 'shipment' });
    hook.reactions.push(500, 500);
    expect(await sandbox.deliverDue()).toHaveLength(2);
    pass(MINUTE_MS);
    expect(await sandbox.deliverDue()).toMatchObject([{ attempt: 2, status: 204 }]);
  });

  test('loses a message, which is true all the same', async () => {
    const { sandbox, hook, pass } = await openShop();
    sandbox.addFault({ endpoint: 'push', kind: 'lose' });
    sandbox.change({ kind: 'shipment', count: 2 });
    await sandbox.deliverDue();
    pass(DAY_MS);
    await sandbox.deliverDue();
    expect(arrivedIds(hook)).toEqual(['700000002']);
    expect(sandbox.pushTruth()).toMatchObject([
      { resourceId: '700000001', state: 'dropped', attempts: 0, accepted: 0 },
      { resourceId: '700000002', state: 'delivered', attempts: 1, accepted: 1 },
    ]);
  });

  test('delays the first attempt; the time in the message stays', async () => {
    const { sandbox, hook, pass } = await openShop();
    sandbox.addFault({ endpoint: 'push', kind: 'delay', seconds: 600 });
    sandbox.change({ kind: 'shipment' });
    pass(599_999);
    expect(await sandbox.deliverDue()).toEqual([]);
    pass(1);
    expect(await sandbox.deliverDue()).toMatchObject([{ attempt: 1, at: NOON + 600_000 }]);
    expect(JSON.parse(hook.received[0]!.body).timestamp).toBe('2026-06-10T12:00:00.000+02:00');
  });

  test('loses answers: what was taken is sent again, and counts as accepted each time', async () => {
    const { sandbox, hook, pass } = await openShop();
    sandbox.addFault({ endpoint: 'push', kind: 'lose-answer', attempts: 2 });
    sandbox.change({ kind: 'shipment' });
    expect(await sandbox.deliverDue()).toMatchObject([{ status: 204, error: 'the answer was lost' }]);
    pass(MINUTE_MS);
    expect(await sandbox.deliverDue()).toMatchObject([{ attempt: 2, status: 204, error: 'the answer was lost' }]);
    expect(sandbox.pushTruth()).toMatchObject([{ state: 'waiting', accepted: 2 }]);
    pass(2 * MINUTE_MS);
    expect(await sandbox.deliverDue()).toMatchObject([{ attempt: 3, status: 204, error: null }]);
    expect(hook.received).toHaveLength(3);
    expect(sandbox.pushTruth()).toMatchObject([
      { state: 'delivered', attempts: 3, accepted: 3, firstAcceptedMs: NOON, lastAcceptedMs: NOON + 3 * MINUTE_MS },
    ]);
  });

  test('strikes as often as it is set to, after as many as it is set to, and only what it is aimed at', async () => {
    const { client, sandbox, hook } = await openShop();
    await subscribe(client, ['PROCESS_STATUS'], 'https://shop.example/other');
    sandbox.addPushRoute({ from: 'https://shop.example', to: hook.url });
    sandbox.addFault({ endpoint: 'push', kind: 'lose', resource: 'PROCESS_STATUS', times: 2 });
    sandbox.addFault({ endpoint: 'push', kind: 'lose', subscriptionId: '5001', after: 1, times: 2 });
    for (let i = 0; i < 3; i++) await retailer(client, '/retailer/subscriptions/test/5002', { method: 'POST' });
    sandbox.change({ kind: 'shipment', count: 4 });
    await sandbox.deliverDue();
    expect(arrivedIds(hook)).toEqual(['1000002', '1000005', '700000001', '700000004']);
  });

  test('strikes no more when faults are cleared, and those of other kinds strike together', async () => {
    const { sandbox, hook } = await openShop();
    sandbox.addFault({ endpoint: 'push', kind: 'copies', copies: 2 });
    sandbox.addFault({ endpoint: 'push', kind: 'copies', copies: 3 });
    sandbox.addFault({ endpoint: 'push', kind: 'lose-answer' });
    sandbox.addFault({ endpoint: 'push', kind: 'lose', after: 2 });
    sandbox.change({ kind: 'shipment', count: 2 });
    sandbox.clearFaults();
    sandbox.change({ kind: 'shipment' });
    await sandbox.deliverDue();
    expect(sandbox.pushTruth().map(({ attempts, state }) => [attempts, state])).toEqual([
      [2, 'waiting'],
      [3, 'delivered'],
      [1, 'delivered'],
    ]);
    expect(hook.received).toHaveLength(6);
  });

  test.each([
    { kind: 'status', status: 500 },
    { kind: 'copies' },
    { kind: 'copies', copies: 1 },
    { kind: 'delay', seconds: -1 },
    { kind: 'delay', seconds: '1' },
    { kind: 'lose-answer', attempts: 0 },
    { kind: 'lose', resource: 'ORDERS' },
    { kind: 'lose', times: 0 },
    { kind: 'lose', after: -1 },
  ])('is refused where it could not strike: %j', async (fault) => {
    const { sandbox } = await openSandbox();
    expect(() => sandbox.addFault({ endpoint: 'push', ...fault } as PushFault)).toThrow(
      expect.objectContaining({ kind: 'usage', code: 'bad_fault' }),
    );
  });
});

describe('a replay', () => {
  test('sends what was accepted again, years later and byte for byte, once and without a retry', async () => {
    const { sandbox, hook, pass } = await openShop();
    sandbox.change({ kind: 'shipment', count: 3 });
    await sandbox.deliverDue();
    const twoYearsMs = 731 * DAY_MS;
    pass(twoYearsMs);
    sandbox.change({ kind: 'replay-push', messageId: 1 });
    sandbox.change({ kind: 'replay-push', count: 2 });
    hook.reactions.push(422, 204, 422);
    const results = await sandbox.deliverDue();
    expect(results.map(({ messageId, attempt, status }) => [messageId, attempt, status])).toEqual([
      [1, 2, 422],
      [2, 2, 204],
      [3, 2, 422],
    ]);
    const [first, , , again] = hook.received;
    expect([again!.body, again!.headers.signature]).toEqual([first!.body, first!.headers.signature]);
    pass(DAY_MS);
    expect(await sandbox.deliverDue()).toEqual([]);
    expect(sandbox.pushTruth()).toMatchObject([
      { state: 'delivered', attempts: 2, accepted: 1, lastAcceptedMs: NOON },
      { state: 'delivered', attempts: 2, accepted: 2, firstAcceptedMs: NOON, lastAcceptedMs: NOON + twoYearsMs },
      { state: 'delivered', attempts: 2, accepted: 1, lastAcceptedMs: NOON },
    ]);
  });

  test('is refused of what was not accepted', async () => {
    const { sandbox, hook } = await openShop();
    sandbox.change({ kind: 'shipment' });
    hook.reactions.push(500);
    await sandbox.deliverDue();
    const refusal = expect.objectContaining({ kind: 'usage', code: 'bad_change' });
    expect(() => sandbox.change({ kind: 'replay-push' })).toThrow(refusal);
    expect(() => sandbox.change({ kind: 'replay-push', messageId: 9 })).toThrow(refusal);
  });
});

describe('key sets', () => {
  test('rotate: the new one signs from now on, and both are listed', async () => {
    const { client, sandbox } = await openShop();
    sandbox.change({ kind: 'shipment' });
    sandbox.change({ kind: 'rotate-keys' });
    sandbox.change({ kind: 'shipment' });
    const keys = await listedKeys(client);
    expect([...keys.keys()]).toEqual(['0', '1']);
    const pushes = sandbox.pushes();
    expect(pushes.map(({ headers }) => headers.signature!.slice(0, 8))).toEqual(['keyId=0,', 'keyId=1,']);
    expect(pushes.map((push) => isGenuine(push, keys))).toEqual([true, true]);
  });

  test('are listed later than they sign, when that is ordered', async () => {
    const { client, sandbox, pass } = await openShop();
    sandbox.change({ kind: 'rotate-keys', listAfterSeconds: 90 });
    sandbox.change({ kind: 'shipment' });
    pass(89_999);
    expect([...(await listedKeys(client)).keys()]).toEqual(['0']);
    pass(1);
    const keys = await listedKeys(client);
    expect([...keys.keys()]).toEqual(['0', '1']);
    expect(isGenuine(sandbox.pushes()[0]!, keys)).toBe(true);
  });

  test('are listed no more once they are dropped, and what they signed is no longer genuine', async () => {
    const { client, sandbox } = await openShop();
    sandbox.change({ kind: 'shipment' });
    sandbox.change({ kind: 'rotate-keys', dropOld: true });
    sandbox.change({ kind: 'shipment' });
    sandbox.change({ kind: 'rotate-keys', dropOld: true });
    sandbox.change({ kind: 'shipment' });
    const keys = await listedKeys(client);
    expect([...keys.keys()]).toEqual(['2']);
    expect(sandbox.pushes().map((push) => isGenuine(push, keys))).toEqual([false, false, true]);
  });
});

describe('a forged message', () => {
  const HOWS: readonly Forgery[] = [
    'wrong-key',
    'altered-body',
    'other-algorithm',
    'unknown-key',
    'no-signature',
    'dropped-key',
  ];

  test.each(HOWS)('(%s) is sent once, is not genuine, and is no part of the truth', async (how) => {
    const { client, sandbox, hook, pass } = await openShop();
    sandbox.change({ kind: 'rotate-keys', dropOld: true });
    sandbox.change({ kind: 'forge-push', how, count: 2 });
    hook.reactions.push(401, 204);
    expect(await sandbox.deliverDue()).toHaveLength(2);
    pass(DAY_MS);
    expect(await sandbox.deliverDue()).toEqual([]);
    const keys = await listedKeys(client);
    expect(
      hook.received.map(({ headers, body }) => {
        const { signature } = headers as Record<string, string>;
        return isGenuine({ headers: signature === undefined ? {} : { signature }, body }, keys);
      }),
    ).toEqual([false, false]);
    expect(arrivedIds(hook)).toEqual(['forged-1', 'forged-2']);
    expect(sandbox.pushes()).toMatchObject([
      { forgery: how, state: 'dropped' },
      { forgery: how, state: 'delivered' },
    ]);
    expect(sandbox.pushTruth()).toEqual([]);
    expect(() => sandbox.change({ kind: 'replay-push' })).toThrow(expect.objectContaining({ code: 'bad_change' }));
  });

  test('is wrong in its header alone where it says so', async () => {
    const { sandbox } = await openShop();
    sandbox.change({ kind: 'rotate-keys', dropOld: true });
    for (const how of HOWS) sandbox.change({ kind: 'forge-push', how });
    expect(sandbox.pushes().map(({ headers }) => headers.signature?.replace(/, signature=.*/, ''))).toEqual([
      'keyId=1, algorithm="rsa-sha256"',
      'keyId=1, algorithm="rsa-sha256"',
      'keyId=1, algorithm="rsa-sha512"',
      'keyId=forger-4, algorithm="rsa-sha256"',
      undefined,
      'keyId=0, algorithm="rsa-sha256"',
    ]);
  });

  test('goes to every subscription, or to the one that is named', async () => {
    const { client, sandbox } = await openShop();
    await subscribe(client, ['PROCESS_STATUS'], 'https://shop.example/other');
    sandbox.addFault({ endpoint: 'push', kind: 'lose', times: 10 });
    sandbox.change({ kind: 'forge-push', how: 'no-signature' });
    sandbox.change({ kind: 'forge-push', how: 'no-signature', subscriptionId: '5002' });
    const forged = sandbox.pushes().filter(({ forgery }) => forgery !== null);
    expect(forged.map(({ subscriptionId, state }) => [subscriptionId, state])).toEqual([
      ['5001', 'waiting'],
      ['5002', 'waiting'],
      ['5002', 'waiting'],
    ]);
  });

  test.each<Change>([
    { kind: 'forge-push', how: 'dropped-key' },
    { kind: 'forge-push', how: 'magic' as never },
    { kind: 'forge-push', how: 'wrong-key', subscriptionId: '9' },
    { kind: 'forge-push', how: 'wrong-key', count: 0 },
    { kind: 'shipment', count: 1.5 },
    { kind: 'shipment', shipmentId: '../1' },
    { kind: 'push-order', order: 'best' as never },
    { kind: 'rotate-keys', listAfterSeconds: -1 },
    { kind: 'rotate-keys', dropOld: 'yes' as never },
  ])('or another change that cannot be is refused: %j', async (change) => {
    const { sandbox } = await openShop();
    expect(() => sandbox.change(change)).toThrow(expect.objectContaining({ kind: 'usage', code: 'bad_change' }));
  });
});
