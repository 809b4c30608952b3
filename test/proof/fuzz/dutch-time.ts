/** Times of orders and days, by the rule that the law gives for the clock in the Netherlands, told a second time. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { dayAt, isDay } from '../../../src/core/days.ts';
import { hostileText } from './hostile.ts';
import { fixed } from './plain-json.ts';
import { type Subject, textOf, utf8 } from './subject.ts';
import { cellsIn, typedCells } from './typed.ts';
import { isCalendarDay } from './values.ts';

const HOUR_MS = 3_600_000;
/** Since then all of Europe changes its clocks on the same nights. */
const FIRST_YEAR = 1996;

/** 01:00 UTC of the last Sunday of March and of October. */
function changes(year: number): readonly [spring: number, autumn: number] {
  const last = (month: number) => {
    const end = new Date(Date.UTC(year, month, 31));
    return Date.UTC(year, month, 31 - end.getUTCDay(), 1);
  };
  return [last(2), last(9)];
}

function offsetMs(utcMs: number): number {
  const [spring, autumn] = changes(new Date(utcMs).getUTCFullYear());
  return utcMs >= spring && utcMs < autumn ? 2 * HOUR_MS : HOUR_MS;
}

/** What the wall says, as if it were UTC → the instant; the first of two, and in the skipped hour what the winter says. */
function instantOf(wallMs: number): number {
  const summer = wallMs - 2 * HOUR_MS;
  return offsetMs(summer) === 2 * HOUR_MS ? summer : wallMs - HOUR_MS;
}

const TIME = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,6}))?(Z|[+-]\d{2}:\d{2})?$/;

interface Wanted {
  /** Microseconds, the wall's as if it were UTC. */
  readonly local: bigint;
  readonly utc: bigint;
}

function wantedOf(text: string): Wanted | null {
  const parts = TIME.exec(text);
  if (!parts) return null;
  const [, day = '', hour, minute, second, fraction = '', offset] = parts;
  const [h, m, s] = [Number(hour), Number(minute), Number(second)];
  if (!isCalendarDay(day) || day < '1900' || day > '9998-12-30' || h > 23 || m > 59 || s > 59) return null;
  const wallMs = Date.parse(`${day}T${hour}:${minute}:${second}Z`);
  const micros = BigInt(fraction.padEnd(6, '0'));
  const inMicros = (ms: number) => BigInt(ms) * 1000n + micros;
  if (offset === undefined) return { local: inMicros(wallMs), utc: inMicros(instantOf(wallMs)) };
  const ahead = offset === 'Z' ? 0 : (offset.startsWith('-') ? -1 : 1) * aheadMs(offset);
  return { local: inMicros(wallMs - ahead + offsetMs(wallMs - ahead)), utc: inMicros(wallMs - ahead) };
}

function aheadMs(offset: string): number {
  return (Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4))) * 60_000;
}

/** `2026-03-01 12:00:00.25`, with `+00` behind an instant, in microseconds; null for what has another shape. */
function micros(text: string | null | undefined): bigint | null {
  const parts = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:\+00)?$/.exec(text ?? '');
  return parts && BigInt(Date.parse(`${parts[1]}T${parts[2]}Z`)) * 1000n + BigInt((parts[3] ?? '').padEnd(6, '0'));
}

async function prove(input: Uint8Array): Promise<void> {
  const lines = (textOf(input) ?? '').split('\n');
  for (const line of lines) {
    assert.equal(isDay(line), isCalendarDay(line), JSON.stringify(line));
    const ms = Number(/^at (-?\d{1,14})$/.exec(line)?.[1] ?? Number.NaN);
    if (Number.isNaN(ms) || new Date(ms).getUTCFullYear() < FIRST_YEAR || new Date(ms).getUTCFullYear() > 9998)
      continue;
    assert.equal(dayAt(ms, 'Europe/Amsterdam'), new Date(ms + offsetMs(ms)).toISOString().slice(0, 10), line);
  }
  const cells = cellsIn(lines.join('\n')).filter(({ field }) => field === 'time');
  if (cells.length === 0) return;
  const typed = await typedCells(cells);
  let strange = 0;
  for (const [i, { json }] of cells.entries()) {
    const { row } = typed.cells[i]!;
    const value = JSON.parse(json) as unknown;
    if (typeof value !== 'string') continue;
    assert.equal(row?.time, fixed(value));
    const wanted = wantedOf(fixed(value));
    const told = [row.local_time, row.utc_time].map((text) => text ?? null);
    if (told[0] === null) strange++;
    // What has another shape may be understood or not; but never as a time that no calendar has.
    if (wanted === null)
      assert.deepEqual(
        told.map((text) => text === null || micros(text) !== null),
        [true, true],
        json,
      );
    else if (Number(value.slice(0, 4)) >= FIRST_YEAR)
      assert.deepEqual(told.map(micros), [wanted.local, wanted.utc], `${json} → ${told}`);
  }
  assert.equal(typed.drift.get('bad_time:time') ?? 0, strange);
}

const two = (most: number) => fc.integer({ min: 0, max: most }).map((n) => String(n).padStart(2, '0'));
/** Around the changes of the clock half of the time. */
const wallDay = fc.oneof(
  fc.constantFrom('2025-10-26', '2026-03-29', '2026-10-25', '2024-03-31', '2025-10-25', '2026-03-28', '2026-03-30'),
  fc
    .integer({ min: Date.UTC(1996, 0, 1), max: Date.UTC(2037, 11, 31) })
    .map((ms) => new Date(ms).toISOString().slice(0, 10)),
  fc.stringMatching(/^[0-9]{4}-[01][0-9]-[0-3][0-9]$/),
);
const hour = fc.oneof(fc.constantFrom('00', '01', '02', '03', '23'), two(24));
const fraction = fc.oneof({ weight: 3, arbitrary: fc.constant('') }, fc.stringMatching(/^\.[0-9]{1,9}$/));
const offset = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  fc.constantFrom(
    'Z',
    '+01:00',
    '+02:00',
    '-05:00',
    '+14:00',
    '-12:00',
    '+0100',
    '+01',
    ' UTC',
    'z',
    '+25:00',
    '[Europe/Paris]',
  ),
);
const time = fc
  .tuple(wallDay, fc.constantFrom(' ', ' ', 'T', 't', '  ', ''), hour, two(60), two(60), fraction, offset)
  .map(([day, gap, h, m, s, f, o]) => `${day}${gap}${h}:${m}:${s}${f}${o}`);
const odd = fc.constantFrom(
  'infinity',
  '-infinity',
  'epoch',
  'now',
  'today',
  '2026-3-1 5:00:00',
  '290000-01-01 00:00:00',
  '2026-03-01 (BC)',
  '0044-03-15 (BC) 12:00:00',
  '2026-03-01 12:00',
  '2026-03-01',
  '2026-W01',
  '99999-01-01 00:00:00',
);

export const dutchTime: Subject = {
  name: 'dutch-time',
  extension: 'txt',
  inputs: fc
    .array(
      fc.oneof(
        { weight: 8, arbitrary: time.map((text) => `time ${JSON.stringify(text)}`) },
        fc.oneof(odd, hostileText).map((text) => `time ${JSON.stringify(text)}`),
        fc.integer({ min: Date.UTC(1996, 0, 1), max: Date.UTC(2100, 0, 1) }).map((ms) => `at ${ms}`),
        fc
          .constantFrom(...[2025, 2026, 2030].flatMap(changes))
          .chain((at) => fc.integer({ min: -2, max: 2 }).map((n) => `at ${at + n}`)),
        wallDay,
      ),
      { minLength: 1, maxLength: 400, size: 'max' },
    )
    .map((lines) => utf8(lines.join('\n'))),
  prove,
  shortRuns: 2,
};
