import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type CommissionCall, commissionRates, singleCommission } from '../../pipelines/commission-rates.ts';
import { products } from '../../pipelines/products.ts';
import { eanKeysOf, type Pipeline } from '../../src/core/pipeline.ts';
import type { Key } from '../../src/core/source.ts';
import { keysCall, reductionsFileCall, reductionsNameCall } from '../../src/partner/calls/lookups.ts';
import { callOf } from '../../src/partner/settings.ts';
import { asText, endOf, Scene } from './scene.ts';
import { answer } from './scripted-service.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
});
afterEach(() => scene.close());

const EAN = '8712626055143';
const all = { specifications: true, image: true, offer: true, rating: true };
const none = { specifications: false, image: false, offer: false, rating: false };
const question = { ean: EAN, condition: 'NEW', price: null };
const dutch = { ean: EAN, country: 'NL', language: 'nl' };

/** As a night asks. */
function ask(pipeline: Pipeline, keys: readonly Key[], settings: object = {}) {
  const { calls } = scene.settings();
  return keysCall(calls, pipeline, eanKeysOf(pipeline).request(keys, callOf(calls, pipeline), settings), asText);
}

const bulkCall = (keys: readonly Key[]) => ask(commissionRates, keys);
const productCall = (key: Key, include: typeof all) => ask(products, [key], { include });
function singleCall(key: Key) {
  const { calls } = scene.settings();
  const request = singleCommission(key, callOf<CommissionCall>(calls, commissionRates));
  return keysCall(calls, commissionRates, request, asText);
}

describe('bulk commission', () => {
  test('sends every question, prices digit by digit', async () => {
    const questions = [
      question,
      { ean: '0000000000055', condition: 'GOOD', price: '9007199254740993.10' },
      { ean: EAN, condition: 'NEW', price: '0.30' },
    ];
    const call = bulkCall(questions);
    const { record } = await scene.client().call(call);
    const [seen] = scene.service.calls;
    expect([seen?.method, seen?.url]).toEqual(['POST', '/api/retailer/commission']);
    expect(seen?.body).toBe(
      `{"commissionQueries":[{"ean":"${EAN}","condition":"NEW"},` +
        '{"ean":"0000000000055","condition":"GOOD","unitPrice":9007199254740993.10},' +
        `{"ean":"${EAN}","condition":"NEW","unitPrice":0.30}]}`,
    );
    expect(seen?.headers).toMatchObject({
      accept: 'application/vnd.retailer.v4+json',
      'content-type': 'application/vnd.retailer.v4+json; charset=utf-8',
      'accept-encoding': 'gzip',
    });
    expect(record).toMatchObject({ pipeline: 'commission-rates', window_from: null, window_to: null });
  });

  test('is tried again although it is a POST, since asking changes nothing', async () => {
    scene.service.answers.push(answer(500));
    const call = bulkCall([question]);
    const { record } = await scene.client().call(call);
    expect(record).toMatchObject({ status: 200, attempt: 2 });
  });

  test.each(['', '1e2', '-1.00', '01.00', '1.', '.5', '1,00', '1}', 'NaN'])('does not send the price %j', (price) => {
    const bad = () => bulkCall([{ ...question, price }]);
    expect(bad).toThrow('a price that is no decimal text');
  });

  test.each([0, 4])('does not send %i questions where a request takes 3', (count) => {
    const questions = Array.from({ length: count }, () => question);
    expect(() => bulkCall(questions)).toThrow(`${count} keys in a call that takes 3`);
  });
});

describe('single commission', () => {
  test.each<[string | null, string]>([
    [null, '?condition=AS_NEW'],
    ['12.30', '?condition=AS_NEW&unit-price=12.30'],
  ])('is asked for with the price %s as %s', async (price, query) => {
    const asked = { ean: EAN, condition: 'AS_NEW', price };
    await scene.client().call(singleCall(asked));
    expect(scene.service.calls[0]?.url).toBe(`/api/retailer/commission/${EAN}${query}`);
  });

  test('has the turns and the budget of the bulk call', () => {
    const single = singleCall(question);
    const bulk = bulkCall([question]);
    expect([single.endpoint, single.budget]).toEqual([bulk.endpoint, bulk.budget]);
  });
});

describe('a product', () => {
  test.each<[string, typeof all, string]>([
    ['everything', all, '&include-specifications=true&include-image=true&include-offer=true&include-rating=true'],
    ['one part', { ...none, offer: true }, '&include-offer=true'],
    ['nothing more', none, ''],
  ])('is asked for with %s', async (_, parts, query) => {
    await scene.client().call(productCall(dutch, parts));
    const [seen] = scene.service.calls;
    expect(seen?.url).toBe(`/api/catalog/v1/products/${EAN}?country-code=NL${query}`);
    expect(seen?.headers).toMatchObject({ 'accept-language': 'nl', 'accept-encoding': 'gzip' });
  });

  test.each(['a/b', '../x', '$&', 'a?b#c', 'ü'])('an EAN %j stays one part of the path', (ean) => {
    const { path } = productCall({ ...dutch, ean }, none);
    expect(path).toBe(`/catalog/v1/products/${encodeURIComponent(ean)}`);
  });
});

test.each([
  ['reductions', reductionsFileCall, '/api/retailer/reductions'],
  ['reductions-name', reductionsNameCall, '/api/retailer/reductions/latest'],
] as const)('%s is asked for as CSV and gzip', async (endpoint, make, url) => {
  const stop = new AbortController();
  const call = make(scene.settings(), 'reductions', asText, stop.signal);
  expect([call.endpoint, call.signal]).toEqual([endpoint, stop.signal]);
  await scene.client().call(call);
  const [seen] = scene.service.calls;
  expect(seen?.url).toBe(url);
  expect(seen?.headers).toMatchObject({ accept: 'application/vnd.retailer.v4+csv', 'accept-encoding': 'gzip' });
});

describe('statuses that answer a look-up', () => {
  const settings = () => scene.settings();
  test.each([
    ['bulk commission', [400, 404], () => bulkCall([question])],
    ['single commission', [400, 404], () => singleCall(question)],
    ['product', [400, 404, 406], () => productCall(dutch, all)],
    ['reductions', [], () => reductionsFileCall(settings(), 'reductions', asText)],
    ['reductions-name', [], () => reductionsNameCall(settings(), 'reductions', asText)],
  ] as const)('of %s are 2xx and %j', async (_, statuses, make) => {
    const taken: number[] = [];
    for (const status of [400, 404, 406, 409, 422]) {
      scene.service.answers.push(answer(status, '{"title":"no"}'));
      const end = await endOf(scene.client().call(make())).catch(() => taken.push(status));
      expect([`failed/http_${status}`, taken.length]).toContain(end);
    }
    expect(taken).toEqual(statuses);
  });
});
