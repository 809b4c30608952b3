import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { pushDeliveries, pushMessages } from '../../pipelines/push-messages.ts';
import type { Pipeline } from '../../src/core/pipeline.ts';
import { Engine, quoteList } from '../../src/engine/duckdb.ts';
import { type TakenDeliveries, takeDeliveries } from '../../src/normalise/deliveries.ts';
import { linesSource } from '../../src/normalise/told.ts';
import type { Held } from '../../src/normalise/told-slices.ts';

/** A delivery as a test spells it: which message, when, in which segment at which place. */
interface Given {
  readonly message: string;
  /** Time of the message. */
  readonly timestamp: string;
  /** Time of the delivery. */
  readonly at: string;
  readonly segment: string;
  readonly position: number;
  readonly body?: string;
}

let folder: string;
let engine: Engine;
let lake: Map<string, Map<string, { file: string | null; rejectsFile: string | null; digest: string }>>;
let rounds = 0;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'etl-deliveries-'));
  engine = await Engine.open({ tempDir: path.join(folder, 'spill') });
});
afterAll(async () => {
  engine.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => {
  lake = new Map();
});
afterEach(async () => {
  expect(await tablesLeft()).toEqual([]);
});

async function tablesLeft(): Promise<string[]> {
  const rows = await engine.rows(`SELECT table_name FROM information_schema.tables`);
  return rows.map(({ table_name: name }) => String(name));
}

function lineOf({ message, timestamp, at, segment, position, body = '' }: Given, i: number) {
  return {
    _i: String(i),
    _f: segment,
    _raw: `{"message":"${message}"}`,
    retailerId: '1234567',
    timestamp,
    resource: 'PROCESS_STATUS',
    type: 'SUCCESS',
    resourceId: message,
    metadata: `[{"key":"from","value":"${segment}/${position}"}]`,
    keyId: '0',
    bodySha256: `${message}${body}`,
    receivedOn: at.slice(0, 10),
    receivedAt: at,
    firstDeliveredAt: at,
    lastDeliveredAt: at,
    deliveries: '1',
    bodies: '1',
    segment,
    position: String(position),
    sourceAddress: '127.0.0.1',
  };
}

function heldOf(pipeline: Pipeline): Held {
  const slices = lake.get(pipeline.name) ?? new Map();
  const before = [...slices.values()];
  return {
    knownFiles: before.flatMap((slice) => slice.file ?? []),
    rejectFiles: before.flatMap((slice) => slice.rejectsFile ?? []),
    slice: (day) => slices.get(day) ?? { file: null, rejectsFile: null },
    digest: (day) => slices.get(day)?.digest ?? null,
  };
}

/** Takes deliveries in and commits what comes of it. */
async function take(given: readonly Given[], more: readonly object[] = []): Promise<TakenDeliveries> {
  const file = path.join(folder, `${rounds++}.ndjson`);
  const lines = [...given.map(lineOf), ...more].map((line) => `${JSON.stringify(line)}\n`);
  await writeFile(file, lines.join(''));
  const told = (pipeline: Pipeline) => ({ pipeline, lines: lines.length, source: linesSource(pipeline, file, 2000) });
  const result = await takeDeliveries(engine, {
    messages: { told: told(pushMessages), held: heldOf(pushMessages) },
    deliveries: { told: told(pushDeliveries), held: heldOf(pushDeliveries) },
    refusedFiles: [],
    fetchId: 'f-none',
    atMs: Date.parse('2026-03-22T02:00:00Z'),
    timeZone: 'UTC',
    outDir: path.join(folder, `out-${rounds++}`),
  });
  for (const { pipeline, content, file: rows, rejectsFile } of result.slices) {
    const slices = lake.get(pipeline.name) ?? new Map();
    lake.set(pipeline.name, slices.set(content.day, { file: rows, rejectsFile, digest: content.digest }));
  }
  return result;
}

async function select(pipeline: Pipeline, columns: string, order = '1'): Promise<string[]> {
  const files = [...(lake.get(pipeline.name)?.values() ?? [])].flatMap(({ file }) => file ?? []);
  if (files.length === 0) return [];
  const rows = await engine.rows(
    `SELECT concat_ws(' ', ${columns}) AS text FROM read_parquet(${quoteList(files)}) ORDER BY ${order}`,
  );
  return rows.map(({ text }) => String(text));
}

const SEEN = `resource_id, received_on, strftime(first_delivered_at, '%d %H:%M'), strftime(last_delivered_at, '%d %H:%M'), deliveries, bodies, fetch_id, position`;
const messages = () => select(pushMessages, SEEN);
const days = ({ slices }: TakenDeliveries) => slices.map(({ pipeline, content }) => `${pipeline.name} ${content.day}`);

const AT = '2026-03-20T10:00:00.000Z';
const a = (at: string, segment: string, position: number, body?: string): Given => ({
  ...{ message: 'a', timestamp: AT, at, segment, position },
  ...(body === undefined ? {} : { body }),
});

describe('deliveries', () => {
  test('of one message are one row, which says how often and when', async () => {
    const first = await take([a('2026-03-20T10:00:01.000Z', 's1', 0), a('2026-03-20T10:01:01.000Z', 's1', 1)]);
    expect([first.newMessages, first.duplicates, first.rejects]).toEqual([1, 1, 0]);
    expect(await messages()).toEqual(['a 2026-03-20 20 10:00 20 10:01 2 1 s1 0']);
    const later = await take([a('2026-03-21T00:03:00.000Z', 's2', 0)]);
    expect([later.newMessages, later.duplicates]).toEqual([0, 1]);
    expect(days(later)).toEqual(['push-deliveries 2026-03-21', 'push-messages 2026-03-20']);
    expect(await messages()).toEqual(['a 2026-03-20 20 10:00 21 00:03 3 1 s1 0']);
    expect(await select(pushDeliveries, 'segment, position, received_on')).toEqual([
      's1 0 2026-03-20',
      's1 1 2026-03-20',
      's2 0 2026-03-21',
    ]);
  });

  test('that are taken in again change nothing, alone or beside new ones', async () => {
    const known = [a('2026-03-20T10:00:01.000Z', 's1', 0), a('2026-03-20T10:01:01.000Z', 's1', 1)];
    await take(known);
    const again = await take(known);
    expect([again.newMessages, again.duplicates, again.slices.length]).toEqual([0, 2, 0]);
    await take([...known, a('2026-03-20T10:03:00.000Z', 's2', 0)]);
    expect(await messages()).toEqual(['a 2026-03-20 20 10:00 20 10:03 3 1 s1 0']);
  });

  test('that were earlier than the known ones move the message to their day', async () => {
    await take([a('2026-03-21T00:01:00.000Z', 's2', 0), { ...a('2026-03-21T00:02:00.000Z', 's2', 1), message: 'b' }]);
    const earlier = await take([a('2026-03-20T23:59:00.000Z', 's1', 7)]);
    expect(days(earlier)).toEqual([
      'push-deliveries 2026-03-20',
      'push-messages 2026-03-20',
      'push-messages 2026-03-21',
    ]);
    expect(await messages()).toEqual([
      'a 2026-03-20 20 23:59 21 00:01 2 1 s1 7',
      'b 2026-03-21 21 00:02 21 00:02 1 1 s2 1',
    ]);
    expect(await select(pushMessages, "resource_id, metadata->>'$[0].value'")).toEqual(['a s1/7', 'b s2/1']);
  });

  test('of one message that say different things are told once as drift, and the first one counts', async () => {
    const one = await take([a('2026-03-20T10:00:01.000Z', 's1', 0), a('2026-03-20T10:01:01.000Z', 's1', 1, '!')]);
    expect(one.drift).toMatchObject([
      { kind: 'same_message_other_body', count: 1, example: 'PROCESS_STATUS SUCCESS a' },
    ]);
    expect(await select(pushMessages, 'bodies, body_sha256')).toEqual(['2 a']);
    expect((await take([a('2026-03-20T10:03:00.000Z', 's2', 0)])).drift).toEqual([]);
  });

  test('with another time, type or id are other messages', async () => {
    await take([
      a('2026-03-20T10:00:01.000Z', 's1', 0),
      { ...a('2026-03-20T10:00:01.000Z', 's1', 1), timestamp: '2026-03-20T10:00:00.001Z' },
      { ...a('2026-03-20T10:00:01.000Z', 's1', 2), timestamp: '2026-03-20T11:00:00+01:00' },
    ]);
    expect(await select(pushMessages, 'strftime("timestamp", \'%H:%M:%S.%g\'), deliveries')).toEqual([
      '10:00:00.000 2',
      '10:00:00.001 1',
    ]);
  });

  test('that cannot be rows are rejects with their raw text, once', async () => {
    const bad = { ...lineOf(a('2026-03-20T10:00:01.000Z', 's1', 0), 0), timestamp: 'soon' };
    const first = await take([], [bad]);
    expect([first.rejects, first.newMessages, days(first)]).toEqual([1, 0, ['push-messages 2026-03-20']]);
    expect(first.slices[0]?.content).toMatchObject({ rows: 0, rejects: 1 });
    const again = await take([], [bad]);
    expect([again.rejects, again.slices.length]).toEqual([1, 0]);
  });

  test('in the files of a day stand in the order of their own timestamps', async () => {
    const late = { ...a('2026-03-20T10:00:02.000Z', 's1', 0), message: 'late', timestamp: '2026-03-20T09:00:00Z' };
    await take([a('2026-03-20T10:00:01.000Z', 's1', 1), late]);
    const [slice] = [...lake.get('push-messages')!.values()];
    const rows = await engine.rows(
      `SELECT resource_id FROM read_parquet(${quoteList([slice!.file!])}, file_row_number = true) ORDER BY file_row_number`,
    );
    expect(rows.map(({ resource_id: id }) => id)).toEqual(['late', 'a']);
  });
});

/** What the table must hold of deliveries, whatever way they came in. */
function expected(all: readonly Given[]): string[] {
  const byMessage = new Map<string, Given[]>();
  for (const one of all) byMessage.set(one.message, [...(byMessage.get(one.message) ?? []), one]);
  const order = (x: Given, y: Given) =>
    x.at.localeCompare(y.at) || x.segment.localeCompare(y.segment) || x.position - y.position;
  return [...byMessage.values()]
    .map((ones) => {
      const [first, last] = [[...ones].sort(order)[0]!, ones.reduce((m, { at }) => (at > m ? at : m), '')];
      const minute = (at: string) => `${at.slice(8, 10)} ${at.slice(11, 16)}`;
      const bodies = new Set(ones.map(({ body }) => body)).size;
      return `${first.message} ${first.at.slice(0, 10)} ${minute(first.at)} ${minute(last)} ${ones.length} ${bodies} ${first.segment} ${first.position}`;
    })
    .sort();
}

test('whatever the order of segments, and however often one is taken in, the rows are the same', async () => {
  const given = fc.record({
    message: fc.constantFrom('a', 'b', 'c', 'd'),
    minute: fc.integer({ min: 0, max: 3000 }),
    body: fc.constantFrom('', '!'),
  });
  const history = fc.array(fc.array(given, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 });
  const rounds = fc.array(fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(history, rounds, async (segments, order) => {
      lake = new Map();
      const start = Date.parse(AT);
      const spelled = segments.map((ones, s) =>
        ones.map(({ message, minute, body }, position): Given => {
          const at = new Date(start + minute * 60_000).toISOString();
          return { message, timestamp: AT, at, segment: `s${s}`, position, body };
        }),
      );
      for (const round of order) await take(round.flatMap((s) => spelled[s] ?? []));
      await take(spelled.flat());
      expect(await messages()).toEqual(expected(spelled.flat()));
    }),
    { numRuns: 12, seed: 4 },
  );
});
