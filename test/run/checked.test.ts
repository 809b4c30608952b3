import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addDays, type Day } from '../../src/core/days.ts';
import type { SliceContent } from '../../src/core/records.ts';
import type { SliceEntry } from '../../src/lake/entries.ts';
import { type Checked, CheckedDays, sliceStates } from '../../src/run/checked.ts';

const FIRST = '2026-03-01' as Day;
const days = (count: number) => Array.from({ length: count }, (_, i) => addDays(FIRST, i));
const RANGE = { from: FIRST, to: addDays(FIRST, 2) };

let state: string;
const file = () => path.join(state, 'checked', 'orders.json');
beforeEach(async () => {
  state = await mkdtemp(path.join(tmpdir(), 'etl-checked-'));
});
afterEach(() => rm(state, { recursive: true, force: true }));

function told(fields: Partial<Checked> = {}): Checked {
  return { on: '2026-03-20' as Day, sha256: 'abc', ...RANGE, version: 1, digest: 'd1', ...fields };
}

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

type EntryFields = Partial<SliceContent> & { readonly moved?: boolean; readonly heldDigest?: string };

function slicesOf(of: readonly Day[], fields: EntryFields = {}): Map<Day, SliceEntry> {
  const { moved = false, heldDigest, ...more } = fields;
  const words = { file: null, rejects_file: null, reason: 'shrunk', detail: '', rows_before: 9, held_at: '' };
  return new Map(
    of.map((day) => {
      const held = heldDigest === undefined ? null : { content: content(day, { digest: heldDigest }), ...words };
      return [day, { content: content(day, more), file: null, rejects_file: null, moved, held }];
    }),
  );
}

async function checkedWith(by: Checked = told()): Promise<CheckedDays> {
  const checked = await CheckedDays.read(state, 'orders');
  for (const day of days(3)) checked.set(day, by);
  return checked;
}

describe('an answer vouches for its slices', () => {
  it.each<[string, Partial<Checked>, EntryFields, boolean]>([
    ['the very same again', {}, {}, true],
    ['other bytes', { sha256: 'xyz' }, {}, false],
    ['another window with the same days in it', { to: addDays(FIRST, 3) }, {}, false],
    ['another version of the pipeline', { version: 2 }, {}, false],
    ['the lake holds other content since', {}, { digest: 'd2' }, false],
    ['an item left the slice', {}, { moved: true }, false],
    ['its content is held back', {}, { digest: 'd0', heldDigest: 'd1' }, true],
    ['other content is held back since', {}, { heldDigest: 'd2' }, false],
  ])('%s: %s', async (_, by, entry, isVouched) => {
    const checked = await checkedWith(told(by));
    expect(checked.vouches(RANGE, 'abc', 1, slicesOf(days(3), entry))).toBe(isVouched);
  });

  it('not for a slice that the lake does not have any more', async () => {
    const checked = await checkedWith();
    expect(checked.vouches(RANGE, 'abc', 1, slicesOf(days(2)))).toBe(false);
    expect(checked.vouches(RANGE, 'abc', 1, new Map())).toBe(false);
  });

  it('not for days that it never told', async () => {
    const checked = await checkedWith(told({ to: addDays(FIRST, 3) }));
    const range = { from: FIRST, to: addDays(FIRST, 3) };
    expect(checked.vouches(range, 'abc', 1, slicesOf(days(4)))).toBe(false);
  });

  it('not after it was told to forget', async () => {
    const checked = await checkedWith();
    checked.forget(addDays(FIRST, 1));
    expect(checked.vouches(RANGE, 'abc', 1, slicesOf(days(3)))).toBe(false);
  });
});

describe('what is kept', () => {
  const kept = async () => Object.keys(JSON.parse(await readFile(file(), 'utf8')));

  it('is read back', async () => {
    await (await checkedWith()).save(slicesOf(days(3)), FIRST);
    const again = await CheckedDays.read(state, 'orders');
    expect(again.get(FIRST)).toEqual(told());
    expect(again.vouches(RANGE, 'abc', 1, slicesOf(days(3)))).toBe(true);
    expect((await CheckedDays.read(state, 'promotions')).get(FIRST)).toBeUndefined();
  });

  it('drops settled days before the first that is kept, and only those', async () => {
    const slices = new Map([...slicesOf(days(2), { settled: true }), ...slicesOf([addDays(FIRST, 2)])]);
    await (await checkedWith()).save(slices, addDays(FIRST, 1));
    expect(await kept()).toEqual([addDays(FIRST, 1), addDays(FIRST, 2)]);
  });

  it('keeps an open day however old', async () => {
    await (await checkedWith()).save(slicesOf(days(3)), addDays(FIRST, 900));
    expect(await kept()).toEqual(days(3));
  });

  it('is written only when something changed', async () => {
    const checked = await checkedWith();
    await checked.save(slicesOf(days(3)), FIRST);
    const before = await stat(file(), { bigint: true });
    await checked.save(slicesOf(days(3)), FIRST);
    checked.forget('2020-01-01' as Day);
    await checked.save(slicesOf(days(3)), FIRST);
    await (await CheckedDays.read(state, 'orders')).save(slicesOf(days(3)), addDays(FIRST, 900));
    expect((await stat(file(), { bigint: true })).ino).toBe(before.ino);
  });

  it.each([
    ['no JSON', '{"2026-03-01":'],
    ['empty', ''],
    ['a list', '[]'],
    ['another shape', '{"2026-03-01":{"on":1}}'],
    ['null', 'null'],
  ])('is forgotten when the file is damaged (%s), and the next save mends it', async (_, text) => {
    await mkdir(path.dirname(file()));
    await writeFile(file(), text);
    const checked = await CheckedDays.read(state, 'orders');
    expect(checked.get(FIRST)).toBeUndefined();
    checked.set(FIRST, told());
    await checked.save(slicesOf(days(1)), FIRST);
    expect((await CheckedDays.read(state, 'orders')).get(FIRST)).toEqual(told());
  });
});

describe('what the plan is told of a slice', () => {
  it('the day on which it was last told; where that is not known, the day of its fetch in the service’s zone', async () => {
    const checked = await CheckedDays.read(state, 'orders');
    checked.set(FIRST, told({ on: '2026-03-19' as Day }));
    const states = sliceStates(slicesOf(days(2), { settled: true, version: 3 }), checked, 'Europe/Amsterdam');
    expect([...states.values()]).toEqual([
      { day: FIRST, checkedOn: '2026-03-19', settled: true, version: 3, moved: false },
      { day: addDays(FIRST, 1), checkedOn: '2026-03-10', settled: true, version: 3, moved: false },
    ]);
    const later = slicesOf(days(1), { fetched_at: '2026-03-10T23:00:00.000Z', moved: true });
    expect(
      sliceStates(later, await CheckedDays.read(state, 'promotions'), 'Europe/Amsterdam').get(FIRST),
    ).toMatchObject({
      checkedOn: '2026-03-11',
      moved: true,
    });
  });
});
