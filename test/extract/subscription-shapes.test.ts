import { describe, expect, test } from 'vitest';
import {
  isEnded,
  parseProcessStatus,
  parseSignatureKeys,
  parseSubscription,
  parseSubscriptions,
} from '../../src/extract/subscription-shapes.ts';
import { exactText, parseDocument } from '../../src/json/exact-json.ts';

const URL_OF_OURS = 'https://etl.example.com/push';
const SENT = `{
  "id" : 2,
  "entityId" : "555552",
  "eventType" : "CANCEL_ORDER",
  "description" : "This is a mocked process status.",
  "status" : "SUCCESS",
  "createTimestamp" : "2021-03-22T09:10:33.955061+01:00"
}`;
const document = (value: unknown) => parseDocument(typeof value === 'string' ? value : JSON.stringify(value));
const failing = (code: string) => expect.objectContaining({ kind: 'failed', code });

describe('a subscription', () => {
  test.each([
    ['5001', '5001', '5001'],
    ['"5001"', '5001', '"5001"'],
    ['"a\\"b"', 'a"b', '"a\\"b"'],
    ['12345678901234567890', '12345678901234567890', '12345678901234567890'],
  ])('with the id %s has the text %s, and is spelled %s again', (json, id, idJson) => {
    const told = parseSubscription(document(`{"id":${json},"url":"${URL_OF_OURS}","resources":["SHIPMENT"]}`));
    expect(told).toEqual({ id, idJson, url: URL_OF_OURS, resources: ['SHIPMENT'], extra: null });
  });

  test.each<[string, unknown, unknown]>([
    ['nothing but an id', { id: 1 }, { url: null, resources: [], extra: null }],
    ['nulls', { id: 1, url: null, resources: null, enabled: null }, { url: null, resources: [], extra: null }],
    ['no resource', { id: 1, resources: [] }, { resources: [] }],
  ])('may have %s', (_, value, told) => {
    expect(parseSubscription(document(value))).toMatchObject(told as object);
  });

  test('keeps what is unknown or of another type than it should be, with every digit', () => {
    const { resources, url, extra } = parseSubscription(
      document('{"id":1,"url":{"a":1.10},"resources":["SHIPMENT",{"b":2.50}],"since":3.00}'),
    );
    expect([url, resources]).toEqual([null, ['SHIPMENT']]);
    expect(exactText(extra!)).toBe('{"resources":["SHIPMENT",{"b":2.50}],"since":3.00,"url":{"a":1.10}}');
  });

  test.each<[unknown, string]>([
    [[], 'not_an_object'],
    ['null', 'not_an_object'],
    [{}, 'no_subscription_id'],
    [{ id: '' }, 'no_subscription_id'],
    [{ id: null }, 'no_subscription_id'],
    [{ id: [1] }, 'no_subscription_id'],
  ])('%j is none: %s', (value, code) => {
    expect(() => parseSubscription(document(value))).toThrow(failing(code));
  });
});

describe('a list of subscriptions', () => {
  test('tells each once, as it stands last', () => {
    const list = [{ id: 1, url: 'a' }, { id: '2' }, { id: '1', url: 'b' }];
    const told = parseSubscriptions(document({ subscriptions: list, more: 1 }));
    expect(told.map(({ id, url }) => [id, url])).toEqual([
      ['1', 'b'],
      ['2', null],
    ]);
  });

  test('may be empty', () => {
    expect(parseSubscriptions(document({ subscriptions: [] }))).toEqual([]);
  });

  test.each<[unknown, string]>([
    [[], 'not_an_object'],
    [{}, 'no_subscriptions'],
    [{ subscriptions: null }, 'no_subscriptions'],
    [{ subscriptions: { id: 1 } }, 'no_subscriptions'],
    [{ subscriptions: [{ id: 1 }, 'x'] }, 'not_an_object'],
    [{ subscriptions: [{ id: 1 }, {}] }, 'no_subscription_id'],
  ])('%j is none: %s', (value, code) => {
    expect(() => parseSubscriptions(document(value))).toThrow(failing(code));
  });
});

describe('a process status', () => {
  test('as the service has really sent one', () => {
    expect(parseProcessStatus(document(SENT))).toEqual({
      id: '2',
      entityId: '555552',
      eventType: 'CANCEL_ORDER',
      description: 'This is a mocked process status.',
      status: 'SUCCESS',
      errorMessage: null,
      createTimestamp: '2021-03-22T09:10:33.955061+01:00',
      links: null,
      extra: null,
    });
  });

  test.each([
    ['{"id":7,"status":"PENDING"}', '7', null],
    ['{"processStatusId":"7","status":"PENDING"}', '7', null],
    ['{"processStatusId":"7","id":8,"status":"PENDING"}', '7', '{"id":8}'],
    ['{"processStatusId":null,"id":8,"status":"PENDING"}', '8', null],
  ])('%s is of the process %s', (text, id, extra) => {
    const told = parseProcessStatus(document(text));
    expect([told.id, told.extra && exactText(told.extra)]).toEqual([id, extra]);
  });

  test('has links as they were sent', () => {
    const links = '[{"href":"https://x","n":1.0}]';
    const told = parseProcessStatus(document(`{"id":7,"status":"PENDING","links":${links}}`));
    expect([exactText(told.links!), told.extra]).toEqual([links, null]);
  });

  test.each<[unknown, string]>([
    [[], 'not_an_object'],
    [{ status: 'SUCCESS' }, 'no_process_id'],
    [{ id: '', status: 'SUCCESS' }, 'no_process_id'],
    [{ id: 1 }, 'no_process_status'],
    [{ id: 1, status: null }, 'no_process_status'],
  ])('%j is none: %s', (value, code) => {
    expect(() => parseProcessStatus(document(value))).toThrow(failing(code));
  });

  test.each([
    ['SUCCESS', true],
    ['FAILURE', true],
    ['TIMEOUT', true],
    ['success', true],
    ['PENDING', false],
    ['', false],
    ['SUCCESSFUL', false],
    ['constructor', false],
  ])('%j is an end: %s', (status, ended) => {
    expect(isEnded(status)).toBe(ended);
  });
});

describe('signature keys', () => {
  test('are told as they are, also those that cannot be used', () => {
    const list = [{ id: 0, type: 'RSA', publicKey: 'AAAA' }, { id: '1', publicKey: 5 }, 'x', null, { type: [] }];
    const none = { id: '', type: '', publicKey: '' };
    expect(parseSignatureKeys(document({ signatureKeys: list }))).toEqual([
      { id: '0', type: 'RSA', publicKey: 'AAAA' },
      { id: '1', type: '', publicKey: '5' },
      none,
      none,
      none,
    ]);
  });

  test.each<[unknown, string]>([
    [[], 'not_an_object'],
    [{}, 'no_signature_keys'],
    [{ signatureKeys: {} }, 'no_signature_keys'],
  ])('%j are none: %s', (value, code) => {
    expect(() => parseSignatureKeys(document(value))).toThrow(failing(code));
  });
});
