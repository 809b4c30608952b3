import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isPathId } from '../../src/core/ids.ts';
import { LIMITS } from '../../src/core/limits.ts';
import { type Call, isAnswer } from '../../src/partner/call.ts';
import {
  linkCall,
  processStatusCall,
  signatureKeysCall,
  subscriptionCreateCall,
  subscriptionDeleteCall,
  subscriptionGetCall,
  subscriptionListCall,
  subscriptionUpdateCall,
  testPushCall,
  testsOne,
} from '../../src/partner/calls/subscriptions.ts';
import type { PartnerSettings } from '../../src/partner/settings.ts';
import { asText, endOf, Scene } from './scene.ts';
import { answer } from './scripted-service.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
});
afterEach(() => scene.close());

const MEDIA = 'application/vnd.retailer.v4+json';
const URL_OF_OURS = 'https://etl.example.com/push';
const wish = { url: URL_OF_OURS, resources: ['PROCESS_STATUS', 'SHIPMENT'] };
const change = { id: '5001', idJson: '5001', ...wish };

/** With the path of version 6, which names the subscription. */
function withTestId(settings: PartnerSettings): PartnerSettings {
  const { retailer } = settings;
  return { ...settings, retailer: { ...retailer, testPush: { ...retailer.testPush, path: '/retailer/test/{id}' } } };
}

const CALLS: readonly (readonly [
  name: string,
  make: (settings: PartnerSettings, signal?: AbortSignal) => Call<string>,
  lane: string,
  request: string,
  answers: readonly number[],
])[] = [
  ['list', (s, stop) => subscriptionListCall(s, 'p', asText, stop), 'subscriptions', 'GET subscriptions', []],
  [
    'get',
    (s, stop) => subscriptionGetCall(s, 'p', '5001', asText, stop),
    'subscriptions',
    'GET subscriptions/5001',
    [404],
  ],
  [
    'create',
    (s, stop) => subscriptionCreateCall(s, 'p', wish, asText, stop),
    'subscriptions',
    'POST subscriptions',
    [400, 409, 422],
  ],
  [
    'update',
    (s, stop) => subscriptionUpdateCall(s, 'p', change, asText, stop),
    'subscriptions',
    'PUT subscriptions/5001',
    [400, 404, 409, 422],
  ],
  [
    'delete',
    (s, stop) => subscriptionDeleteCall(s, 'p', '5001', asText, stop),
    'subscriptions',
    'DELETE subscriptions/5001',
    [400, 404, 409, 422],
  ],
  [
    'test of all',
    (s, stop) => testPushCall(s, 'p', '5001', asText, stop),
    'test-push',
    'POST subscriptions/test',
    [400, 404, 409, 422],
  ],
  [
    'test of one',
    (s, stop) => testPushCall(withTestId(s), 'p', '5001', asText, stop),
    'test-push',
    'POST test/5001',
    [400, 404, 409, 422],
  ],
  [
    'process status',
    (s, stop) => processStatusCall(s, 'p', '17', asText, stop),
    'process-status',
    'GET process-status/17',
    [404],
  ],
  [
    'keys',
    (s, stop) => signatureKeysCall(s, 'p', asText, stop),
    'signature-keys',
    'GET subscriptions/signature-keys',
    [],
  ],
];

describe('every call', () => {
  test.each(CALLS)('%s has its own lane, path, media type and pipeline', async (_, make, lane, request) => {
    const call = make(scene.settings());
    await scene.client().call(call);
    const [seen] = scene.service.calls;
    expect(call.endpoint).toBe(lane);
    expect(`${seen?.method} ${seen?.url}`).toBe(request.replace(' ', ' /api/retailer/'));
    expect(seen?.headers).toMatchObject({ accept: MEDIA, 'accept-encoding': 'gzip' });
    expect(scene.records).toMatchObject([{ pipeline: 'p', window_from: null, window_to: null }]);
  });

  test.each(CALLS)('%s takes the signal, and these statuses for answers besides 2xx', (_, make, __, ___, answers) => {
    const stop = new AbortController();
    const call = make(scene.settings(), stop.signal);
    expect(call.signal).toBe(stop.signal);
    const taken = [400, 401, 403, 404, 406, 409, 415, 422, 429, 500].filter((status) => isAnswer(call, status));
    expect(taken).toEqual(answers);
  });

  test.each(CALLS)(
    '%s is made again after a failure of the service, unless twice would not be once',
    async (name, make) => {
      scene.service.answers.push(answer(503));
      const end = await scene
        .client()
        .call(make(scene.settings()))
        .then(
          () => 'repeated',
          () => 'not repeated',
        );
      expect(end).toBe(name === 'create' || name.startsWith('test') ? 'not repeated' : 'repeated');
      expect(scene.service.calls).toHaveLength(end === 'repeated' ? 2 : 1);
    },
  );
});

describe('what is sent', () => {
  test('to create: address and list, as JSON of the interface', async () => {
    await scene.client().call(subscriptionCreateCall(scene.settings(), 'p', wish, asText));
    const [seen] = scene.service.calls;
    expect(seen?.headers['content-type']).toBe(MEDIA);
    expect(seen?.body).toBe(`{"resources":["PROCESS_STATUS","SHIPMENT"],"url":"${URL_OF_OURS}"}`);
  });

  test.each(['5001', '"5001"', '12345678901234567890'])(
    'to update: the id as %s, as the service spells it',
    async (idJson) => {
      await scene.client().call(subscriptionUpdateCall(scene.settings(), 'p', { ...change, idJson }, asText));
      const [seen] = scene.service.calls;
      expect(seen?.headers['content-type']).toBe(MEDIA);
      expect(seen?.body).toBe(`{"id":${idJson},"resources":["PROCESS_STATUS","SHIPMENT"],"url":"${URL_OF_OURS}"}`);
    },
  );

  test('to test and to remove: nothing', async () => {
    const client = scene.client();
    await client.call(testPushCall(scene.settings(), 'p', '5001', asText));
    await client.call(subscriptionDeleteCall(scene.settings(), 'p', '5001', asText));
    expect(scene.service.calls.map(({ body }) => body)).toEqual(['', '']);
  });
});

test('whether one subscription is tested hangs on the path', () => {
  expect([testsOne(scene.settings()), testsOne(withTestId(scene.settings()))]).toEqual([false, true]);
});

describe('an id', () => {
  test.each(['a/b', '../x', '$&', 'a?b#c', 'ü', '%2e%2e', ' '])('%j stays one part of the path', (id) => {
    const { path } = processStatusCall(scene.settings(), 'p', id, asText);
    expect(path).toBe(`/retailer/process-status/${encodeURIComponent(id)}`);
  });

  test.each(['', '.', '..', '\ud800', 'x'.repeat(LIMITS.pushNameChars + 1)])('%j can be none', (id) => {
    expect(isPathId(id)).toBe(false);
    expect(() => subscriptionGetCall(scene.settings(), 'p', id, asText)).toThrow(
      expect.objectContaining({ kind: 'failed', code: 'bad_id' }),
    );
  });
});

describe('a link', () => {
  const follow = (href: string, baseUrl = 'https://api.example.com/api') =>
    linkCall(scene.settings({ baseUrl }), 'push-links', href, asText);

  test.each([
    ['https://api.example.com/api/retailer/shipments/1', '/retailer/shipments/1', {}],
    ['https://API.example.com:443/api/retailer/shipments/1', '/retailer/shipments/1', {}],
    ['https://api.example.com/api/orders?page=2&q=a%20b', '/orders', { page: '2', q: 'a b' }],
    ['https://api.example.com/api/x/../orders#top', '/orders', {}],
  ])('%s is called below the base address', (href, path, query) => {
    expect(follow(href)).toMatchObject({ method: 'GET', endpoint: 'process-status', path, query });
  });

  test('below a base address without a path may lie anywhere there', () => {
    expect(follow('https://api.example.com/x', 'https://api.example.com/').path).toBe('/x');
  });

  test.each([
    'http://api.example.com/api/x',
    'https://api.example.com:444/api/x',
    'https://api.example.com.evil.org/api/x',
    'https://evil.org/api/x',
    'https://api.example.com@evil.org/api/x',
    'https://user:secret@api.example.com/api/x',
    'https://user@api.example.com/api/x',
    'https://api.example.com/apiary/x',
    'https://api.example.com/auth/token',
    'https://api.example.com/api/../auth/token',
    'https://api.example.com/api/%2e%2e/auth/token',
    'https://api.example.com/api/..%2fauth/token',
    'https://api.example.com/api/x%00',
    'https://api.example.com\\@evil.org/api/x',
    '//evil.org/api/x',
    '/api/x',
    'ftp://api.example.com/api/x',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'https://api.example.com/api/x?a=1&a=2',
    `https://api.example.com/api/${'x'.repeat(LIMITS.linkChars)}`,
    '',
  ])('%s is not followed', (href) => {
    expect(() => follow(href)).toThrow(expect.objectContaining({ kind: 'failed', code: 'foreign_link' }));
  });

  test('is asked for with the token, and every client error that is about it is an answer', async () => {
    const href = `${scene.service.origin}/api/retailer/shipments/1?x=%26`;
    const call = () => linkCall(scene.settings(), 'push-links', href, asText);
    await scene.client().call(call());
    const [seen] = scene.service.calls;
    expect([seen?.method, seen?.url]).toEqual(['GET', '/api/retailer/shipments/1?x=%26']);
    expect(seen?.headers).toMatchObject({ accept: MEDIA, authorization: expect.stringContaining('Bearer ') });
    const taken = [400, 401, 403, 404, 405, 410, 418, 429, 451, 499, 500].filter((status) => isAnswer(call(), status));
    expect(taken).toEqual([400, 404, 405, 410, 418, 451, 499]);
    scene.service.answers.push(answer(403, '{}'));
    expect(await endOf(scene.client().call(call()))).toBe('refused/forbidden');
  });
});
