/** The lake's table of current files, on either engine. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Day } from '../../../src/core/days.ts';
import type { SliceEntry } from '../../../src/core/slices.ts';
import type { State } from '../../../src/store/state.ts';
import {
  countCommits,
  markChecked,
  type NamedEntry,
  readSlices,
  renameAnswers,
  writeSlices,
} from '../../../src/store/tables/slices.ts';
import type { StatePlace } from '../conformance.ts';

const day = (text: string) => text as Day;

function entry(on: string, fields: Partial<SliceEntry> = {}): SliceEntry {
  const content = {
    ...{ day: day(on), digest: `d-${on}`, rows: 3, rejects: 1, duplicates: 2, settled: true, version: 4 },
    sums: { commission: '12345678901234.567800', quantity: null },
    ...{ fetch_id: 'f1', fetched_at: '2026-03-20T02:00:00.000Z', key_min: 'A␟', key_max: null },
  };
  return { content, file: `lake/${on}`, rejects_file: null, moved: false, held: null, checked: null, ...fields };
}

const BY = { on: day('2026-03-20'), sha256: 'abc', from: day('2026-03-01'), to: day('2026-03-02') };
const HELD = {
  ...{ content: { ...entry('2026-03-01').content, digest: 'held', settled: false, rows: 0, sums: {} }, file: null },
  ...{
    rejects_file: 'rejects/x',
    reason: 'emptied',
    detail: 'few',
    rows_before: 3,
    held_at: '2026-03-20T03:00:00.000Z',
  },
};

export function slicesConformance(newPlace: () => Promise<StatePlace>): void {
  describe('the lake’s table', () => {
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

    const write = (...entries: NamedEntry[]) => state.write((tx) => writeSlices(tx, entries));
    const orders = async () => [...((await readSlices(state.db)).get('orders')?.values() ?? [])];
    const named = (one: SliceEntry, pipeline = 'orders'): NamedEntry => ({ pipeline, entry: one });

    test('gives back what was written, to the last figure, by pipeline and in the order of days', async () => {
      const [one, two] = [entry('2026-03-01', { held: HELD, moved: true }), entry('2026-03-02', { checked: BY })];
      await write(named(two), named(one), named(entry('2026-03-05'), 'promotions'));
      const found = await readSlices(state.db);
      expect([...found].map(([name, slices]) => [name, [...slices]])).toEqual([
        ['orders', [['2026-03-01', one], ['2026-03-02', two]]], // biome-ignore format: one line a pipeline
        ['promotions', [['2026-03-05', entry('2026-03-05')]]],
      ]);
    });

    test('holds one slice a day; what is written over another takes its hold along', async () => {
      await write(named(entry('2026-03-01', { held: HELD })), named(entry('2026-03-02')));
      const other = entry('2026-03-01', { file: null });
      await write(named(other));
      expect(await orders()).toEqual([other, entry('2026-03-02')]);
    });

    test('takes ten years of slices at once', async () => {
      const days = Array.from({ length: 3650 }, (_, i) =>
        new Date(Date.UTC(2016, 0, 1 + i)).toISOString().slice(0, 10),
      );
      await write(...days.map((on) => named(entry(on))));
      await write(...days.map((on) => named(entry(on, { moved: true }))));
      expect((await orders()).map(({ content, moved }) => [content.day, moved])).toEqual(days.map((on) => [on, true]));
    });

    test('marks days with the answer that checked them, and knows it by its new name', async () => {
      await write(named(entry('2026-03-01')), named(entry('2026-03-02')), named(entry('2026-03-03')));
      const days = [day('2026-03-01'), day('2026-03-02'), day('2026-03-09')];
      await state.write((tx) => markChecked(tx, { pipeline: 'orders', days, by: BY }));
      expect((await orders()).map(({ checked }) => checked)).toEqual([BY, BY, null]);
      await renameAnswers(state, new Map([['abc', 'xyz']]));
      expect((await orders()).map(({ checked }) => checked?.sha256)).toEqual(['xyz', 'xyz', undefined]);
    });

    test('counts the commits that changed it, and no others', async () => {
      expect(await countCommits(state.db)).toBe(0);
      await write(named(entry('2026-03-01')), named(entry('2026-03-02')));
      await write(named(entry('2026-03-01')));
      await write();
      await state.write((tx) => markChecked(tx, { pipeline: 'orders', days: [day('2026-03-01')], by: BY }));
      expect(await countCommits(state.db)).toBe(2);
    });
  });
}
