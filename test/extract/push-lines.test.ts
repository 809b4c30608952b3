import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pushDeliveries, pushMessages } from '../../pipelines/push-messages.ts';
import type { Pipeline } from '../../src/core/pipeline.ts';
import { Engine } from '../../src/engine/duckdb.ts';
import { type DeliveryLines, PushLines, type TakenFetch } from '../../src/extract/push-lines.ts';
import { linesSource, readObserved } from '../../src/normalise/observed.ts';
import type { Delivery, StoredDelivery } from '../../src/store/tables/inbox.ts';
import { delivery, deliveryOf } from '../support/inbox.ts';
import { linesIn } from './lookup-scene.ts';

const ZONE = 'Europe/Amsterdam';
const FETCH = 'f01jx3m5n7p9qrstvwx';

interface Outcome extends DeliveryLines {
  readonly folder: string;
  readonly taken: readonly TakenFetch[];
  readonly told: Record<string, string>[];
  readonly rejects: Record<string, string>[];
}

async function* stored(deliveries: readonly Delivery[], n: number): AsyncGenerator<StoredDelivery> {
  for (const [i, one] of deliveries.entries()) yield { ...one, deliveryId: `d${n}-${i}` };
}

/** The lines of fetches, which are called FETCH, FETCH1, FETCH2 …; deliveries are called d0-0, d0-1, d1-0 … */
async function linesOf(...fetches: readonly (readonly Delivery[])[]): Promise<Outcome> {
  const folder = await mkdtemp(path.join(tmpdir(), 'etl-push-lines-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const lines = await PushLines.open(folder, 'push-messages', ZONE);
  const taken: TakenFetch[] = [];
  for (const [i, deliveries] of fetches.entries())
    taken.push(await lines.take(`${FETCH}${i || ''}`, stored(deliveries, i)));
  const files = await lines.close();
  return { ...files, folder, taken, told: await linesIn(files.file), rejects: await linesIn(files.unreadable.file) };
}

/** A delivery at two in the morning of 20 March 2026, UTC, of a message with that event and those other members. */
function message(event: string, more = '', timestamp = '2026-03-20T02:59:58.5+01:00'): Delivery {
  return deliveryOf(`{"retailerId":1234567,"timestamp":"${timestamp}"${more},"event":${event}}`);
}

const EVENT = '{"resource":"PROCESS_STATUS","type":"SUCCESS","resourceId":"77"}';

const FULL = message(
  '{"resource":"SHIPMENT","type":"UPDATE_TRANSPORT_EVENT","resourceId":"9007199254740993","metadata":[{"value":"é","key":"k"}],"links":[{"method":"GET","href":"https://x/1"}],"weight":1.50}',
  ',"sent":{"b":1,"a":[2.0]}',
);

describe('a delivery', () => {
  test('becomes a line with the fields of both pipelines, every value as text', async () => {
    const { told, taken, firstDay, unreadable, drift, lines } = await linesOf([delivery(1), FULL]);
    expect(told[1]).toEqual({
      _i: '1',
      _f: FETCH,
      retailerId: '1234567',
      timestamp: '2026-03-20T02:59:58.5+01:00',
      resource: 'SHIPMENT',
      type: 'UPDATE_TRANSPORT_EVENT',
      resourceId: '9007199254740993',
      metadata: '[{"key":"k","value":"é"}]',
      links: '[{"href":"https://x/1","method":"GET"}]',
      keyId: '0',
      sourceAddress: '35.204.195.116',
      bodySha256: FULL.bodySha256,
      receivedOn: '2026-03-20',
      receivedAt: '2026-03-20T02:00:00.000Z',
      firstDeliveredAt: '2026-03-20T02:00:00.000Z',
      lastDeliveredAt: '2026-03-20T02:00:00.000Z',
      observedOn: '2026-03-20',
      observedFrom: '2026-03-20T02:00:00.000Z',
      deliveries: '1',
      bodies: '1',
      deliveryId: 'd0-1',
      _x: '{"event":{"weight":1.50},"sent":{"a":[2.0],"b":1}}',
      _raw: Buffer.from(FULL.body).toString(),
    });
    expect(taken).toEqual([{ deliveries: 2, firstAtMs: FULL.receivedAtMs, lastAtMs: delivery(1).receivedAtMs }]);
    expect([firstDay, unreadable.lines, lines]).toEqual(['2026-03-20', 0, 2]);
    expect(drift.map(({ kind, field }) => `${kind} ${field}`)).toEqual([
      'unknown_field sent',
      'unknown_field event.weight',
    ]);
  });

  test('without metadata, links and unknown members has no such fields', async () => {
    const { told, drift } = await linesOf([message(EVENT)]);
    for (const field of ['metadata', 'links', '_x']) expect(told[0]).not.toHaveProperty(field);
    expect(drift).toEqual([]);
  });

  test('is a line though the same was delivered before, and fetches are numbered through', async () => {
    const { told, taken } = await linesOf([FULL, FULL], [], [FULL]);
    expect(told.map(({ _i, _f, deliveryId }) => `${_i} ${_f} ${deliveryId}`)).toEqual([
      `0 ${FETCH} d0-0`,
      `1 ${FETCH} d0-1`,
      `2 ${FETCH}2 d2-0`,
    ]);
    expect(taken[1]).toEqual({ deliveries: 0, firstAtMs: null, lastAtMs: null });
  });

  test('belongs to its day in the time zone', async () => {
    const late = { ...message(EVENT), receivedAtMs: Date.parse('2026-03-20T23:00:00Z') };
    const summer = { ...message(EVENT), receivedAtMs: Date.parse('2026-07-01T22:00:00Z') };
    const { told } = await linesOf([late, summer]);
    expect(told.map(({ receivedOn }) => receivedOn)).toEqual(['2026-03-21', '2026-07-02']);
  });

  test('is cut in what a person would look at, and nowhere else', async () => {
    const big = message(EVENT.replace('}', `,"metadata":[{"key":"k","value":"${'é'.repeat(100_000)}"}]}`));
    const { told, longestLineBytes } = await linesOf([big]);
    expect(Buffer.byteLength(told[0]!._raw!)).toBeLessThanOrEqual(64 * 1024);
    expect(told[0]!.metadata).toHaveLength('[{"key":"k","value":""}]'.length + 100_000);
    expect(longestLineBytes).toBeGreaterThan(264_000);
  });
});

test.each([
  ['received', [message(EVENT)], '2026-03-20'],
  [
    'told of by a message',
    [message(EVENT), message(EVENT, '', '2026-03-01T00:30:00+01:00'), message(EVENT)],
    '2026-03-01',
  ],
  ['told of by a message, in the time zone', [message(EVENT, '', '2026-03-01T23:30:00Z')], '2026-03-02'],
  ['told of by a message, though it is of the future', [message(EVENT, '', '2027-03-01T23:30:00Z')], '2026-03-20'],
  ['of the earliest time there is', [message(EVENT, '', '1900-01-01T00:00:00+18:00')], '1899-12-31'],
  ['of what cannot be read', [deliveryOf('x')], '2026-03-20'],
  ['of nothing', [], null],
])('the first day is the earliest day %s', async (_, deliveries, day) => {
  expect((await linesOf(deliveries)).firstDay).toBe(day);
});

describe('what cannot be read as a message', () => {
  test.each([
    ['x\0y', 'not_json', /no JSON/, 'x\ufffdy'],
    ['{"retailerId":1}', 'bad_message', /^event must be an object$/, '{"retailerId":1}'],
    ['', 'not_json', /no JSON/, ''],
  ])('is a reject: %j', async (body, reason, detail, raw) => {
    const { told, rejects, unreadable, lines } = await linesOf([message(EVENT), deliveryOf(body), message(EVENT)]);
    expect(rejects).toEqual([
      { fetch_id: FETCH, item: 1, day: '2026-03-20', reason, detail: expect.stringMatching(detail), raw },
    ]);
    expect([told.map(({ _i }) => _i), lines, unreadable.lines]).toEqual([['0', '2'], 2, 1]);
  });
});

describe('drift', () => {
  const kinds = async (...deliveries: Delivery[]) =>
    (await linesOf(deliveries)).drift.map(({ kind, field, count, example }) => `${kind} ${field} ${count} ${example}`);

  test.each([
    ['an unknown resource', [EVENT.replace('PROCESS_STATUS', 'RETURN')], ['unknown_value resource 1 RETURN']],
    [
      'an unknown type',
      [EVENT.replace('SUCCESS', 'DONE'), EVENT.replace('SUCCESS', 'LOST')],
      ['unknown_value type 2 DONE'],
    ],
    ['the type of another resource', [EVENT.replace('PROCESS_STATUS', 'SHIPMENT')], ['unknown_value type 1 SUCCESS']],
    [
      'a resource whose name means something to the language',
      [EVENT.replace('PROCESS_STATUS', 'constructor')],
      ['unknown_value resource 1 constructor'],
    ],
    ['a number for a text', [EVENT.replace('"77"', '77')], ['text_as_number resourceId 1 77']],
    [
      'a NUL and a lone surrogate',
      [EVENT.replace('77', '7\\u00007\\udfff')],
      ['lone_surrogate resourceId 1 ', 'nul_removed resourceId 1 '],
    ],
    ['a member twice', [EVENT.replace('{', '{"type":"x",')], ['duplicate_key type 1 ']],
    [
      'control characters, shown without them',
      [EVENT.replace('SUCCESS', 'A\\u001b[31mB')],
      ['unknown_value type 1 A[31mB'],
    ],
  ])('is %s', async (_, events, expected) => {
    expect((await kinds(...events.map((event) => message(event)))).sort()).toEqual(expected);
  });

  test('is what is no UTF-8, and a NUL in a key’s id', async () => {
    const latin = deliveryOf(
      Buffer.from(`{"retailerId":1,"timestamp":"2026-03-20T02:00:00Z","event":${EVENT.replace('77', 'é')}}`, 'latin1'),
    );
    expect(await kinds({ ...latin, keyId: 'a\0' })).toEqual(['nul_removed keyId 1 ', 'invalid_utf8 body 1 ']);
  });

  test('is a number that Postgres cannot hold in JSON, which is kept as text', async () => {
    const numbers = ['1e1001', '-1E-1001', '1e+99999999999', '9'.repeat(1001), '1e1000', '1.5e-9'];
    const { told, drift } = await linesOf([message(EVENT.replace('}', `,"n":[${numbers.join(',')}]}`))]);
    const texts = numbers.map((number, i) => (i < 4 ? `"${number}"` : number));
    expect(told[0]!._x).toBe(`{"event":{"n":[${texts.join(',')}]}}`);
    expect(drift.find(({ kind }) => kind === 'huge_number')).toMatchObject({ field: 'extra', count: 4 });
  });
});

describe('the lines, read by DuckDB,', () => {
  async function rows(out: Outcome, pipeline: Pipeline, columns: string): Promise<string[]> {
    const engine = await Engine.open({ tempDir: path.join(out.folder, 'spill') });
    onTestFinished(() => engine.close());
    const source = linesSource(pipeline, out.file, out.longestLineBytes);
    await readObserved(engine, { pipeline, source, lines: out.lines }, ZONE);
    const found = await engine.rows(
      `SELECT concat_ws(' ', ${columns}) AS text FROM "observed ${pipeline.name}" ORDER BY _item`,
    );
    return found.map(({ text }) => String(text));
  }

  test.each([pushMessages, pushDeliveries])('fill every column of $name', async (pipeline) => {
    const out = await linesOf([FULL]);
    const names = new Set(Object.keys(out.told[0]!));
    expect(pipeline.columns.filter(({ field }) => !names.has(field))).toEqual([]);
    const missing = pipeline.columns.map(({ column }) => `CASE WHEN "${column}" IS NULL THEN '${column}' END`);
    expect(await rows(out, pipeline, [...missing, '_reject'].join(', '))).toEqual(['']);
  });

  test('are what was received', async () => {
    const out = await linesOf([message(EVENT)], [FULL, { ...FULL, keyId: 'q"\\\n\u001f' }]);
    const at = (column: string) => `strftime("${column}", '%Y-%m-%dT%H:%M:%S.%g')`;
    expect(
      await rows(
        out,
        pushMessages,
        `resource_id, ${at('timestamp')}, received_on, ${at('first_delivered_at')}, deliveries, bodies, delivery_id, fetch_id`,
      ),
    ).toEqual([
      `77 2026-03-20T01:59:58.500 2026-03-20 2026-03-20T02:00:00.000 1 1 d0-0 ${FETCH}`,
      `9007199254740993 2026-03-20T01:59:58.500 2026-03-20 2026-03-20T02:00:00.000 1 1 d1-0 ${FETCH}1`,
      `9007199254740993 2026-03-20T01:59:58.500 2026-03-20 2026-03-20T02:00:00.000 1 1 d1-1 ${FETCH}1`,
    ]);
    expect(await rows(out, pushDeliveries, `delivery_id, ${at('received_at')}, source_address, key_id`)).toEqual([
      `d0-0 2026-03-20T02:00:00.000 35.204.195.116 0`,
      `d1-0 2026-03-20T02:00:00.000 35.204.195.116 0`,
      `d1-1 2026-03-20T02:00:00.000 35.204.195.116 q"\\\n\u001f`,
    ]);
  });

  test('have no reject, whatever form the time of an accepted message has', async () => {
    const given = [
      ['2020-02-02T23:23Z', '2020-02-02 23:23:00.000000'],
      ['2020-02-02T23:23+01', '2020-02-02 22:23:00.000000'],
      ['2020-02-02T23:23-0130', '2020-02-03 00:53:00.000000'],
      ['2020-02-02T23:23:23.1+01:00', '2020-02-02 22:23:23.100000'],
      ['2020-02-02T23:23:23.123456789Z', '2020-02-02 23:23:23.123456'],
      ['2020-02-02T23:23:23+18:59', '2020-02-02 04:24:23.000000'],
      ['2020-02-02T23:23:23-18:59', '2020-02-03 18:22:23.000000'],
      ['1900-01-01T00:00:00+18:00', '1899-12-31 06:00:00.000000'],
      ['9998-12-31T23:59:59.999999-18:00', '9999-01-01 17:59:59.999999'],
    ] as const;
    const out = await linesOf(given.map(([timestamp]) => message(EVENT, '', timestamp)));
    const columns = `strftime("timestamp", '%Y-%m-%d %H:%M:%S.%f'), _reject`;
    expect(await rows(out, pushMessages, columns)).toEqual(given.map(([, instant]) => instant));
  });
});
