/** The program as a process of its own, as `serve` begins it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { EtlError, EXIT } from '../../src/core/errors.ts';
import { homePaths } from '../../src/core/home.ts';
import { programStarter, type StartProgram } from '../../src/serve/program-process.ts';
import { fileLocks } from '../../src/store/sqlite/locks.ts';

async function starter(): Promise<{ readonly start: StartProgram; readonly home: string; readonly said: string[] }> {
  const home = await mkdtemp(path.join(tmpdir(), 'etl-program-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const said: string[] = [];
  const program = [process.execPath, path.join(inject('build'), 'src/main.js')];
  const env = { PARTNER_ETL_HOME: home };
  return { start: programStarter({ program, cwd: home, env, onLine: (line) => said.push(line) }), home, said };
}

test('a command tells its exit code, what it printed, and what it said', async () => {
  const { start, said } = await starter();
  const status = await start(['status', '--json']).ended;
  expect(status).toMatchObject({ kind: 'ended', exitCode: EXIT.done, document: { runs: [] } });
  const refused = await start(['release', 'orders', '2026-03-01', '--json']).ended;
  expect(refused).toMatchObject({ kind: 'ended', exitCode: EXIT.usage, document: null });
  expect(said).toContainEqual('partner-etl: orders 2026-03-01 is not held');
});

test('a run that finds the lock taken ends with its exit code', async () => {
  const { start, home } = await starter();
  const lock = await fileLocks(homePaths(home).locks, systemClock).tryLock('run', 'a test');
  onTestFinished(async () => lock?.release());
  expect(await start(['rebuild', '--json']).ended).toMatchObject({ kind: 'ended', exitCode: EXIT.locked });
});

test('what cannot be started is lost, with the reason', async () => {
  const start = programStarter({ program: ['/no/such/program'], cwd: '/', env: {}, onLine: () => undefined });
  const run = start(['run']);
  run.stop(new EtlError('failed', 'interrupted', 'too late'));
  expect(await run.ended).toMatchObject({ kind: 'lost', how: expect.stringContaining('could not be started') });
});
