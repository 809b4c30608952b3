import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isoTime } from '../../../src/core/clock.ts';
import { type Due, dueNow, knowing, whenEnded, whenStarted } from '../../../src/serve/schedule/due.ts';
import { type Schedule, scheduleOf } from '../../../src/serve/schedule/schedule.ts';
import type { ScheduleState } from '../../../src/store/tables/scheduled.ts';

const ZONE = 'Europe/Amsterdam';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** At 01:00 UTC the clock goes from 02:00 to 03:00, and from 03:00 back to 02:00. */
const SPRING = Date.parse('2026-03-29T01:00:00Z');
const AUTUMN = Date.parse('2026-10-25T01:00:00Z');

const utc = (ms: number | null) => (ms === null ? 'never' : isoTime(ms).slice(5, 16));

function following(expression: string, from: string, count: number, zone = ZONE): string[] {
  const schedule = scheduleOf(expression, zone);
  const found: string[] = [];
  for (let ms = schedule.next(Date.parse(from)); ms !== null && found.length < count; ms = schedule.next(ms))
    found.push(utc(ms));
  return found;
}

describe('due times', () => {
  test.each([
    ['every night', '30 5 * * *', '2026-03-27T12:00Z', ['03-28T04:30', '03-29T03:30', '03-30T03:30']],
    ['in the gap: right after it', '30 2 * * *', '2026-03-27T12:00Z', ['03-28T01:30', '03-29T01:00', '03-30T00:30']],
    ['thrice in the gap: once', '*/20 2 * * *', '2026-03-28T12:00Z', ['03-29T01:00', '03-30T00:00', '03-30T00:20']],
    ['in the gap and right after it: once', '0 2,3 * * *', '2026-03-28T12:00Z', ['03-29T01:00', '03-30T00:00']],
    ['in the hour that comes twice', '30 2 * * *', '2026-10-23T12:00Z', ['10-24T00:30', '10-25T00:30', '10-26T01:30']],
    [
      'thrice in that hour',
      '*/20 2 * * 0',
      '2026-10-24T12:00Z',
      ['10-25T00:00', '10-25T00:20', '10-25T00:40', '11-01T01:00'],
    ],
    ['right behind that hour', '0 3 * * *', '2026-10-24T12:00Z', ['10-25T02:00', '10-26T02:00']],
    ['in every hour, forward', '30 * * * *', '2026-03-28T23:45Z', ['03-29T00:30', '03-29T01:30']],
    ['in every hour, back', '30 * * * *', '2026-10-24T23:45Z', ['10-25T00:30', '10-25T01:30', '10-25T02:30']],
    ['on a day that is rare', '0 12 29 2 *', '2026-03-01T00:00Z', ['02-29T11:00', '02-29T11:00']],
  ])('%s: %s', (_, expression, from, expected) => {
    expect(following(expression, from, expected.length)).toEqual(expected);
  });

  test.each([
    ['UTC', '30 2 * * *', '2026-03-28T12:00Z', ['03-29T02:30', '03-30T02:30']],
    ['Australia/Lord_Howe', '15 2 * * *', '2026-10-02T12:00Z', ['10-02T15:45', '10-03T15:30', '10-04T15:15']], // half an hour
    ['Asia/Kathmandu', '0 0 * * *', '2026-10-02T12:00Z', ['10-02T18:15']],
  ])('in %s', (zone, expression, from, expected) => {
    expect(following(expression, from, expected.length, zone)).toEqual(expected);
  });
});

/** A field of an expression, as text. */
const field = (least: number, most: number) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant('*') },
    { weight: 3, arbitrary: fc.integer({ min: least, max: most }).map(String) },
    { weight: 1, arbitrary: fc.integer({ min: 2, max: 20 }).map((step) => `*/${step}`) },
    {
      weight: 1,
      arbitrary: fc
        .uniqueArray(fc.integer({ min: least, max: most }), { minLength: 2, maxLength: 4 })
        .map((list) => list.join(',')),
    },
  );
/** Hours near the changes of the clock are more interesting than others. */
const hours = fc.oneof(field(0, 23), fc.constantFrom('2', '1-3', '2,3', '*/2', '0-4'));
const expressions = fc
  .tuple(
    field(0, 59),
    hours,
    fc.constantFrom('*', '*', '25', '29', '*/2'),
    fc.constant('*'),
    fc.constantFrom('*', '*', '0', '1-5'),
  )
  .map((fields) => fields.join(' '));

/** What the wall clock shows at each minute from `from` on, by what the platform says, minute by minute. */
function wallMinutes(from: number, until: number): { readonly ms: number; readonly wall: string }[] {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: ZONE, dateStyle: 'short', timeStyle: 'short' });
  const found = [];
  for (let ms = from; ms <= until; ms += MINUTE) found.push({ ms, wall: format.format(ms).replace(' ', 'T') });
  return found;
}

const NIGHTS = [SPRING, AUTUMN].map((change) => wallMinutes(change - 7 * HOUR, change + 9 * HOUR));

/** Whether an expression fits a wall clock's minute; written for this test, after crontab(5). */
function fits(expression: string, wall: string): boolean {
  const [minute, hour, day, month, weekday] = expression.split(' ') as [string, string, string, string, string];
  const date = new Date(`${wall}:00Z`);
  const on = (text: string, value: number, least: number) =>
    text.split(',').some((part) => {
      const [range = '', step = '1'] = part.split('/');
      if (range === '*') return (value - least) % Number(step) === 0;
      const [low, high = low] = range.split('-').map(Number) as [number, number?];
      return value >= low && value <= high;
    });
  const days = [on(day, date.getUTCDate(), 1), on(weekday, date.getUTCDay(), 0)] as const;
  const isDay = day === '*' || weekday === '*' ? days[0] && days[1] : days[0] || days[1];
  return (
    on(minute, date.getUTCMinutes(), 0) &&
    on(hour, date.getUTCHours(), 0) &&
    isDay &&
    on(month, date.getUTCMonth() + 1, 1)
  );
}

/** Due times by looking at every minute: the first pass counts, and what is missing comes at the end of the gap. */
function dueByMinutes(expression: string, night: (typeof NIGHTS)[number]): number[] {
  const isHourly = Array.from({ length: 24 }, (_, hour) => `2026-01-01T${String(hour).padStart(2, '0')}`).every((at) =>
    fits(`* ${expression.split(' ')[1]} * * *`, `${at}:00`),
  );
  const due = new Set<number>();
  const seen = new Set<string>();
  for (const [i, { ms, wall }] of night.entries()) {
    const before = night[i - 1];
    if (fits(expression, wall) && (isHourly || !seen.has(wall))) due.add(ms);
    seen.add(wall);
    if (isHourly || before === undefined) continue;
    for (let at = Date.parse(`${before.wall}:00Z`) + MINUTE; at < Date.parse(`${wall}:00Z`); at += MINUTE)
      if (fits(expression, isoTime(at).slice(0, 16))) due.add(ms);
  }
  return [...due].sort((a, b) => a - b);
}

/** Known due times as a schedule: asking for one a minute is then no matter. */
function scheduleIn(due: readonly number[]): Schedule {
  return {
    next: (afterMs) => due.find((ms) => ms > afterMs) ?? null,
    last: (untilMs) => due.findLast((ms) => ms <= untilMs) ?? null,
  };
}

describe('over both clock changes, whatever the schedule', () => {
  test('the due times are those of a clock that is looked at every minute, forwards and backwards', () => {
    fc.assert(
      fc.property(expressions, fc.constantFrom(...NIGHTS), (expression, night) => {
        const schedule = scheduleOf(expression, ZONE);
        const [first, last] = [night[0]!.ms, night.at(-1)!.ms];
        const expected = dueByMinutes(expression, night).filter((ms) => ms > first);
        const found: number[] = [];
        for (let ms = schedule.next(first); ms !== null && ms <= last; ms = schedule.next(ms)) found.push(ms);
        expect(found).toEqual(expected);
        const back: number[] = [];
        for (let ms = schedule.last(last); ms !== null && ms > first; ms = schedule.last(ms - 1)) back.unshift(ms);
        expect(back).toEqual(expected);
      }),
      { numRuns: 25 },
    );
  });

  /** Minutes for which the machine is on and off by turns. */
  const turns = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 12 });

  test('no due time is run twice, none is left out, and what was missed while the machine was off is one run', () => {
    fc.assert(
      fc.property(
        expressions,
        fc.constantFrom(...NIGHTS),
        turns,
        fc.integer({ min: 1, max: 90 }),
        (expression, night, onAndOff, tookMinutes) => {
          const due = dueByMinutes(expression, night);
          const schedules = new Map([['orders', scheduleIn(due)]]);
          const first = night[0]!.ms;
          let state: ScheduleState = knowing(schedules, {}, first);
          const runs: { readonly atMs: number; readonly due: Due }[] = [];
          let [minute, isOn, left, busy, askedMs] = [0, true, onAndOff[0]!, 0, 0];
          const turn = [...onAndOff.slice(1)];
          for (; minute < night.length; minute++) {
            const { ms } = night[minute]!;
            if (isOn && busy > 0 && --busy === 0)
              state = whenEnded(state, [runs.at(-1)!.due], { result: 'done', runId: 'r1' }, ms);
            if (isOn && busy === 0) askedMs = ms;
            const [one] = askedMs === ms ? dueNow(schedules, state, ms) : [];
            if (one) {
              runs.push({ atMs: ms, due: one });
              state = whenStarted(state, [one], ms);
              busy = tookMinutes;
            }
            // It is only switched off between runs; what a crash does is said below.
            if (--left <= 0 && busy === 0)
              [isOn, left] = [!isOn || turn.length === 0, turn.shift() ?? Number.POSITIVE_INFINITY];
          }
          const ran = runs.map((run) => run.due.dueMs);
          expect(new Set(ran).size).toBe(ran.length);
          // Each is for the newest of what had passed: never for one night after the other.
          expect(ran).toEqual(runs.map(({ atMs }) => due.findLast((ms) => ms <= atMs)));
          // Whatever had passed by the last moment at which a run could be begun is covered by a run that began after it.
          const uncovered = due.filter((ms) => ms > first && ms <= askedMs && ms > (ran.at(-1) ?? first));
          expect(uncovered).toEqual([]);
        },
      ),
      { numRuns: 100 },
    );
  });
});
