/**
 * When pipelines are due, by cron expressions in a time zone. Pure: instants go in and come out, in milliseconds since the epoch.
 *
 * On the two nights of a clock change a schedule runs once all the same: a time that does not exist is due at the moment after
 * the gap, one that exists twice at its first pass. Only what is due in every hour goes by the time that passes instead, or it
 * would be silent for an hour in autumn.
 */
import { Cron } from 'croner';

export interface Schedule {
  /** The first due time after the instant; null when there never is one. */
  next(afterMs: number): number | null;
  /** The last due time at or before the instant; null when there never was one. */
  last(untilMs: number): number | null;
}

const HOUR_MS = 3_600_000;

/** `expression` has five fields and `timeZone` a name; the settings have proved both. */
export function scheduleOf(expression: string, timeZone: string): Schedule {
  return remembering(isHourly(expression) ? byPassingTime(expression, timeZone) : byWallClock(expression, timeZone));
}

/** It is asked every minute, and its answers only change at its due times. */
function remembering(schedule: Schedule): Schedule {
  let [sinceMs, beforeMs] = [Number.NaN, Number.NaN];
  const lookAt = (ms: number) => {
    if (ms >= sinceMs && ms < beforeMs) return;
    sinceMs = schedule.last(ms) ?? Number.NEGATIVE_INFINITY;
    beforeMs = schedule.next(ms) ?? Number.POSITIVE_INFINITY;
  };
  const known = (ms: number) => (Number.isFinite(ms) ? ms : null);
  return {
    next(afterMs) {
      lookAt(afterMs);
      return known(beforeMs);
    },
    last(untilMs) {
      lookAt(untilMs);
      return known(sinceMs);
    },
  };
}

/** Whether it is due in every hour of a day on which it is due at all. */
function isHourly(expression: string): boolean {
  const [, hours = ''] = expression.trim().split(/\s+/);
  const eachHour = new Cron(`0 ${hours} * * *`, { mode: '5-part', timezone: 'UTC' });
  return eachHour.nextRuns(24, new Date(-1)).at(-1)?.getTime() === 23 * HOUR_MS;
}

function byPassingTime(expression: string, timezone: string): Schedule {
  const cron = new Cron(expression, { mode: '5-part', timezone });
  return {
    next: (afterMs) => cron.nextRun(new Date(afterMs))?.getTime() ?? null,
    last: (untilMs) => cron.previousRuns(1, new Date(untilMs + 1))[0]?.getTime() ?? null,
  };
}

/** The expression is evaluated on a clock without changes, and each of its times is then looked for in the zone. */
function byWallClock(expression: string, timeZone: string): Schedule {
  const cron = new Cron(expression, { mode: '5-part', timezone: 'UTC' });
  const zone = new Zone(timeZone);
  return {
    next(afterMs) {
      let wallMs: number | undefined = zone.wall(afterMs);
      for (;;) {
        wallMs = cron.nextRun(new Date(wallMs))?.getTime();
        if (wallMs === undefined) return null;
        const dueMs = zone.firstPass(wallMs);
        if (dueMs > afterMs) return dueMs;
      }
    },
    last(untilMs) {
      // In the second pass the wall clock shows less than it has shown already.
      const shownMs = zone.wall(untilMs);
      let wallMs: number | undefined = shownMs + (untilMs - zone.firstPass(shownMs)) + 1;
      for (;;) {
        wallMs = cron.previousRuns(1, new Date(wallMs))[0]?.getTime();
        if (wallMs === undefined) return null;
        const dueMs = zone.firstPass(wallMs);
        if (dueMs <= untilMs) return dueMs;
      }
    },
  };
}

/** A zone's wall clock. What it shows is written as the instant at which a clock in UTC shows the same. */
class Zone {
  private readonly format: Intl.DateTimeFormat;

  constructor(timeZone: string) {
    this.format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /** What the wall clock shows at the instant. */
  wall(ms: number): number {
    const parts = this.format.formatToParts(new Date(ms));
    const at = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((part) => part.type === type)?.value);
    const seconds = Date.UTC(at('year'), at('month') - 1, at('day'), at('hour'), at('minute'), at('second'));
    return seconds + (((ms % 1000) + 1000) % 1000);
  }

  /** The first instant at which the wall clock shows this; where it never does, the moment after the gap. */
  firstPass(wallMs: number): number {
    // The offsets before and after any change near by; the greater one gives the earlier instant.
    const offsets = [wallMs - 24 * HOUR_MS, wallMs + 24 * HOUR_MS].map((ms) => this.wall(ms) - ms);
    const [early, late] = [wallMs - Math.max(...offsets), wallMs - Math.min(...offsets)];
    if (this.wall(early) === wallMs) return early;
    if (this.wall(late) === wallMs) return late;
    return this.afterGap(early, late);
  }

  /** The change of the clock between the two: before it, it shows less than the missing time, from it on more. */
  private afterGap(before: number, after: number): number {
    const offset = this.wall(before) - before;
    let [low, high] = [before, after];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.wall(middle) - middle === offset) low = middle;
      else high = middle;
    }
    return high;
  }
}
