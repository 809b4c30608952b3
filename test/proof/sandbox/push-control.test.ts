import { expect, test } from 'vitest';
import { ask, openSandbox } from './client.ts';
import { HOOK, openReceiver, subscribe } from './push-receiver.ts';

test('another process orders pushes, routes and faults, delivers, and reads what became of them', async () => {
  const hook = await openReceiver();
  const client = await openSandbox({ processSeconds: 0 });
  const { sandbox } = client;
  await subscribe(client, ['SHIPMENT']);
  const post = async (action: string, value: unknown) => {
    const { status, text } = await ask(`${sandbox.baseUrl}/sandbox/${action}`, {
      method: 'POST',
      body: JSON.stringify(value),
    });
    return status === 204 ? status : { status, ...JSON.parse(text) };
  };
  const read = async (action: string) => JSON.parse((await ask(`${sandbox.baseUrl}/sandbox/${action}`)).text);
  expect(await post('routes', { from: HOOK, to: hook.url })).toBe(204);
  expect(await post('routes', [{ from: HOOK, to: 'http://example.org/' }])).toMatchObject({
    status: 400,
    code: 'bad_route',
  });
  expect(await post('faults', [{ endpoint: 'push', kind: 'copies', copies: 2 }])).toBe(204);
  expect(await post('faults', { endpoint: 'push', kind: 'copies' })).toMatchObject({ status: 400, code: 'bad_fault' });
  expect(await post('changes', [{ kind: 'shipment' }, { kind: 'forge-push', how: 'wrong-key' }])).toBe(204);
  expect(await read('pushes')).toMatchObject([
    { id: 1, state: 'waiting', attempts: [], forgery: null },
    { id: 2, state: 'waiting', attempts: [], forgery: 'wrong-key' },
  ]);
  hook.reactions.push(204, 503, 401);
  const delivered = await ask(`${sandbox.baseUrl}/sandbox/deliver`, { method: 'POST' });
  expect(JSON.parse(delivered.text).map(({ messageId, status }: never) => [messageId, status])).toEqual([
    [1, expect.any(Number)],
    [1, expect.any(Number)],
    [2, 401],
  ]);
  expect(sandbox.pushes()).toMatchObject(await read('pushes'));
  expect(await read('pushes')).toMatchObject([{ state: 'delivered' }, { state: 'dropped' }]);
  expect(await read('push-truth')).toEqual(sandbox.pushTruth());
  expect(await read('push-truth')).toMatchObject([{ state: 'delivered', attempts: 2, accepted: 1 }]);
  expect((await ask(`${sandbox.baseUrl}/sandbox/deliver?concurrency=0`, { method: 'POST' })).status).toBe(400);
});
