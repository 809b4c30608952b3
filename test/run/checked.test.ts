import { describe, expect, it } from 'vitest';
import { addDays, type Day } from '../../src/core/days.ts';
import type { SliceContent } from '../../src/core/records.ts';
import type { Checked, SliceEntry } from '../../src/core/slices.ts';
import { isKnownAnswer, sliceStates } from '../../src/run/window/checked.ts';

const FIRST = '2026-03-01' as Day;
const days = (count: number) => Array.from({ length: count }, (_, i) => addDays(FIRST, i));
const RANGE = { from: FIRST, to: addDays(FIRST, 2) };
const BY: Checked = { on: '2026-03-20' as Day, sha256: 'abc', ...RANGE };

function content(day: Day, fields: Partial<SliceContent> = {}): SliceContent {
  return {
    day,
    digest: 'd1',
    rows: 1,
    rejects: 0,
    duplicates: 0,
    sums: {},
    settled: false,
    version: 1,
    fetch_id: 'f1',
    fetched_at: '2026-03-10T22:30:00.000Z',
    key_min: null,
    key_max: null,
    ...fields,
  };
}

type EntryFields = Partial<SliceContent> & Partial<Pick<SliceEntry, 'moved' | 'checked'>> & { readonly held?: number };

/** `held`: the version of what is held of each. */
function slicesOf(of: readonly Day[], { moved = false, checked = BY, held, ...more }: EntryFields = {}) {
  const words = { file: null, rejects_file: null, reason: 'shrunk', detail: '', rows_before: 9, held_at: '' };
  const entry = (day: Day): SliceEntry => ({
    content: content(day, more),
    file: null,
    rejects_file: null,
    moved,
    checked,
    held: held === undefined ? null : { content: content(day, { version: held }), ...words },
  });
  return new Map(of.map((day) => [day, entry(day)]));
}

describe('an answer is known', () => {
  const answer = { range: RANGE, sha256: 'abc', version: 1 };

  it.each<[string, Partial<typeof answer>, EntryFields, boolean]>([
    ['the very same again', {}, {}, true],
    ['other bytes', { sha256: 'xyz' }, {}, false],
    ['another window with the same days in it', { range: { ...RANGE, to: addDays(FIRST, 1) } }, {}, false],
    ['another version of the pipeline', { version: 2 }, {}, false],
    ['the slice was changed since by something else', {}, { checked: null }, false],
    ['an item left the slice', {}, { moved: true }, false],
    ['its content is held back', {}, { version: 0, held: 1 }, true],
    ['what it told is held back, of an older version', { version: 2 }, { version: 2, held: 1 }, false],
  ])('%s: %s', (_, asked, entry, isKnown) => {
    expect(isKnownAnswer({ ...answer, ...asked }, slicesOf(days(3), entry))).toBe(isKnown);
  });

  it('not when the lake lacks one of its slices', () => {
    expect(isKnownAnswer(answer, slicesOf(days(2)))).toBe(false);
    expect(isKnownAnswer(answer, new Map())).toBe(false);
  });
});

describe('what the plan is told of a slice', () => {
  it('the day on which it was last checked; where that is not known, the day of its fetch in the service’s zone', () => {
    const slices = slicesOf(days(1), { settled: true, version: 3, checked: { ...BY, on: '2026-03-19' as Day } });
    expect([...sliceStates(slices, 'Europe/Amsterdam').values()]).toEqual([
      { day: FIRST, checkedOn: '2026-03-19', settled: true, version: 3, moved: false },
    ]);
    const on = (fetched_at: string) =>
      sliceStates(slicesOf(days(1), { fetched_at, checked: null }), 'Europe/Amsterdam').get(FIRST)?.checkedOn;
    expect([on('2026-03-10T22:30:00.000Z'), on('2026-03-10T23:00:00.000Z')]).toEqual(['2026-03-10', '2026-03-11']);
  });
});
