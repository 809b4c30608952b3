import { describe, expect, test } from 'vitest';
import { subscriptions } from '../../pipelines/subscriptions.ts';
import { parseDocument } from '../../src/json/exact-json.ts';
import { countRecords } from '../../src/sources/reader.ts';
import { answerOf } from '../extract/lookup-scene.ts';
import { readAnswers } from './reading.ts';

const linesOf = async (body: unknown) => {
  const { lines, drift } = await readAnswers(subscriptions, [], [answerOf(null, body, { fetch_id: 'f7' })]);
  return { lines, drift };
};

const URL = 'https://hook.example.org/push';
const one = (fields: Readonly<Record<string, unknown>> = {}) => ({
  id: 5001,
  resources: ['SHIPMENT', 'PROCESS_STATUS'],
  url: URL,
  ...fields,
});
const list = (...subscriptions: unknown[]) => ({ subscriptions });

describe('the list of subscriptions', () => {
  test('becomes a line each, resources in alphabetical order and each once', async () => {
    const { lines, drift } = await linesOf(
      list(one(), one({ id: '5002', resources: ['SHIPMENT', 'SHIPMENT'] }), one({ id: 'a-3', resources: [] })),
    );
    const told = { _f: 'f7', observedOn: '2026-03-20', observedFrom: '2026-03-20T02:00:00.123Z' };
    expect(lines).toEqual([
      {
        _i: '0',
        ...told,
        id: '5001',
        url: URL,
        resources: '["PROCESS_STATUS","SHIPMENT"]',
        _raw: expect.stringContaining('5001'),
      },
      { _i: '1', ...told, id: '5002', url: URL, resources: '["SHIPMENT"]', _raw: expect.stringContaining('5002') },
      { _i: '2', ...told, id: 'a-3', url: URL, resources: '[]', _raw: expect.stringContaining('a-3') },
    ]);
    expect(drift).toEqual([]);
  });

  test('without any is a list of nothing', async () => {
    expect(await linesOf(list())).toEqual({ lines: [], drift: [] });
  });

  test('keeps what is unknown, or of another type, apart, and tells it', async () => {
    const { lines, drift } = await linesOf(list(one({ url: false, since: '2026', resources: 'SHIPMENT' })));
    expect(lines[0]).toMatchObject({ resources: '[]', _x: '{"resources":"SHIPMENT","since":"2026","url":false}' });
    expect(lines[0]).not.toHaveProperty('url');
    expect(drift.map(({ kind, field }) => `${kind} ${field}`).sort()).toEqual([
      'unknown_field resources',
      'unknown_field since',
      'unknown_field url',
    ]);
  });

  test('tells what was fixed in its texts', async () => {
    const { lines, drift } = await linesOf('{"subscriptions":[{"id":"1","url":"https://a\\u0000.example.org"}]}');
    expect(lines).toMatchObject([{ url: 'https://a.example.org' }]);
    expect(drift).toMatchObject([{ pipeline: 'subscriptions', kind: 'nul_removed', field: 'url', count: 1 }]);
  });

  test.each([
    ['no JSON', '<html>', 'not_json'],
    ['no object', [one()], 'not_an_object'],
    ['no list', { subscriptions: null }, 'no_subscriptions'],
    ['another list', { signatureKeys: [] }, 'no_subscriptions'],
    ['one that is no object', list(one(), 7), 'not_an_object'],
    ['one without an id', list(one(), { url: URL }), 'no_id'],
    ['an id that none can be', list(one({ id: '..' })), 'bad_id'],
    ['an id that fits no key', list(one({ id: 'x'.repeat(129) })), 'bad_id'],
    ['more than can be', list(one({ url: `https://${'x'.repeat(1024 * 1024)}` })), 'answer_too_large'],
  ])('with %s is refused whole', async (_, body, code) => {
    await expect(linesOf(body)).rejects.toMatchObject({ kind: 'failed', code });
  });

  test('is counted before it is stored, by the same rules', () => {
    expect(countRecords(subscriptions, parseDocument(JSON.stringify(list(one(), one({ id: '2' })))))).toBe(2);
    expect(() => countRecords(subscriptions, parseDocument('{}'))).toThrow(
      expect.objectContaining({ code: 'no_subscriptions' }),
    );
  });
});
