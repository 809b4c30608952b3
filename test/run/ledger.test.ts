import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { driftOfRun, endedWell, lastRuns, RunLedger, runsBackwards, runsSince } from '../../src/run/ledger.ts';
import { FakeClock } from '../support/clock.ts';

const SUMMARY = { windows: 0, calls: 0, rows: 0, slices_changed: 0, slices_unchanged: 0, slices_held: 0 };
const clock = new FakeClock();
let folder: string;
let runs: string[];

/** Three runs that ended well. */
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'etl-ledger-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  runs = [];
  for (let i = 0; i < 3; i++) {
    clock.set(clock.now() + 60_000);
    const ledger = await RunLedger.begin(folder, clock, 'run', []);
    await ledger.end('done', 0, { ...SUMMARY, rejects: 0, duplicates: 0, left_out: 0, errors: [] });
    runs.push(ledger.runId);
  }
});

const damage = (run: string, text: string) => writeFile(path.join(folder, `${run}.json`), text);

it.each([
  ['cut off', '{"run_id": "r'],
  ['empty', ''],
  ['of another run', '{"run_id": "r0"}'],
  ['no object', '7'],
])('a record that is %s keeps nobody from the others', async (_, text) => {
  await damage(runs[1]!, text);
  const others = [runs[0], runs[2]];
  expect((await runsSince(folder, null)).map(({ run_id }) => run_id)).toEqual(others);
  expect((await lastRuns(folder, 3)).map(({ run_id }) => run_id)).toEqual(others.toReversed());
  const backwards: string[] = [];
  for await (const { run_id } of runsBackwards(folder)) backwards.push(run_id);
  expect(backwards).toEqual(others.toReversed());
});

it('the last run ended well, unless its record is damaged or says otherwise', async () => {
  expect(await endedWell(folder)).toBe(true);
  await damage(runs[2]!, '{');
  expect(await endedWell(folder)).toBe(false);
  await RunLedger.begin(folder, clock, 'run', []);
  expect(await endedWell(folder)).toBe(false);
});

it('drift that cannot be read is none', async () => {
  await writeFile(path.join(folder, `${runs[0]}.drift.json`), '[{"pipeline":');
  expect(await driftOfRun(folder, runs[0]!)).toEqual([]);
});
