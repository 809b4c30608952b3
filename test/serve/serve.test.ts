import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/config.ts';
import type { StartedProgram } from '../../src/serve/program-process.ts';
import { scheduleOf } from '../../src/serve/schedule/schedule.ts';
import type { RunEnd, StartRun } from '../../src/serve/schedule/scheduler.ts';
import { type Addresses, serve } from '../../src/serve/serve.ts';
import { openSqliteState } from '../../src/store/sqlite/state.ts';
import { readMemo } from '../../src/store/tables/memo.ts';
import { writeSchedule } from '../../src/store/tables/scheduled.ts';
import { HANG_MS } from '../support/hang.ts';
import { openWorld, packageRoot, type World } from '../support/nights.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld({ settings: { push: { port: 0 }, serve: { port: 0 } } });
  world.clock.passUpTo(-1);
  const entry = { handled_until: '2026-03-01T00:00:00.000Z', last: null };
  await world.within(({ state }) => writeSchedule(state, { orders: entry }));
});
afterEach(() => world.close());

interface Served {
  readonly ended: Promise<void>;
  readonly addresses: Addresses;
  readonly hung: readonly (readonly string[])[];
}

/** What the status page begins: nothing. */
const nothing: StartedProgram = {
  ended: Promise.resolve({ kind: 'lost', how: 'it was never begun' }),
  stop: () => undefined,
  kill: () => undefined,
};

/** Everything in this process, with `orders` due at once. */
async function serving(startRun: StartRun, signal: AbortSignal): Promise<Served> {
  const hung: (readonly string[])[] = [];
  const { push, serve: settings, alerts } = await loadConfig({ env: world.env, cwd: world.home, packageRoot });
  const served = await new Promise<Served>((resolve, reject) => {
    const ended = world.within(
      (context) =>
        serve({
          context,
          push,
          settings,
          schedules: new Map([['orders', scheduleOf('30 5 * * *', 'Europe/Amsterdam')]]),
          startRun,
          page: { token: null, today: () => world.today(), tokens: new Map(), start: () => nothing, secrets: [] },
          alerts,
          version: '1.2.3',
          command: 'serve',
          onReady: (addresses) => resolve({ ended, addresses, hung }),
          onHung: (names) => hung.push(names),
        }),
      { signal },
    );
    ended.catch(reject);
  });
  // The token that the signature keys are asked with is ours, and comes to its end also when the receiver is closed.
  const stored = async () => {
    const state = await openSqliteState(path.join(world.home, 'state.db'));
    expect(await readMemo(state.db, 'signature-keys', z.unknown()).finally(() => state.close())).not.toBeNull();
  };
  await vi.waitFor(stored, { timeout: HANG_MS });
  return served;
}

it('what has not ended 19 seconds after it was asked to is said by its name, and its run is ended by force', async () => {
  const stop = new AbortController();
  const heard: string[] = [];
  let kill: () => void = () => undefined;
  const hanging: StartRun = () => ({
    ended: new Promise<RunEnd>((resolve) => {
      kill = () => resolve({ kind: 'lost', how: 'its process was ended by SIGKILL' });
    }),
    stop: ({ code }) => void heard.push(code),
    kill: () => {
      heard.push('kill');
      kill();
    },
  });
  const { ended, hung } = await serving(hanging, stop.signal);
  await world.clock.asleep((ms) => ms === 360 * 60_000);
  stop.abort();
  expect(heard).toEqual(['interrupted']);
  await world.clock.asleep((ms) => ms === 19_000);
  await world.clock.advance(18_999);
  expect(hung).toEqual([]);
  await world.clock.advance(1);
  await ended;
  expect(heard).toEqual(['interrupted', 'kill']);
  expect(hung).toEqual([expect.arrayContaining(['the lock of the scheduler', 'the scheduled run'])]);
});

it('it is ready while it holds its locks, and two of them do not start the same runs', async () => {
  const stop = new AbortController();
  const done: StartRun = () => ({
    ended: Promise.resolve({ kind: 'ended', result: 'done', runId: 'r1' }),
    stop: () => undefined,
    kill: () => undefined,
  });
  const { ended, addresses, hung } = await serving(done, stop.signal);
  expect(addresses.url).toMatch(/\/push$/);
  await world.clock.asleep((ms) => ms === 60_000);
  const answer = await fetch(addresses.health);
  expect([answer.status, await answer.json()]).toMatchObject([
    200,
    { ready: true, receiving: true, schedule: { next_due_at: '2026-03-20T04:30:00.000Z', running: null } },
  ]);
  await expect(serving(done, stop.signal)).rejects.toMatchObject({ kind: 'locked', code: 'receiver' });
  stop.abort();
  await ended;
  await expect(fetch(addresses.health)).rejects.toThrow();
  expect(hung).toEqual([]);
});
