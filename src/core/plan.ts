/**
 * What is due, as a pure function of what is loaded, what is settled, and today. `run`, `backfill` and `plan` share it.
 *
 * Every night, in this order of reasons (a day has the first that fits):
 *   missing    never fetched, and not before the pipeline's first day
 *   outdated   made by an older version of the pipeline's declaration
 *   moved      an item of it turned up on another day, so the service must be asked again
 *   lookback   one of the last `lookbackDays`
 *   unsettled  older, something in it is still open, and its interval has passed (see recheckDays)
 * A backfill asks for every day of its range that was never fetched, or for all of them with `refetch`.
 */
import { addDays, type Day, type DayRange, daysBetween, daysOf, maxDay, mergeDays, minDay } from './days.ts';

export type DueReason = 'missing' | 'outdated' | 'moved' | 'lookback' | 'unsettled' | 'requested';

/** What is known of a slice. */
export interface SliceState {
  readonly day: Day;
  /** The day on which the service last sent its content. */
  readonly checkedOn: Day;
  readonly settled: boolean;
  readonly version: number;
  /** An item left it for another day: ask again. */
  readonly moved: boolean;
}

export interface PlanSettings {
  /** First day of interest; null: where the lookback began when the pipeline was first run (PlanInput.firstDay). */
  readonly startDay: Day | null;
  readonly lookbackDays: number;
  readonly windowDays: number;
  /** The newest day asked for is today minus this; 1 is yesterday. */
  readonly lagDays: number;
}

export interface PlanInput {
  readonly settings: PlanSettings;
  readonly version: number;
  readonly today: Day;
  /** Where the lookback began when the pipeline was first run; null before that. */
  readonly firstDay: Day | null;
  readonly slices: ReadonlyMap<Day, SliceState>;
}

export interface DueSlice {
  readonly day: Day;
  readonly reason: DueReason;
}

export interface PlannedWindow extends DayRange {
  readonly slices: readonly DueSlice[];
}

/** Days to wait between looks at an unsettled slice, by the slice's age in days. */
export function recheckDays(ageDays: number): number {
  if (ageDays <= 90) return 7;
  if (ageDays <= 180) return 14;
  if (ageDays <= 365) return 30;
  return 90;
}

/**
 * The days that must all be there. Days before it that a backfill brought are looked after, but the gap between them and it is
 * nobody's wish.
 */
export function horizonOf({ settings, today, firstDay }: Omit<PlanInput, 'slices' | 'version'>): DayRange {
  const to = addDays(today, -settings.lagDays);
  const lookback = addDays(to, 1 - settings.lookbackDays);
  return { from: settings.startDay ?? minDay(firstDay ?? lookback, lookback), to };
}

/** The days of the horizon, and before them those that a backfill brought, unless `startDay` leaves them out. */
export function daysOfInterest(input: Omit<PlanInput, 'version'>): Day[] {
  const horizon = horizonOf(input);
  const earlier = [...input.slices.keys()].filter((day) => day < horizon.from).sort();
  return [...(input.settings.startDay === null ? earlier : []), ...daysOf(horizon)];
}

/** The windows that a nightly run asks for. */
export function planNight(input: PlanInput): PlannedWindow[] {
  const horizon = horizonOf(input);
  const lookbackFrom = maxDay(addDays(horizon.to, 1 - input.settings.lookbackDays), horizon.from);
  const due = daysOfInterest(input).flatMap((day) => {
    const reason = nightlyReason(day, lookbackFrom, input);
    return reason ? [{ day, reason }] : [];
  });
  return windowsOf(due, input.settings.windowDays);
}

function nightlyReason(day: Day, lookbackFrom: Day, input: PlanInput): DueReason | null {
  const known = input.slices.get(day);
  if (!known) return 'missing';
  if (known.version !== input.version) return 'outdated';
  if (known.moved) return 'moved';
  if (day >= lookbackFrom) return 'lookback';
  if (known.settled) return null;
  const interval = recheckDays(daysBetween(day, input.today));
  return daysBetween(known.checkedOn, input.today) >= interval ? 'unsettled' : null;
}

/** The windows that a backfill of `range` asks for. */
export function planBackfill(input: PlanInput, range: DayRange, refetch: boolean): PlannedWindow[] {
  const due = daysOf(range).flatMap((day): DueSlice[] => {
    const known = input.slices.get(day);
    if (!known) return [{ day, reason: 'missing' }];
    if (refetch) return [{ day, reason: 'requested' }];
    return known.version === input.version ? [] : [{ day, reason: 'outdated' }];
  });
  return windowsOf(due, input.settings.windowDays);
}

/** Neighbouring days share a window, up to the longest that the settings allow. */
function windowsOf(due: readonly DueSlice[], windowDays: number): PlannedWindow[] {
  const reasons = new Map(due.map((slice) => [slice.day, slice]));
  return mergeDays(reasons.keys(), windowDays).map((range) => ({
    ...range,
    slices: daysOf(range).map((day) => reasons.get(day)!),
  }));
}
