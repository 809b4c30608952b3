import { describe, expect, test } from 'vitest';
import { asEtlError } from '../../../src/core/errors.ts';
import type { Subscription } from '../../../src/extract/subscription-shapes.ts';
import { commandLine } from '../../../src/run/subscriptions/process-waiting.ts';
import {
  changedWish,
  checkedChange,
  checkedResources,
  checkedUrl,
  newWish,
  refuseTakenUrl,
  type WishChange,
} from '../../../src/run/subscriptions/wish.ts';

const OURS = 'https://etl.example.com/push';

function held(resources: readonly string[], url: string | null = OURS): Subscription {
  return { id: '5001', idJson: '5001', url, resources, extra: null };
}

/** `kind/code` of what the work throws. */
function endOf(work: () => unknown): string {
  try {
    work();
  } catch (thrown) {
    const { kind, code } = asEtlError(thrown);
    return `${kind}/${code}`;
  }
  throw new Error('nothing was thrown');
}

describe('an address', () => {
  test.each([OURS, ` ${OURS} `, 'HTTPS://etl.example.com', 'https://10.0.0.1:8443/a?b=c'])('%j is taken', (text) => {
    expect(checkedUrl(text)).toBe(text.trim());
  });

  test.each([
    'http://etl.example.com',
    'etl.example.com',
    '',
    'https://',
    'https:///',
    'ftp://x',
    'https://a b',
    'https://a\nb',
    'https://me:secret@etl.example.com',
    'https://me@etl.example.com',
  ])('%j is refused', (text) => {
    expect(endOf(() => checkedUrl(text))).toBe('usage/not_https');
  });
});

describe('resources', () => {
  test.each([
    [['SHIPMENT'], ['SHIPMENT']],
    [['shipment, Process_Status'], ['SHIPMENT', 'PROCESS_STATUS']],
    [
      ['SHIPMENT', 'shipment,PROCESS_STATUS'],
      ['SHIPMENT', 'PROCESS_STATUS'],
    ],
    [[',', ''], []],
  ])('%j are %j', (texts, expected) => {
    expect(checkedResources(texts)).toEqual(expected);
  });

  test.each([['ORDERS'], ['SHIPMENT,ORDERS'], ['SHIPMENTS'], ['PROCESS-STATUS']])('%j are refused', (text) => {
    expect(endOf(() => checkedResources([text]))).toBe('usage/bad_resource');
  });

  test('of a new subscription are not none', () => {
    expect(endOf(() => newWish(OURS, [' ']))).toBe('usage/no_resources');
  });
});

describe('a change', () => {
  test.each<[readonly string[], WishChange, readonly string[] | null]>([
    [['PROCESS_STATUS'], { add: ['SHIPMENT'] }, ['PROCESS_STATUS', 'SHIPMENT']],
    [['PROCESS_STATUS', 'SHIPMENT'], { remove: ['SHIPMENT'] }, ['PROCESS_STATUS']],
    [['PROCESS_STATUS'], { add: ['SHIPMENT'], remove: ['PROCESS_STATUS'] }, ['SHIPMENT']],
    [['PROCESS_STATUS'], { resources: ['SHIPMENT'] }, ['SHIPMENT']],
    [['PROCESS_STATUS', 'NEW_KIND'], { add: ['SHIPMENT'] }, ['PROCESS_STATUS', 'NEW_KIND', 'SHIPMENT']],
    [[], { add: ['SHIPMENT'] }, ['SHIPMENT']],
    [['PROCESS_STATUS'], { add: ['PROCESS_STATUS'] }, null],
    [['PROCESS_STATUS'], { remove: ['SHIPMENT'] }, null],
    [['PROCESS_STATUS', 'SHIPMENT'], { resources: ['SHIPMENT', 'PROCESS_STATUS'] }, null],
    [['PROCESS_STATUS'], { url: OURS }, null],
  ])('of %j by %j is %j', (resources, change, expected) => {
    const wish = changedWish(held(resources), checkedChange(change));
    expect(wish?.resources ?? null).toEqual(expected);
  });

  test('of the address alone keeps the list', () => {
    const url = 'https://etl.example.com/other';
    expect(changedWish(held(['SHIPMENT']), { url })).toEqual({ url, resources: ['SHIPMENT'] });
  });

  test.each<[WishChange, string]>([
    [{}, 'usage/no_change'],
    [{ resources: ['SHIPMENT'], add: ['SHIPMENT'] }, 'usage/contradiction'],
    [{ resources: ['SHIPMENT'], remove: ['SHIPMENT'] }, 'usage/contradiction'],
    [{ add: ['SHIPMENT'], remove: ['shipment'] }, 'usage/contradiction'],
    [{ add: ['ORDERS'] }, 'usage/bad_resource'],
    [{ remove: ['ORDERS'] }, 'usage/bad_resource'],
    [{ url: 'http://etl.example.com' }, 'usage/not_https'],
  ])('by %j is refused: %s', (change, end) => {
    expect(endOf(() => checkedChange(change))).toBe(end);
  });

  test.each<[Subscription, WishChange, string]>([
    [held(['SHIPMENT']), { remove: ['SHIPMENT'] }, 'usage/no_resources'],
    [held(['SHIPMENT']), { resources: [] }, 'usage/no_resources'],
    [held(['SHIPMENT'], null), { add: ['PROCESS_STATUS'] }, 'failed/no_url'],
  ])('of %j by %j is refused: %s', (current, change, end) => {
    expect(endOf(() => changedWish(current, change))).toBe(end);
  });
});

describe('one subscription per address', () => {
  const others = [held(['SHIPMENT']), { ...held(['SHIPMENT'], null), id: '5002' }];

  test.each([OURS, 'https://ETL.example.com/push', 'https://etl.example.com:443/push'])('%s is taken', (url) => {
    expect(endOf(() => refuseTakenUrl({ url, resources: ['SHIPMENT'] }, others))).toBe('usage/url_taken');
  });

  test.each(['https://etl.example.com/push/', 'https://etl.example.com/Push', 'https://etl.example.com'])(
    '%s is free',
    (url) => {
      expect(refuseTakenUrl({ url, resources: ['SHIPMENT'] }, others)).toBeUndefined();
    },
  );
});

test.each([
  [['wait', '1000001'], 'wait 1000001'],
  [['wait', '1; rm -rf ~'], "wait '1; rm -rf ~'"],
  [['wait', "a'$(b)"], "wait 'a'\\''$(b)'"],
  [['wait', ''], "wait ''"],
])('%j is a command to paste: %s', (words, text) => {
  expect(commandLine(...words)).toBe(`partner-etl subscriptions ${text}`);
});
