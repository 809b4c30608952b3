/** What a run has done so far: the sums of what its responses brought, and its errors. */
import { EtlError, EXIT, exitCodeOf } from '../core/errors.ts';
import type { DriftRecord, RunSummary } from '../core/records.ts';
import { ChangeTally, type SliceChanges } from './window/what-changed.ts';

/** Code of the error of a run that was asked to stop before it was done. */
export const INTERRUPTED = 'interrupted';

/** What a response brought. */
export interface Applied {
  readonly rows: number;
  readonly rejects: number;
  readonly duplicates: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly held: number;
  readonly drift: readonly DriftRecord[];
  /** Of a report; absent where nothing changed. */
  readonly changes?: SliceChanges;
}

export class Tally {
  windows = 0;
  calls = 0;
  rows = 0;
  changed = 0;
  unchanged = 0;
  held = 0;
  rejects = 0;
  duplicates = 0;
  /** Slices that checks keep out of some target, each named once. */
  readonly heldByChecks = new Set<string>();
  /** Questions that were due and that the budgets of the night left out. */
  leftOut = 0;
  readonly errors: EtlError[] = [];
  readonly changes = new ChangeTally();

  add(result: Applied): void {
    this.windows += 1;
    this.rows += result.rows;
    this.changed += result.changed;
    this.unchanged += result.unchanged;
    this.held += result.held;
    this.rejects += result.rejects;
    this.duplicates += result.duplicates;
    if (result.changes) this.changes.add(result.changes);
  }

  summary(): RunSummary {
    return {
      windows: this.windows,
      calls: this.calls,
      rows: this.rows,
      slices_changed: this.changed,
      slices_unchanged: this.unchanged,
      slices_held: this.held + this.heldByChecks.size,
      rejects: this.rejects,
      duplicates: this.duplicates,
      left_out: this.leftOut,
      errors: this.errors.map((e) => e.message),
      ...(this.errors.length > 0 ? { codes: [...new Set(this.errors.flatMap(codesOf))] } : {}),
    };
  }

  exitCode(): number {
    const refused = this.errors.find((e) => e.kind === 'refused' || e.kind === 'usage');
    if (refused) return exitCodeOf(refused);
    if (this.errors.length > 0) return EXIT.failed;
    return this.held > 0 || this.heldByChecks.size > 0 || this.rejects > 0 ? EXIT.setAside : EXIT.done;
  }
}

/** Of an interruption also why, where that is more than a request. */
function codesOf({ code, cause }: EtlError): string[] {
  return code === INTERRUPTED && cause instanceof EtlError ? [code, cause.code] : [code];
}
