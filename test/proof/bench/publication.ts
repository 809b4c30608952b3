/** Slices as a run of the benchmark makes them visible. */
import { systemClock } from '../../../src/core/clock.ts';
import { newId } from '../../../src/core/ids.ts';
import type { RunRecord } from '../../../src/core/records.ts';
import type { LoadSlice, Publication } from '../../../src/warehouse/target.ts';

export function publication(slices: readonly LoadSlice[]): Publication {
  const at = new Date().toISOString();
  const run: RunRecord = {
    run_id: newId('r', systemClock),
    command: 'bench',
    pipelines: ['orders'],
    started_at: at,
    ended_at: at,
    result: 'done',
    exit_code: 0,
    summary: null,
  };
  return { run, runs: [], fetches: [], drift: [], holds: [], slices };
}
