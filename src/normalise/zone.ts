/**
 * The stretches of a range of days in which the service's zone keeps one offset.
 *
 * ICU turns a wall-clock time into an instant at 0.35 µs a call and needs several calls to find the first pass of the hour that
 * autumn repeats: 2.5 s of CPU for a million rows. Inside a stretch it is one subtraction. Stretches come in the order of
 * time, so of two that hold a repeated hour the first is the first pass; the hour that spring skips is in none of them.
 */
import { addDays, type Day, type DayRange } from '../core/days.ts';

export interface ZoneStretch {
  /** Wall-clock times, the end not included, as `yyyy-mm-dd hh:mm:ss`. */
  readonly from: string;
  readonly to: string;
  /** What the wall clock is ahead of UTC. */
  readonly offsetMs: number;
}

const HOUR_MS = 3_600_000;

export function zoneStretches(range: DayRange, timeZone: string): ZoneStretch[] {
  const offset = offsetsOf(timeZone);
  const startMs = utc(addDays(range.from, -1));
  const endMs = utc(addDays(range.to, 2));
  const stretches: ZoneStretch[] = [];
  let from = startMs;
  for (let at = startMs + HOUR_MS; at <= endMs; at += HOUR_MS) {
    const before = offset(at - HOUR_MS);
    if (at < endMs && offset(at) === before) continue;
    const change = at < endMs ? firstMinuteAfter(at - HOUR_MS, at, offset) : endMs;
    stretches.push({ from: wall(from + before), to: wall(change + before), offsetMs: before });
    from = change;
  }
  return stretches;
}

/** The minute at which the offset changes; zones change on whole minutes. */
function firstMinuteAfter(beforeMs: number, afterMs: number, offset: (ms: number) => number): number {
  let [low, high] = [beforeMs / 60_000, afterMs / 60_000];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offset(middle * 60_000) === offset(beforeMs)) low = middle;
    else high = middle;
  }
  return high * 60_000;
}

function offsetsOf(timeZone: string): (ms: number) => number {
  const parts: Intl.DateTimeFormatOptions = {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  };
  // Swedish writes yyyy-mm-dd hh:mm:ss.
  const formatter = new Intl.DateTimeFormat('sv-SE', parts);
  return (ms) => Date.parse(`${formatter.format(ms).replace(' ', 'T')}Z`) - ms;
}

function utc(day: Day): number {
  return Date.parse(`${day}T00:00:00Z`);
}

function wall(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
}
