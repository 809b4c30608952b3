import { describe, expect, it } from 'vitest';
import type { Day } from '../../src/core/days.ts';
import { guardSlice } from '../../src/core/guard.ts';
import type { SliceContent } from '../../src/core/records.ts';

function content(rows: number): SliceContent {
  return {
    day: '2026-03-01' as Day,
    digest: `${rows}`,
    rows,
    rejects: 0,
    duplicates: 0,
    sums: {},
    settled: false,
    version: 1,
    fetch_id: 'f1',
    fetched_at: '2026-03-02T02:00:00.000Z',
    key_min: null,
    key_max: null,
  };
}

describe('a slice that suddenly holds far fewer rows is held', () => {
  it.each<[string, number | null, number, number, number, string | null]>([
    ['new', null, 0, 20, 0.5, null],
    ['grown', 100, 101, 20, 0.5, null],
    ['as many as before', 100, 100, 20, 0.5, null],
    ['exactly the share that is left must be', 100, 50, 20, 0.5, null],
    ['one less', 100, 49, 20, 0.5, 'shrunk'],
    ['an odd number: half of it and more', 101, 51, 20, 0.5, null],
    ['an odd number: less than half of it', 101, 50, 20, 0.5, 'shrunk'],
    ['empty now', 100, 0, 20, 0.5, 'emptied'],
    ['as small as never held', 19, 0, 20, 0.5, null],
    ['just large enough', 20, 0, 20, 0.5, 'emptied'],
    ['empty before', 0, 0, 0, 0.5, null],
    ['every lost row counts', 100, 99, 0, 1, 'shrunk'],
    ['nothing is ever held', 100, 0, 0, 0, null],
  ])('%s: %s rows, then %i (from %i rows on, %f must stay): %s', (_, before, now, minRows, keepRatio, reason) => {
    const held = guardSlice(before === null ? null : content(before), content(now), { minRows, keepRatio });
    expect(held?.reason ?? null).toBe(reason);
  });

  it('the reason gives the figures', () => {
    expect(guardSlice(content(1000), content(400), { minRows: 20, keepRatio: 0.5 })).toEqual({
      reason: 'shrunk',
      detail: '1000 rows before, 400 now: less than 50 %',
    });
  });
});
