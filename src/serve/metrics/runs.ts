/** What runs leave behind, counted when they have ended. */
import { EXIT } from '../../core/errors.ts';
import type { RunRecord } from '../../core/records.ts';
import type { State } from '../../store/state.ts';
import { lastRuns, runsSince } from '../../store/tables/runs.ts';
import type { Meters } from './meters.ts';

/** Enough to find the last run of every pipeline: what is pushed is run every ten minutes, the rest once a day. */
const RUNS_LOOKED_BACK = 300;
const RESULTS = [
  ['done', '0'],
  ['set_aside', '3'],
  ['failed', '1'],
  ['failed', '2'],
  ['refused', '4'],
  ['interrupted', '1'],
  ['killed', ''],
] as const;
const SLICE_OUTCOMES = ['changed', 'unchanged', 'held'] as const;
const ROW_OUTCOMES = ['read', 'rejected', 'duplicate'] as const;

/**
 * Runs come one after the other, under a lock. So only the newest one may still be at work; any other that has no end was killed,
 * and everything up to the last one that was counted need not be looked at again.
 */
export class RunCounts {
  private readonly state: State;
  private readonly meters: Meters;
  /** Everything up to this run is counted. */
  private after: string;

  private constructor(state: State, meters: Meters, after: string) {
    this.state = state;
    this.meters = meters;
    this.after = after;
  }

  /** Counts nothing that has ended by now, but shows the last runs. */
  static async open(state: State, meters: Meters): Promise<RunCounts> {
    const [newest, ...earlier] = await lastRuns(state.db, RUNS_LOOKED_BACK);
    const isAtWork = newest !== undefined && newest.ended_at === null;
    const counts = new RunCounts(state, meters, (isAtWork ? earlier[0] : newest)?.run_id ?? '');
    counts.beginAtZero();
    for (const run of [...earlier.reverse(), ...(newest ? [newest] : [])]) counts.tellLast(run);
    return counts;
  }

  async read(): Promise<void> {
    const runs = await runsSince(this.state.db, this.after);
    for (const [i, run] of runs.entries()) {
      this.tellLast(run);
      if (run.ended_at === null && i === runs.length - 1) return;
      this.count(run);
      this.after = run.run_id;
    }
  }

  /** A counter that first appears with its first event has not increased, for Prometheus. */
  private beginAtZero(): void {
    const { runs, runSlices, rows } = this.meters;
    for (const [result, exit_code] of RESULTS) runs.inc({ result, exit_code }, 0);
    for (const outcome of SLICE_OUTCOMES) runSlices.inc({ outcome }, 0);
    for (const outcome of ROW_OUTCOMES) rows.inc({ outcome }, 0);
  }

  private count({ result, exit_code, summary }: RunRecord): void {
    const { meters } = this;
    meters.runs.inc({ result: result ?? 'killed', exit_code: exit_code === null ? '' : String(exit_code) });
    if (summary === null) return;
    meters.rows.inc({ outcome: 'read' }, summary.rows);
    meters.rows.inc({ outcome: 'rejected' }, summary.rejects);
    meters.rows.inc({ outcome: 'duplicate' }, summary.duplicates);
    meters.runSlices.inc({ outcome: 'changed' }, summary.slices_changed);
    meters.runSlices.inc({ outcome: 'unchanged' }, summary.slices_unchanged);
    meters.runSlices.inc({ outcome: 'held' }, summary.slices_held);
    meters.leftOut.inc(summary.left_out);
    for (const [endpoint, { calls, ms }] of Object.entries(summary.waits ?? {})) {
      meters.waits.inc({ endpoint }, calls);
      meters.waitSeconds.inc({ endpoint }, ms / 1000);
    }
    for (const { target, slices, rows, ms } of summary.published ?? []) {
      meters.loadedSlices.inc({ target }, slices);
      meters.loadedRows.inc({ target }, rows);
      meters.publish.observe({ target }, ms / 1000);
    }
  }

  private tellLast({ pipelines, started_at: from, ended_at: to, exit_code: code }: RunRecord): void {
    const { meters } = this;
    for (const pipeline of pipelines) {
      meters.lastStart.set({ pipeline }, Date.parse(from) / 1000);
      if (to === null || code === null) continue;
      meters.lastEnd.set({ pipeline }, Date.parse(to) / 1000);
      meters.lastDuration.set({ pipeline }, Math.max(0, Date.parse(to) - Date.parse(from)) / 1000);
      meters.lastExitCode.set({ pipeline }, code);
      if (code === EXIT.done || code === EXIT.setAside) meters.lastSuccess.set({ pipeline }, Date.parse(to) / 1000);
    }
  }
}
