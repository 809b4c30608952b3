/** Schedule and check holds in the state, whichever engine holds it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { State } from '../../../src/store/state.ts';
import { readCheckHolds, readReleased, writeCheckHolds, writeReleased } from '../../../src/store/tables/check-holds.ts';
import { addErased, countErased, noteErasure, readErased } from '../../../src/store/tables/erased.ts';
import { readSchedule, type ScheduleState, writeSchedule } from '../../../src/store/tables/scheduled.ts';
import type { StatePlace } from '../conformance.ts';

const AT = '2026-03-20T04:30:00.000Z';

export function smallStateConformance(newPlace: () => Promise<StatePlace>): void {
  let place: StatePlace;
  let state: State;
  beforeEach(async () => {
    place = await newPlace();
    state = await place.open();
  });
  afterEach(async () => {
    await state.close();
    await place.remove();
  });

  test('a schedule is read as it was written, and null before that', async () => {
    expect(await readSchedule(state.db)).toBeNull();
    const last = { due_at: AT, started_at: AT, finished_at: null, result: null, run_id: null, tries: 2 };
    const schedule: ScheduleState = {
      orders: { handled_until: AT, last },
      promotions: { handled_until: AT, last: null },
      commissions: { handled_until: AT, last: { ...last, finished_at: AT, result: 'done', run_id: 'r1' } },
    };
    await writeSchedule(state, schedule);
    expect(await readSchedule(state.db)).toEqual(schedule);
    await writeSchedule(state, { orders: { handled_until: AT, last: null } });
    expect(await readSchedule(state.db)).toEqual({ orders: { handled_until: AT, last: null } });
  });

  test('what checks hold is kept by target, and replaced by what they hold then', async () => {
    const hold = {
      pipeline: 'orders',
      slice_day: '2026-03-18',
      reason: 'check',
      detail: 'two rows',
      digest: 'd1',
      rows: 3,
      rows_before: 0,
      fetch_id: 'f1',
      held_at: AT,
      check_name: 'order_items_history',
      fix: 'partner-etl replay orders 2026-03-18',
    };
    await writeCheckHolds(state, 'duckdb', [hold, { ...hold, slice_day: '2026-03-17' }]);
    await writeCheckHolds(state, 'postgres', [hold]);
    await writeCheckHolds(state, 'duckdb', [{ ...hold, rows: 4 }]);
    expect(await readCheckHolds(state.db, 'duckdb')).toEqual([{ target: 'duckdb', ...hold, rows: 4 }]);
    expect((await readCheckHolds(state.db)).map(({ target }) => target)).toEqual(['duckdb', 'postgres']);
    await writeCheckHolds(state, 'duckdb', []);
    expect(await readCheckHolds(state.db, 'duckdb')).toEqual([]);
  });

  test('what was erased is added to, under the key that it began with, and an erasure is noted once', async () => {
    expect(await readErased(state.db)).toEqual({ key: null, values: [] });
    const value = { kind: 'order-id', hmac: 'aa', chars: 10, mark: 'erased-1' } as const;
    await addErased(state, 'k1', [value]);
    await addErased(state, 'k2', [
      { ...value, mark: 'erased-9' },
      { ...value, kind: 'sub-id' },
    ]);
    expect(await readErased(state.db)).toEqual({ key: 'k1', values: [value, { ...value, kind: 'sub-id' }] });
    expect(await countErased(state.db)).toBe(2);
    const row = { erasure_id: 'r1', began_at: AT, ended_at: null, is_complete: 0, asked: '{}', found: null };
    await noteErasure(state, row);
    await noteErasure(state, { ...row, ended_at: AT, is_complete: 1, found: '{"lake":1}' });
    const noted = await state.db.selectFrom('erasure').selectAll().execute();
    expect(noted).toMatchObject([{ erasure_id: 'r1', ended_at: AT, is_complete: 1, found: '{"lake":1}' }]);
  });

  test('what is released stays so since it first was', async () => {
    await writeReleased(state, new Map([['d1', AT]]));
    await writeReleased(
      state,
      new Map([
        ['d1', 'later'],
        ['d2', AT],
      ]),
    );
    expect(await readReleased(state.db)).toEqual(
      new Map([
        ['d1', AT],
        ['d2', AT],
      ]),
    );
  });
}
