/**
 * Exports of the reductions: every day at five past midnight one is made, and further ones when they are ordered. What an
 * export says hangs on its content day, and on lines that were added and removed: those act at once, whatever the
 * newest export is called, so that other content under the same name can be had.
 */

import { dayText } from '../day-text.ts';
import { clockText, dutchWall } from '../dutch-time.ts';
import type { World } from '../world.ts';
import { centsText } from './amounts.ts';
import { entries, reductionsOf } from './assortment.ts';
import type { ReductionLine } from './csv-file.ts';

/** A day's export is there from five past midnight on, which its name says too. */
const READY_AT_MS = 5 * 60_000;
/** Reductions enter the file so many days before they begin. */
const AHEAD_DAYS = 7;
const MINUTE_MS = 60_000;

export interface Export {
  readonly name: string;
  /** Number of the day whose reductions it holds. */
  readonly contentDay: number;
}

/** The lines that have all the values given. */
export type LinePattern = { readonly ean: string } & Partial<ReductionLine>;

/** Number of the day whose daily export is the newest one. */
function exportDay(now: number): number {
  return dutchWall(now - READY_AT_MS).day;
}

/** Name of an export that is made at a wall time, `HHmm`. */
function nameAt(day: number, time: string): string {
  const [year, month, date] = dayText(day).split('-');
  return `Verlaging_Bemiddelingsbijdrage_${date}${month}${year}_${time}.csv`;
}

function fits(line: ReductionLine, pattern: LinePattern): boolean {
  return (Object.keys(pattern) as (keyof ReductionLine)[]).every((field) => line[field] === pattern[field]);
}

export class Exports {
  readonly #world: World;
  readonly #seriesLength: number;
  /** The newest one that was ordered, and the day of the daily export that it stands in for. */
  #ordered: { readonly made: Export; readonly day: number } | undefined;
  readonly #removed = new Map<string, LinePattern[]>();
  #added: ReductionLine[] = [];

  constructor(world: World, seriesLength: number) {
    this.#world = world;
    this.#seriesLength = seriesLength;
  }

  /** The newest export at a time. */
  latest(now: number): Export {
    const day = exportDay(now);
    if (this.#ordered?.day === day) return this.#ordered.made;
    return { name: nameAt(day, '0005'), contentDay: day };
  }

  /**
   * A new export, which is the newest one until that of the next day. Its name carries the time, or the next minute that
   * is not taken, unless one is given; it holds the reductions of the newest export's day unless another is given.
   */
  order(now: number, name: string | undefined, contentDay: number | undefined): void {
    const before = this.latest(now);
    const made = { name: name ?? this.#freeName(now, before.name), contentDay: contentDay ?? before.contentDay };
    this.#ordered = { made, day: exportDay(now) };
  }

  #freeName(now: number, taken: string): string {
    const { day, seconds } = dutchWall(now);
    const name = nameAt(day, clockText(seconds).slice(0, 5).replace(':', ''));
    return name === taken ? this.#freeName(now + MINUTE_MS, taken) : name;
  }

  addLines(lines: readonly ReductionLine[]): void {
    this.#added = [...this.#added, ...lines];
  }

  /** Removes the lines that fit, from this export and all others; false when the newest one has none. */
  removeLines(pattern: LinePattern, now: number): boolean {
    if (!this.#has(pattern, now)) return false;
    this.#added = this.#added.filter((line) => !fits(line, pattern));
    this.#removed.set(pattern.ean, [...(this.#removed.get(pattern.ean) ?? []), pattern]);
    return true;
  }

  #has(pattern: LinePattern, now: number): boolean {
    for (const line of this.lines(now)) if (fits(line, pattern)) return true;
    return false;
  }

  /** The lines of the newest export at a time, in their order. */
  *lines(now: number): Generator<ReductionLine> {
    const { contentDay } = this.latest(now);
    for (const line of this.#generated(contentDay))
      if (!this.#removed.get(line.ean)?.some((pattern) => fits(line, pattern))) yield line;
    yield* this.#added;
  }

  *#generated(day: number): Generator<ReductionLine> {
    for (const entry of entries(this.#world, this.#seriesLength))
      for (const { maximumCents, costCents, startDay, endDay } of reductionsOf(entry, day)) {
        if (endDay < day || startDay > day + AHEAD_DAYS) continue;
        yield {
          ean: entry.ean,
          maximumPrice: centsText(maximumCents),
          costReduction: centsText(costCents),
          startDate: dayText(startDay),
          endDate: dayText(endDay),
        };
      }
  }
}
