/** Runs and what they saw, on either engine. */
import { expect, test } from 'vitest';
import type { Day } from '../../../src/core/days.ts';
import { newId } from '../../../src/core/ids.ts';
import type { DriftRecord, RunRecord } from '../../../src/core/records.ts';
import type { State } from '../../../src/store/state.ts';
import {
  beginRun,
  deleteRuns,
  driftAfter,
  driftOfRuns,
  endedWell,
  endRun,
  lastRuns,
  runsBackwards,
  runsBefore,
  runsBegun,
  runsSince,
  runsStamp,
} from '../../../src/store/tables/runs.ts';
import { FakeClock } from '../../support/clock.ts';

const summary = { windows: 1, calls: 2, rows: 3, slices_changed: 0, slices_unchanged: 1, slices_held: 0 };
const DONE = {
  result: 'done',
  exit_code: 0,
  summary: { ...summary, rejects: 0, duplicates: 0, left_out: 0, errors: ['"a" failed'] },
} as const;
const seen = (field: string): DriftRecord => ({
  pipeline: 'orders',
  fetch_id: 'f1',
  kind: 'unknown_field',
  field,
  count: 2,
  example: '{"é": 1}',
});

export function runsConformance(open: () => Promise<State>): void {
  const clock = new FakeClock();
  const begun = async (state: State): Promise<RunRecord> => {
    clock.set(clock.now() + 60_000);
    const run_id = newId('r', clock);
    const started_at = new Date(clock.now()).toISOString();
    const open = { ended_at: null, result: null, exit_code: null, summary: null };
    const run = { run_id, command: 'run', pipelines: ['orders', 'products'], started_at, ...open };
    await beginRun(state, run);
    return run;
  };
  const ended = async (state: State, drift: readonly DriftRecord[] = []): Promise<RunRecord> => {
    const run = { ...(await begun(state)), ended_at: new Date(clock.now() + 1000).toISOString(), ...DONE };
    await endRun(state, run, drift);
    return run;
  };

  test('a run is there from its beginning, and as it ended', async () => {
    const state = await open();
    expect([await lastRuns(state.db, 9), await endedWell(state.db)]).toEqual([[], false]);
    const [first, second] = [await ended(state), await ended(state)];
    expect([await lastRuns(state.db, 9), await endedWell(state.db)]).toEqual([[second, first], true]);
    const killed = await begun(state);
    expect([await lastRuns(state.db, 2), await endedWell(state.db)]).toEqual([[killed, second], false]);
    expect(await runsSince(state.db, first.run_id)).toEqual([second, killed]);
    expect(await runsSince(state.db, null)).toEqual([first, second, killed]);
    expect(await runsBegun(state.db, first.started_at, second.started_at)).toEqual([first, second]);
  });

  test('the whole history is read from its end, in pages', async () => {
    const state = await open();
    const ids: string[] = [];
    for (let i = 0; i < 205; i++) ids.push((await begun(state)).run_id);
    const read: string[] = [];
    for await (const { run_id } of runsBackwards(state.db)) read.push(run_id);
    expect(read).toEqual(ids.reverse());
  });

  test('what a run saw goes with its end, and is found by run and since another one', async () => {
    const state = await open();
    const check = { days: ['2026-03-01' as Day], fix: 'look' };
    const first = await ended(state, [seen('a'), { ...seen('b'), check }]);
    const [none, last] = [await ended(state), await ended(state, [seen('c')])];
    const drift = await driftOfRuns(state.db, [first.run_id, none.run_id]);
    expect([...drift]).toEqual([[first.run_id, [seen('a'), { ...seen('b'), check }]]]);
    const both = await driftAfter(state.db, null, 9);
    expect(both.map(({ runId, startedAt, drift }) => [runId, startedAt, drift.length])).toEqual([
      [first.run_id, first.started_at, 2],
      [last.run_id, last.started_at, 1],
    ]);
    for (const newest of [await driftAfter(state.db, first.run_id, 9), await driftAfter(state.db, null, 1)])
      expect(newest.map(({ runId }) => runId)).toEqual([last.run_id]);
  });

  test('old runs go with what they saw, and every change shows', async () => {
    const state = await open();
    const stamps = [await runsStamp(state.db)];
    const [first, second] = [await ended(state, [seen('a')]), await ended(state)];
    stamps.push(await runsStamp(state.db));
    expect(await runsBefore(state.db, second.started_at, second.run_id)).toEqual([first.run_id]);
    expect(await runsBefore(state.db, '2999', first.run_id)).toEqual([]);
    await deleteRuns(state, [first.run_id]);
    stamps.push(await runsStamp(state.db));
    const killed = await begun(state);
    stamps.push(await runsStamp(state.db));
    await endRun(state, { ...killed, ended_at: killed.started_at, ...DONE }, []);
    stamps.push(await runsStamp(state.db));
    expect(new Set(stamps).size).toBe(5);
    expect((await lastRuns(state.db, 9)).map(({ run_id }) => run_id)).toEqual([killed.run_id, second.run_id]);
    expect(await driftAfter(state.db, null, 9)).toEqual([]);
  });
}
