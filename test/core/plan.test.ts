import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addDays, type Day, daysBetween, daysOf, inRange } from '../../src/core/days.ts';
import {
  horizonOf,
  type PlanInput,
  type PlannedWindow,
  type PlanSettings,
  planBackfill,
  planNight,
  recheckDays,
  type SliceState,
} from '../../src/core/plan.ts';

const TODAY = '2026-03-20' as Day;
const SETTINGS: PlanSettings = { startDay: null, lookbackDays: 3, windowDays: 10, lagDays: 1 };

const ago = (days: number) => addDays(TODAY, -days);

type Known = Partial<Omit<SliceState, 'day'>>;

/** Slices by age in days; unless told otherwise they are settled, of version 1, and checked today. */
function slicesOf(byAge: Readonly<Record<number, Known>>): Map<Day, SliceState> {
  const plain = { checkedOn: TODAY, settled: true, version: 1, moved: false };
  return new Map(
    Object.entries(byAge)
      .map(([age, known]) => ({ ...plain, day: ago(Number(age)), ...known }))
      .sort((a, b) => (a.day < b.day ? -1 : 1))
      .map((slice) => [slice.day, slice]),
  );
}

/** The pipeline was first run when its oldest slice was in the lookback, unless told otherwise. */
function inputOf(
  byAge: Readonly<Record<number, Known>>,
  settings: Partial<PlanSettings> = {},
  first?: Day | null,
): PlanInput {
  const slices = slicesOf(byAge);
  const firstDay = first === undefined ? ([...slices.keys()][0] ?? null) : first;
  return { settings: { ...SETTINGS, ...settings }, version: 1, today: TODAY, firstDay, slices };
}

/** Every age from `from` to `to`, known in the same way. */
function ages(from: number, to: number, known: Known = {}): Record<number, Known> {
  return Object.fromEntries(Array.from({ length: to - from + 1 }, (_, i) => [from + i, known]));
}

/** `19 missing`: age in days and reason; windows apart. */
function shown(windows: readonly PlannedWindow[]): string[][] {
  return windows.map(({ slices }) => slices.map(({ day, reason }) => `${daysBetween(day, TODAY)} ${reason}`));
}

const night = (...input: Parameters<typeof inputOf>) => shown(planNight(inputOf(...input)));

describe('what a night asks for', () => {
  it.each<[string, Record<number, Known>, Partial<PlanSettings>, string[][]]>([
    ['the first night: the lookback', {}, {}, [['3 missing', '2 missing', '1 missing']]],
    ['every night: the lookback again, settled or not', ages(1, 3), {}, [['3 lookback', '2 lookback', '1 lookback']]],
    ['the day that is new', ages(2, 4), {}, [['3 lookback', '2 lookback', '1 missing']]],
    ['a settled day before the lookback is left alone', ages(1, 9), {}, [['3 lookback', '2 lookback', '1 lookback']]],
    [
      'a day that was never fetched, between others',
      { ...ages(1, 4), ...ages(6, 7) },
      {},
      [['5 missing'], ['3 lookback', '2 lookback', '1 lookback']],
    ],
    [
      'a day of an older version, however settled',
      { ...ages(1, 5), 6: { version: 0 } },
      {},
      [['6 outdated'], ['3 lookback', '2 lookback', '1 lookback']],
    ],
    [
      'a day of a newer version too: the program was set back',
      { ...ages(1, 5), 6: { version: 2 } },
      {},
      [['6 outdated'], ['3 lookback', '2 lookback', '1 lookback']],
    ],
    [
      'a day that an item left',
      { ...ages(1, 5), 6: { moved: true } },
      {},
      [['6 moved'], ['3 lookback', '2 lookback', '1 lookback']],
    ],
    [
      'a day has the first reason that fits',
      { 2: { moved: true }, 3: { moved: true, version: 0 } },
      {},
      [['3 outdated', '2 moved', '1 missing']],
    ],
    [
      'reasons mix in a window',
      { ...ages(1, 3), 4: { moved: true } },
      {},
      [['4 moved', '3 lookback', '2 lookback', '1 lookback']],
    ],
    ['no lookback', ages(1, 5), { lookbackDays: 0 }, []],
    ['windows are cut at windowDays', ages(1, 3), { windowDays: 2 }, [['3 lookback', '2 lookback'], ['1 lookback']]],
    [
      'yesterday is left out where the service is late',
      ages(2, 4),
      { lagDays: 2 },
      [['4 lookback', '3 lookback', '2 lookback']],
    ],
    [
      'today is asked for where it is never late',
      ages(1, 3),
      { lagDays: 0 },
      [['2 lookback', '1 lookback', '0 missing']],
    ],
  ])('%s', (_, known, settings, windows) => {
    expect(night(known, settings)).toEqual(windows);
  });

  it('with a first day everything from there on, oldest first', () => {
    expect(night({}, { startDay: ago(5), windowDays: 4 })).toEqual([
      ['5 missing', '4 missing', '3 missing', '2 missing'],
      ['1 missing'],
    ]);
  });

  it('with a first day nothing before it, though it is known and open', () => {
    const open = { settled: false, checkedOn: ago(30) };
    expect(night({ ...ages(1, 3), 40: open, 41: { ...open, moved: true } }, { startDay: ago(39) })[0]).toContain(
      '39 missing',
    );
    expect(night({ ...ages(1, 5), 40: open }, { startDay: ago(5) })).toEqual([
      ['3 lookback', '2 lookback', '1 lookback'],
    ]);
  });

  it('with a first day inside the lookback no day before that', () => {
    expect(night({}, { startDay: ago(2) })).toEqual([['2 missing', '1 missing']]);
  });

  it('nothing when the first day is still to come', () => {
    expect(night({}, { startDay: TODAY })).toEqual([]);
    expect(night({}, { startDay: addDays(TODAY, 5) })).toEqual([]);
  });

  it('an old day that a backfill brought is looked after, and the days between it and the first run are not asked for', () => {
    const open = { settled: false, checkedOn: ago(30) };
    expect(night({ ...ages(1, 3), 200: open, 300: {} }, {}, ago(4))).toEqual([
      ['200 unsettled'],
      ['4 missing', '3 lookback', '2 lookback', '1 lookback'],
    ]);
  });

  it('what the first night failed to fetch is asked for when the lookback has passed it', () => {
    expect(night(ages(1, 3), {}, ago(5))).toEqual([
      ['5 missing', '4 missing', '3 lookback', '2 lookback', '1 lookback'],
    ]);
  });

  it('without a first day the horizon begins where the first run began, or with the lookback', () => {
    expect(horizonOf(inputOf({}))).toEqual({ from: ago(3), to: ago(1) });
    expect(horizonOf(inputOf(ages(1, 8)))).toEqual({ from: ago(8), to: ago(1) });
    expect(horizonOf(inputOf(ages(1, 8), { startDay: ago(2) }))).toEqual({ from: ago(2), to: ago(1) });
  });
});

describe('an open day before the lookback is looked at again, the older the more seldom', () => {
  it.each([
    [4, 7],
    [90, 7],
    [91, 14],
    [180, 14],
    [181, 30],
    [365, 30],
    [366, 90],
    [3000, 90],
  ])('%i days old: every %i days', (age, interval) => {
    expect(recheckDays(age)).toBe(interval);
    const whenChecked = (days: number) => {
      const open = { settled: false, checkedOn: ago(days) };
      return night({ ...ages(1, 3), [age]: open }, { lookbackDays: 3, startDay: ago(age), windowDays: 1 }).flat();
    };
    expect(whenChecked(interval)).toContain(`${age} unsettled`);
    expect(whenChecked(interval - 1)).not.toContain(`${age} unsettled`);
  });

  it('a settled one never', () => {
    expect(night({ ...ages(1, 10), 11: { settled: true, checkedOn: ago(300) } })).toEqual([
      ['3 lookback', '2 lookback', '1 lookback'],
    ]);
  });
});

describe('what a backfill asks for', () => {
  const backfill = (known: Record<number, Known>, from: number, to: number, refetch = false, windowDays = 10) =>
    shown(planBackfill(inputOf(known, { windowDays }), { from: ago(from), to: ago(to) }, refetch));

  it.each<[string, string[][], string[][]]>([
    ['days never fetched', backfill({}, 12, 10), [['12 missing', '11 missing', '10 missing']]],
    ['not those that are there', backfill({ 11: {} }, 12, 10), [['12 missing'], ['10 missing']]],
    ['not open ones either', backfill({ 11: { settled: false, checkedOn: ago(99) } }, 11, 11), []],
    ['those of another version', backfill({ 11: { version: 0 }, 10: {} }, 11, 10), [['11 outdated']]],
    ['all with refetch', backfill({ 11: {} }, 12, 11, true), [['12 missing', '11 requested']]],
    [
      'windows are cut',
      backfill({}, 12, 8, false, 2),
      [['12 missing', '11 missing'], ['10 missing', '9 missing'], ['8 missing']],
    ],
    ['nothing when all is there', backfill(ages(8, 12), 12, 8), []],
    ['one day', backfill({}, 12, 12), [['12 missing']]],
  ])('%s', (_, windows, wanted) => {
    expect(windows).toEqual(wanted);
  });
});

describe('whatever is known', () => {
  const state = fc.record({
    age: fc.integer({ min: 0, max: 500 }),
    checkedAgo: fc.integer({ min: 0, max: 120 }),
    settled: fc.boolean(),
    version: fc.integer({ min: 0, max: 2 }),
    moved: fc.boolean(),
  });
  const inputs = fc
    .record({
      states: fc.array(state, { maxLength: 80 }),
      startAge: fc.option(fc.integer({ min: -3, max: 500 })),
      lookbackDays: fc.integer({ min: 0, max: 60 }),
      windowDays: fc.integer({ min: 1, max: 40 }),
      lagDays: fc.integer({ min: 0, max: 5 }),
    })
    .map(({ states, startAge, ...settings }) => {
      const known = states.map(({ age, checkedAgo, ...rest }) => [age, { ...rest, checkedOn: ago(checkedAgo) }]);
      return inputOf(Object.fromEntries(known), { ...settings, startDay: startAge === null ? null : ago(startAge) });
    });
  const daysIn = (windows: readonly PlannedWindow[]) => windows.flatMap(({ slices }) => slices.map(({ day }) => day));

  function expectSound(windows: readonly PlannedWindow[], windowDays: number): void {
    const days = daysIn(windows);
    expect(windows.flatMap(daysOf)).toEqual(days);
    expect(days).toEqual([...new Set(days)].sort());
    for (const { from, to } of windows) expect(daysBetween(from, to)).toBeLessThan(windowDays);
  }

  it('windows cover exactly the days that are due, in order, none twice, none longer than windowDays', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const windows = planNight(input);
        const horizon = horizonOf(input);
        expectSound(windows, input.settings.windowDays);
        const planned = daysIn(windows);
        const lookback = { from: addDays(horizon.to, 1 - input.settings.lookbackDays), to: horizon.to };
        const isDue = (day: Day) => {
          const known = input.slices.get(day);
          if (!known || known.version !== input.version || known.moved || inRange(day, lookback)) return true;
          const waits = recheckDays(daysBetween(day, input.today));
          return !known.settled && daysBetween(known.checkedOn, input.today) >= waits;
        };
        expect(planned).toEqual(daysOf(horizon).filter(isDue));
      }),
    );
  });

  it('right after a complete night only days of the lookback are due', () => {
    fc.assert(
      fc.property(inputs, fc.boolean(), (input, settled) => {
        const done = new Map(input.slices);
        for (const day of daysIn(planNight(input)))
          done.set(day, { day, checkedOn: input.today, settled, version: input.version, moved: false });
        const again = planNight({ ...input, slices: done });
        expect(again.flatMap(({ slices }) => slices).filter(({ reason }) => reason !== 'lookback')).toEqual([]);
        expect(daysIn(again).length).toBeLessThanOrEqual(input.settings.lookbackDays);
      }),
    );
  });

  it('a backfill asks for every day of its range that is not there in the present version, and no other', () => {
    const ranges = fc.tuple(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 60 }));
    fc.assert(
      fc.property(inputs, ranges, fc.boolean(), (input, [oldest, length], refetch) => {
        const range = { from: ago(oldest), to: addDays(ago(oldest), length) };
        const windows = planBackfill(input, range, refetch);
        expectSound(windows, input.settings.windowDays);
        const due = daysOf(range).filter((day) => refetch || input.slices.get(day)?.version !== input.version);
        expect(daysIn(windows)).toEqual(due);
      }),
    );
  });
});
