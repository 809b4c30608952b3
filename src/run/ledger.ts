/** A run as it goes on: its row, written when it begins and when it ends, and what is written with its end. */
import { type Clock, isoTime } from '../core/clock.ts';
import { newId } from '../core/ids.ts';
import type { DriftRecord, RunRecord, RunResult, RunSummary } from '../core/records.ts';
import type { State } from '../store/state.ts';
import { beginRun, endRun } from '../store/tables/runs.ts';

export class RunLedger {
  private readonly state: State;
  private readonly clock: Clock;
  private current: RunRecord;
  readonly drift: DriftRecord[] = [];

  private constructor(state: State, clock: Clock, record: RunRecord) {
    this.state = state;
    this.clock = clock;
    this.current = record;
  }

  static async begin(state: State, clock: Clock, command: string, pipelines: readonly string[]): Promise<RunLedger> {
    const record: RunRecord = {
      run_id: newId('r', clock),
      command,
      pipelines,
      started_at: isoTime(clock.now()),
      ended_at: null,
      result: null,
      exit_code: null,
      summary: null,
    };
    await beginRun(state, record);
    return new RunLedger(state, clock, record);
  }

  get record(): RunRecord {
    return this.current;
  }

  get runId(): string {
    return this.current.run_id;
  }

  /** The record as it will be if nothing more goes wrong; what a publication carries into a target. */
  endingAs(result: RunResult, exitCode: number, summary: RunSummary): RunRecord {
    return { ...this.current, ended_at: isoTime(this.clock.now()), result, exit_code: exitCode, summary };
  }

  async end(result: RunResult, exitCode: number, summary: RunSummary): Promise<RunRecord> {
    this.current = this.endingAs(result, exitCode, summary);
    await endRun(this.state, this.current, this.drift);
    return this.current;
  }
}
