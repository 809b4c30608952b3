/**
 * The clock on a Dutch wall, by the European rule: summer time from the last Sunday of March to the last Sunday of
 * October, both at 01:00 UTC. Computed here because Intl is far too slow for a question asked for every order.
 */
const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
export const DAY_SECONDS = 86_400;
const TWO_O_CLOCK = 7200;
const THREE_O_CLOCK = 10_800;

/** Day number (days since 1970-01-01) and seconds of the wall clock. */
interface WallTime {
  readonly day: number;
  readonly seconds: number;
}

function lastSunday(year: number, month: number): number {
  const last = new Date(Date.UTC(year, month + 1, 0));
  return last.getTime() / DAY_MS - last.getUTCDay();
}

/** Hours that the Dutch wall clock is ahead of UTC at an instant (milliseconds since the epoch). */
export function dutchOffsetHours(ms: number): 1 | 2 {
  const year = new Date(ms).getUTCFullYear();
  const from = lastSunday(year, 2) * DAY_MS + HOUR_MS;
  const to = lastSunday(year, 9) * DAY_MS + HOUR_MS;
  return ms >= from && ms < to ? 2 : 1;
}

/** What a Dutch wall clock shows at an instant. */
export function dutchWall(ms: number): WallTime {
  const local = ms + dutchOffsetHours(ms) * HOUR_MS;
  const day = Math.floor(local / DAY_MS);
  return { day, seconds: Math.floor((local - day * DAY_MS) / SECOND_MS) };
}

function midnight(day: number): number {
  const utc = day * DAY_MS;
  return utc - dutchOffsetHours(utc - 2 * HOUR_MS) * HOUR_MS;
}

function isSpringChange(day: number): boolean {
  return midnight(day + 1) - midnight(day) < DAY_MS;
}

/** Seconds of the wall clock on which something can happen: the spring change has an hour less. */
export function usableSeconds(day: number): number {
  return isSpringChange(day) ? DAY_SECONDS - 3600 : DAY_SECONDS;
}

/** The n-th usable second of a day, as seconds of the wall clock: the hour that spring leaves out is jumped over. */
export function wallSecond(usable: number, usableInDay: number): number {
  return usableInDay < DAY_SECONDS && usable >= TWO_O_CLOCK ? usable + 3600 : usable;
}

/**
 * The last second of the day's wall clock that has passed at an instant: -1 before the day, 86,399 after it. It never
 * runs backwards: in the hour that autumn repeats it stands still, since orders of that hour belong to the first pass.
 */
export function lastPassedSecond(day: number, ms: number): number {
  const wall = dutchWall(ms);
  if (wall.day !== day) return wall.day > day ? DAY_SECONDS - 1 : -1;
  const elapsed = Math.floor((ms - midnight(day)) / SECOND_MS);
  return elapsed > wall.seconds && wall.seconds < THREE_O_CLOCK ? THREE_O_CLOCK - 1 : wall.seconds;
}

/** `yyyy-MM-ddTHH:mm:ss+01:00`, the way the service writes instants in processes and push messages. */
export function dutchIso(ms: number): string {
  const offset = dutchOffsetHours(ms);
  return `${new Date(ms + offset * HOUR_MS).toISOString().slice(0, 23)}+0${offset}:00`;
}

const TWO_DIGITS = Array.from({ length: 60 }, (_, i) => String(i).padStart(2, '0'));

/** `HH:mm:ss` of the wall clock. */
export function clockText(seconds: number): string {
  const minutes = (seconds / 60) | 0;
  const hours = (minutes / 60) | 0;
  return `${TWO_DIGITS[hours]!}:${TWO_DIGITS[minutes - hours * 60]!}:${TWO_DIGITS[seconds - minutes * 60]!}`;
}
