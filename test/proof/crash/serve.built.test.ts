/** `serve` as a process: its nights are processes of their own, and whoever ends it finds the next night equal to the truth. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { addDays, dayAt } from '../../../src/core/days.ts';
import { homePaths } from '../../../src/core/home.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { fileLocks } from '../../../src/store/sqlite/locks.ts';
import { runsSince } from '../../../src/store/tables/runs.ts';
import { readSchedule, writeSchedule } from '../../../src/store/tables/scheduled.ts';
import { HANG_MS } from '../../support/hang.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { startServing } from '../../support/serving.ts';
import { withState } from '../../support/state.ts';

const REPORTS = ['promotions', 'orders', 'commissions'];
const MS_PER_DAY = 86_400_000;

let world: World;
let serving: ChildProcess | null = null;

beforeEach(async () => {
  // The process has the real clock, and the service its own zone.
  const today = dayAt(Date.now(), 'Europe/Amsterdam');
  const settings = { push: { port: 0 }, serve: { port: 0 } };
  world = await openWorld({ today, lookbackDays: 4, windowDays: 2, ordersPerDay: 30, settings });
  world.sandbox.setNow(Date.now());
  world.clock.set(Date.now());
  const entry = { handled_until: new Date(Date.now() - 9 * MS_PER_DAY).toISOString(), last: null };
  await world.within(({ state }) => writeSchedule(state, Object.fromEntries(REPORTS.map((name) => [name, entry]))));
});
const scheduled = () => world.within(({ state }) => readSchedule(state.db));

afterEach(async () => {
  if (serving?.exitCode === null && serving.signalCode === null) {
    serving.kill('SIGKILL');
    await once(serving, 'exit');
  }
  await world.close();
});

const paths = () => homePaths(world.home);

const startServe = () =>
  startServing(world, (child) => {
    serving = child;
  });

const records = () => withState(paths().root, ({ db }) => runsSince(db, null));

/** Waits until something of the other process has come true. */
const eventually = (claim: () => Promise<void>) => vi.waitFor(claim, { timeout: HANG_MS, interval: 100 });

const nightIsDone = () => eventually(async () => expect((await scheduled())?.orders?.last?.result).toBe('done'));

async function expectTruth(): Promise<void> {
  const today = world.today();
  expect(await world.differences({ from: addDays(today, -4), to: addDays(today, -1) })).toEqual([]);
  expect((await world.within(verify)).differences).toEqual([]);
}

it('SIGTERM in the middle of a night: it is gone within 20 seconds, and the night is made up for when it is back', async () => {
  // The answer stops in the middle: nothing but the request to stop ends that call.
  world.sandbox.addFault({ endpoint: 'orders', kind: 'stall', bytes: 1000 });
  const { child } = await startServe();
  await eventually(async () => expect(world.sandbox.stats.calls.orders ?? 0).toBeGreaterThan(0));
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);
  expect((await records()).map(({ result }) => result)).toEqual(['interrupted']);
  expect((await scheduled())?.orders?.last).toMatchObject({ finished_at: null, result: 'interrupted' });

  const second = await startServe();
  await nightIsDone();
  const health = (await (await fetch(second.health)).json()) as { ready: boolean; schedule: { missed_since: unknown } };
  expect(health).toMatchObject({ ready: true, schedule: { missed_since: null } });
  const end = once(second.child, 'exit');
  second.child.kill('SIGTERM');
  expect(await end).toEqual([0, null]);
  // Nine nights were missed, and one of them was interrupted: one run.
  expect((await records()).map(({ result }) => result)).toEqual(['interrupted', 'done']);
  await expectTruth();
}, 120_000);

it('kill -9 in the middle of a night: its run does not outlive it, and is begun again', async () => {
  world.sandbox.addFault({ endpoint: 'orders', kind: 'stall', bytes: 1000 });
  const { child } = await startServe();
  await eventually(async () => expect(world.sandbox.stats.calls.orders ?? 0).toBeGreaterThan(0));
  child.kill('SIGKILL');
  await once(child, 'exit');
  await eventually(async () => {
    const lock = await fileLocks(paths().locks, world.clock).tryLock('run', 'test');
    expect(lock).not.toBeNull();
    await lock?.release();
  });
  expect((await records()).map(({ result }) => result)).toEqual(['interrupted']);
  const second = await startServe();
  await nightIsDone();
  expect((await scheduled())?.orders?.last?.tries).toBe(2);
  second.child.kill('SIGTERM');
  await once(second.child, 'exit');
  await expectTruth();
}, 120_000);
