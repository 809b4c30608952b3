/**
 * When the service last told the content of each slice, and by which answer.
 *
 * `state/checked/<pipeline>.json`. It is a memory aid and not truth: when it is lost, slices are asked for again. It stands
 * apart from the lake because a night that changes nothing must write nothing there. Settled slices before the lookback
 * are dropped from it, so it does not grow with history; for them the lake's `fetched_at` is enough.
 */
import path from 'node:path';
import { z } from 'zod';
import { type Day, type DayRange, dayAt, daysOf } from '../core/days.ts';
import type { SliceState } from '../core/plan.ts';
import { writeJson } from '../disk/atomic.ts';
import type { SliceEntry } from '../lake/entries.ts';
import { readState } from './state-file.ts';

const schema = z.record(
  z.string(),
  z.object({
    on: z.string(),
    sha256: z.string(),
    from: z.string(),
    to: z.string(),
    version: z.int(),
    digest: z.string(),
  }),
);

export interface Checked {
  readonly on: Day;
  /** Of the answer that told it, with the window and the pipeline's version: the same again means the same content. */
  readonly sha256: string;
  readonly from: Day;
  readonly to: Day;
  readonly version: number;
  /** Of the content that it told. */
  readonly digest: string;
}

export class CheckedDays {
  private readonly file: string;
  private readonly days: Map<Day, Checked>;
  private isChanged = false;

  private constructor(file: string, days: Map<Day, Checked>) {
    this.file = file;
    this.days = days;
  }

  static async read(stateDir: string, pipeline: string): Promise<CheckedDays> {
    const file = path.join(stateDir, 'checked', `${pipeline}.json`);
    const days = Object.entries((await readState(file, schema)) ?? {}) as [Day, Checked][];
    return new CheckedDays(file, new Map(days));
  }

  get(day: Day): Checked | undefined {
    return this.days.get(day);
  }

  set(day: Day, checked: Checked): void {
    this.days.set(day, checked);
    this.isChanged = true;
  }

  /** After a change that did not come from an answer (an item moved away, a release), no answer may vouch for the slice. */
  forget(day: Day): void {
    this.isChanged = this.days.delete(day) || this.isChanged;
  }

  /**
   * Whether this very answer, for this very window, is what all its slices were last checked by, and the lake still holds
   * (or holds back) what it told. After a crash this file may know less than the lake, and the lake may be lost.
   */
  vouches(range: DayRange, sha256: string, version: number, slices: ReadonlyMap<Day, SliceEntry>): boolean {
    return daysOf(range).every((day) => {
      const c = this.days.get(day);
      const isSame = c?.sha256 === sha256 && c.from === range.from && c.to === range.to && c.version === version;
      const entry = slices.get(day);
      return isSame && entry?.moved === false && (entry.held ?? entry).content.digest === c.digest;
    });
  }

  /** Saves what is still of use: slices that are not settled, or not before `keepFrom`. */
  async save(slices: ReadonlyMap<Day, SliceEntry>, keepFrom: Day): Promise<void> {
    if (!this.isChanged) return;
    const kept = [...this.days].filter(([day]) => day >= keepFrom || slices.get(day)?.content.settled !== true);
    await writeJson(this.file, Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1))));
    this.isChanged = false;
  }
}

/** What the plan has to know of every slice in the lake. */
export function sliceStates(
  slices: ReadonlyMap<Day, SliceEntry>,
  checked: CheckedDays,
  timeZone: string,
): Map<Day, SliceState> {
  const states = new Map<Day, SliceState>();
  for (const [day, { content, moved }] of slices) {
    const checkedOn = checked.get(day)?.on ?? dayAt(Date.parse(content.fetched_at), timeZone);
    states.set(day, { day, checkedOn, settled: content.settled, version: content.version, moved });
  }
  return states;
}
