import { describe, expect, test } from 'vitest';
import { orders } from '../../../pipelines/orders.ts';
import type { DriftRecord, FetchRecord } from '../../../src/core/records.ts';
import type { HoldRecord } from '../../../src/warehouse/target.ts';
import { day, publicationOf, runRecord } from '../../support/slices.ts';
import { type NewWarehouse, rowsOf, useBench } from '../bench.ts';

const FIRST = day('2026-03-01');

export const fetchRecord = (id: string, fields: Partial<FetchRecord> = {}): FetchRecord => ({
  fetch_id: id,
  run_id: 'r1',
  pipeline: 'orders',
  window_from: FIRST,
  window_to: FIRST,
  method: 'GET',
  url: 'https://partner.test/orders?a=1&b=2',
  attempt: 1,
  started_at: '2026-03-02T03:00:00.001Z',
  finished_at: `2026-03-02T03:00:0${id.slice(-1)}.999Z`,
  status: 200,
  content_type: 'application/json',
  bytes_received: 2 ** 40 + 1,
  bytes_decoded: 2 ** 41 + 1,
  sha256: 'ab',
  raw_path: 'raw/x.gz',
  items: 12,
  outcome: 'ok',
  error_code: null,
  error_message: null,
  ...fields,
});

const driftRecord = (fetchId: string, count: number, example: string): DriftRecord => ({
  pipeline: 'orders',
  fetch_id: fetchId,
  kind: 'unknown_field',
  field: 'bonus',
  count,
  example,
});

const holdRecord = (on: string, rows: number): HoldRecord => ({
  pipeline: 'orders',
  slice_day: day(on),
  reason: 'shrunk',
  detail: "it's 90 % less",
  digest: 'd',
  rows,
  rows_before: 100,
  fetch_id: 'f1',
  held_at: '2026-03-02T03:00:00.000Z',
});

export function recording(newWarehouse: NewWarehouse): void {
  const bench = useBench(newWarehouse);
  let made = 0;
  /** Publishes one changed slice with the given records. */
  const publish = async (runId: string, fields: Parameters<typeof publicationOf>[2] = {}) => {
    made += 1;
    const slice = await bench.maker.make(orders, FIRST, [{ order_id: String(made), order_item_id: '1' }]);
    await bench.target.publish(publicationOf(runId, [slice], fields));
  };
  const rows = (sql: string) => rowsOf(bench.target, sql);

  describe('bookkeeping', () => {
    test('a fetch whose answer was pruned says when: told with it, or later', async () => {
      const at = '2026-06-01T02:00:00.000Z';
      await publish('r1', { fetches: [fetchRecord('f1'), fetchRecord('f2'), fetchRecord('f3', { pruned_at: at })] });
      await publish('r2', {
        pruned: [
          { fetch_id: 'f1', pruned_at: at },
          { fetch_id: 'unknown', pruned_at: at },
        ],
      });
      const found = await rows(`SELECT fetch_id, pruned_at = TIMESTAMPTZ '${at}' FROM etl.fetch ORDER BY fetch_id`);
      expect(found.map(([id, isThen]) => [id, isThen])).toEqual([
        ['f1', true],
        ['f2', null],
        ['f3', true],
      ]);
    });

    test('a receipt tells the content and where it came from', async () => {
      const { maker, target } = bench;
      const content = { settled: true, duplicates: 2, version: 7, fetched_at: '2026-03-02T03:00:00.123Z' };
      const slice = await maker.make(
        orders,
        FIRST,
        [{ order_id: 'a', order_item_id: '1', quantity: '9223372036854775807' }],
        {
          content,
          rejects: [{}],
          fetchId: 'f9',
        },
      );
      await target.publish(publicationOf('r1', [slice]));
      const columns = 'pipeline, slice_day, digest, version, rows, rejects, duplicates, settled, fetch_id, run_id';
      expect(await rows(`SELECT ${columns} FROM etl.receipt`)).toEqual([
        ['orders', FIRST, slice.content.digest, '7', '1', '1', '2', true, 'f9', 'r1'],
      ]);
      expect(await rows(`SELECT fetched_at = TIMESTAMPTZ '2026-03-02 03:00:00.123Z' FROM etl.receipt`)).toEqual([
        [true],
      ]);
      expect(await rows(`SELECT sums->>'quantity', sums->>'commission' FROM etl.receipt`)).toEqual([
        ['9223372036854775807', null],
      ]);
    });

    test('a run that is recorded again is replaced, and the newest is known', async () => {
      await publish('r2', { runs: [runRecord('r1')] });
      const ended = runRecord('r2', {
        ended_at: '2026-01-02T04:00:00.000Z',
        result: 'done',
        exit_code: 0,
        pipelines: ['a', 'b'],
      });
      await publish('r3', { runs: [ended] });
      expect(await rows(`SELECT run_id, result, exit_code FROM etl.run ORDER BY 1`)).toEqual([
        ['r1', null, null],
        ['r2', 'done', '0'],
        ['r3', null, null],
      ]);
      expect(await rows(`SELECT pipelines->>1 FROM etl.run WHERE run_id = 'r2'`)).toEqual([['b']]);
      expect((await bench.target.state()).lastRunId).toBe('r3');
    });

    test('a run that is not over is recorded, and is not the newest that is known: more of it is to come', async () => {
      await publish('r1', {});
      await publish('r2', { run: runRecord('r2', { ended_at: null }) });
      expect(await rows('SELECT run_id FROM etl.run WHERE ended_at IS NULL')).toEqual([['r2']]);
      expect((await bench.target.state()).lastRunId).toBe('r1');
    });

    test('a fetch is recorded once, as it was first told', async () => {
      const failed = fetchRecord('f2', { status: null, sha256: null, outcome: 'failed', error_message: 'no\tanswer' });
      await publish('r1', { fetches: [fetchRecord('f1'), failed] });
      await publish('r2', { fetches: [fetchRecord('f1', { items: 99 }), fetchRecord('f3')] });
      expect(await rows('SELECT fetch_id, items, bytes_received, error_message FROM etl.fetch ORDER BY 1')).toEqual([
        ['f1', '12', '1099511627777', null],
        ['f2', '12', '1099511627777', 'no\tanswer'],
        ['f3', '12', '1099511627777', null],
      ]);
    });

    test('what a newer program adds to a record is passed over', async () => {
      await publish('r1', { fetches: [{ ...fetchRecord('f1'), mood: 'good' } as FetchRecord] });
      expect(await rows('SELECT count(*) FROM etl.fetch')).toEqual([['1']]);
    });

    test('drift of one fetch counts once however often it is told; over fetches it adds up', async () => {
      await publish('r1', { fetches: [fetchRecord('f1')], drift: [driftRecord('f1', 3, 'x')] });
      await publish('r2', { fetches: [fetchRecord('f1')], drift: [driftRecord('f1', 3, 'x')] });
      await publish('r3', { fetches: [fetchRecord('f4')], drift: [driftRecord('f4', 4, 'y')] });
      const columns = 'pipeline, kind, field, count, first_fetch_id, last_fetch_id, example';
      expect(await rows(`SELECT ${columns} FROM etl.drift`)).toEqual([
        ['orders', 'unknown_field', 'bonus', '7', 'f1', 'f4', 'x'],
      ]);
      const times = `SELECT first_seen_at = TIMESTAMPTZ '2026-03-02 03:00:01.999Z', last_seen_at = TIMESTAMPTZ '2026-03-02 03:00:04.999Z' FROM etl.drift`;
      expect(await rows(times)).toEqual([[true, true]]);
    });

    test('holds are those that stand now', async () => {
      await publish('r1', { holds: [holdRecord('2026-02-01', 5), holdRecord('2026-02-02', 6)] });
      await publish('r2', { holds: [holdRecord('2026-02-02', 7)] });
      expect(await rows('SELECT slice_day, rows, detail FROM etl.hold')).toEqual([
        ['2026-02-02', '7', "it's 90 % less"],
      ]);
    });
  });
}
