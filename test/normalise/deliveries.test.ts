import { describe, expect, test } from 'vitest';
import { pushDeliveries, pushMessages } from '../../pipelines/push-messages.ts';
import { quoteList } from '../../src/engine/duckdb.ts';
import type { TakenDeliveries } from '../../src/normalise/deliveries.ts';
import { AT, type Given, lineOf, useDeliveries } from './deliveries-scene.ts';

const scene = useDeliveries();
const { take, select, messages } = scene;

const days = ({ slices }: TakenDeliveries) => slices.map(({ pipeline, content }) => `${pipeline.name} ${content.day}`);

const a = (at: string, fetch: string, place: number, body?: string): Given => ({
  ...{ message: 'a', timestamp: AT, at, fetch, place },
  ...(body === undefined ? {} : { body }),
});

describe('deliveries', () => {
  test('of one message are one row, which says how often and when', async () => {
    const first = await take([a('2026-03-20T10:00:01.000Z', 's1', 0), a('2026-03-20T10:01:01.000Z', 's1', 1)]);
    expect([first.newMessages, first.duplicates, first.rejects]).toEqual([1, 1, 0]);
    expect(await messages()).toEqual(['a 2026-03-20 20 10:00 20 10:01 2 1 s1-0']);
    const later = await take([a('2026-03-21T00:03:00.000Z', 's2', 0)]);
    expect([later.newMessages, later.duplicates]).toEqual([0, 1]);
    expect(days(later)).toEqual(['push-deliveries 2026-03-21', 'push-messages 2026-03-20']);
    expect(await messages()).toEqual(['a 2026-03-20 20 10:00 21 00:03 3 1 s1-0']);
    expect(await select(pushDeliveries, 'delivery_id, received_on')).toEqual([
      's1-0 2026-03-20',
      's1-1 2026-03-20',
      's2-0 2026-03-21',
    ]);
  });

  test('that are taken in again change nothing, alone or beside new ones', async () => {
    const known = [a('2026-03-20T10:00:01.000Z', 's1', 0), a('2026-03-20T10:01:01.000Z', 's1', 1)];
    await take(known);
    const again = await take(known);
    expect([again.newMessages, again.duplicates, again.slices.length]).toEqual([0, 2, 0]);
    await take([...known, a('2026-03-20T10:03:00.000Z', 's2', 0)]);
    expect(await messages()).toEqual(['a 2026-03-20 20 10:00 20 10:03 3 1 s1-0']);
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
      'a 2026-03-20 20 23:59 21 00:01 2 1 s1-7',
      'b 2026-03-21 21 00:02 21 00:02 1 1 s2-1',
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
    const [slice] = [...scene.lake.get('push-messages')!.values()];
    const rows = await scene.engine.rows(
      `SELECT resource_id FROM read_parquet(${quoteList([slice!.file!])}, file_row_number = true) ORDER BY file_row_number`,
    );
    expect(rows.map(({ resource_id: id }) => id)).toEqual(['late', 'a']);
  });
});
