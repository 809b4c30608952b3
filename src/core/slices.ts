/** What the lake's table of current files says of a slice. */
import type { Day, DayRange } from './days.ts';
import type { SliceContent } from './records.ts';

/** Paths of a content's files under the home directory; null where there is nothing to hold. */
interface NamedFiles {
  readonly file: string | null;
  readonly rejects_file: string | null;
}

/** A slice that was fetched but is kept back. */
export interface HeldSlice extends NamedFiles {
  readonly content: SliceContent;
  readonly reason: string;
  readonly detail: string;
  readonly rows_before: number;
  readonly held_at: string;
}

/** The answer that last said what a slice holds, or what is held of it, and when: the same answer again says the same. */
export interface Checked extends DayRange {
  readonly on: Day;
  readonly sha256: string;
}

export interface SliceEntry extends NamedFiles {
  readonly content: SliceContent;
  /** An item of this slice turned up on another day; ask the service again. */
  readonly moved: boolean;
  readonly held: HeldSlice | null;
  /** Null where no answer has said since what the slice holds: it lost an item, or was not made from an answer alone. */
  readonly checked: Checked | null;
}

/** Of one pipeline, in the order of days. */
export type Slices = ReadonlyMap<Day, SliceEntry>;
