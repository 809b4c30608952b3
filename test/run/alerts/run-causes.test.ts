import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isoTime } from '../../../src/core/clock.ts';
import { homePaths } from '../../../src/core/home.ts';
import { newId } from '../../../src/core/ids.ts';
import type { RunResult } from '../../../src/core/records.ts';
import { judgeRuns } from '../../../src/run/alerts/run-causes.ts';
import { fileLocks } from '../../../src/store/sqlite/locks.ts';
import { beginRun, endRun } from '../../../src/store/tables/runs.ts';
import { FakeClock } from '../../support/clock.ts';
import { withState } from '../../support/state.ts';

interface Sent {
  readonly pipelines: readonly string[];
  readonly result: RunResult | null;
  readonly codes?: readonly string[];
}

const NOTHING = {
  ...{ windows: 0, calls: 0, rows: 0, slices_changed: 0, slices_unchanged: 0, slices_held: 0 },
  ...{ rejects: 0, duplicates: 0, left_out: 0, errors: [] },
};
const [ONE, TWO, BOTH] = [['one'], ['two'], ['one', 'two']];

/** Runs an hour apart, the last one an hour ago. `isAtWork`: somebody holds the lock of runs. */
async function judged(runs: readonly Sent[], isAtWork = false) {
  const home = await mkdtemp(path.join(tmpdir(), 'etl-runs-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const paths = homePaths(home);
  const clock = new FakeClock();
  for (const { pipelines, result, codes } of runs) {
    const runId = newId('r', clock);
    const started_at = isoTime(clock.now());
    const summary = codes ? { ...NOTHING, codes } : null;
    const ended = { ended_at: null, result, exit_code: null, summary };
    const record = { run_id: runId, command: 'run', pipelines, started_at, ...ended };
    await withState(home, async (state) => {
      await beginRun(state, record);
      await endRun(state, record, []);
    });
    clock.set(clock.now() + 3_600_000);
  }
  const locks = fileLocks(paths.locks, clock);
  const lock = isAtWork ? await locks.tryLock('run', 'run') : null;
  const { causes } = await withState(home, (state) => judgeRuns({ state, clock, locks }, BOTH, []));
  await lock?.release();
  return causes.map(({ key, what }) => `${key}: ${what}`);
}

const failed: Sent = { pipelines: BOTH, result: 'failed', codes: ['http_500', 'total_timeout'] };

describe('a run is a cause', () => {
  it.each<[string, readonly Sent[], readonly string[]]>([
    ['when it failed, with its codes', [failed], ['run/one+two: the run "run" failed (http_500, total_timeout)']],
    [
      'until every pipeline of it was run again',
      [failed, { pipelines: ONE, result: 'done' }],
      ['run/one+two: the run "run" failed (http_500, total_timeout)'],
    ],
    ['and no longer then', [failed, { pipelines: ONE, result: 'done' }, { pipelines: TWO, result: 'set_aside' }], []],
    [
      'not when a later one of the same failed, which is one itself',
      [{ ...failed, codes: ['x'] }, failed],
      ['run/one+two: the run "run" failed (http_500, total_timeout)'],
    ],
    [
      'beside a later one of other pipelines',
      [failed, { pipelines: ONE, result: 'failed', codes: [] }],
      ['run/one: the run "run" failed', 'run/one+two: the run "run" failed (http_500, total_timeout)'],
    ],
    ['not when a person stopped it', [{ pipelines: BOTH, result: 'interrupted', codes: ['interrupted'] }], []],
    [
      'when it outlasted its limit',
      [{ pipelines: BOTH, result: 'interrupted', codes: ['interrupted', 'run_limit'] }],
      ['run/one+two: the run "run" failed (interrupted, run_limit)'],
    ],
    [
      'as a refusal, whatever else failed in it',
      [{ pipelines: BOTH, result: 'refused', codes: ['http_500', 'token_rejected'] }],
      ['refused/token_rejected: the service refused our calls (token_rejected)'],
    ],
    [
      'when it has no end and a later one began',
      [
        { pipelines: BOTH, result: null },
        { pipelines: ONE, result: 'done' },
      ],
      ['run/one+two: the run "run" was killed'],
    ],
    [
      'when it has no end and its process is gone',
      [{ pipelines: BOTH, result: null }],
      ['run/one+two: the run "run" was killed'],
    ],
    ['without codes', [{ pipelines: ONE, result: 'failed' }], ['run/one: the run "run" failed']],
  ])('%s', async (_, runs, expected) => {
    expect(await judged(runs)).toEqual(expected);
  });

  it('not while it is at work', async () => {
    expect(await judged([{ pipelines: BOTH, result: null }], true)).toEqual([]);
  });
});
