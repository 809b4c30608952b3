/** How long work tells where it stands. Whoever shows it decides how; the work itself never waits for it. */
export interface Progress {
  /**
   * A pipeline begins, with this many windows (or calls, or files) before it; `callsAllowed`: how many of them its budget of the night
   * would bear, where it has one.
   */
  begin(pipeline: string, windows: number, unit?: ProgressUnit, callsAllowed?: number): void;
  /** A window of it is done. */
  window(pipeline: string, done: WindowDone): void;
  /** No more of its windows will be done. */
  end(pipeline: string): void;
  /** Something worth knowing now, as one line. */
  note(text: string): void;
}

export type ProgressUnit = 'window' | 'call' | 'file' | 'segment';

export interface WindowDone {
  /** First and last day, yyyy-mm-dd. */
  readonly from: string;
  readonly to: string;
  readonly rows: number;
  /** Slices whose content changed. */
  readonly changed: number;
}
