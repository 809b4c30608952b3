/** A night of the built program in a process of its own, which does not live to its end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { expect, inject } from 'vitest';
import { verify } from '../../../src/run/verify/verify.ts';
import { openWorld, type World } from '../../support/nights.ts';

export interface Stop {
  /** A step, or a step and a pipeline with a space between; one that never comes lets the night go on. */
  readonly step: string;
  /** How many of them pass before. */
  readonly occurrence?: number;
  readonly names?: readonly string[];
  /** What it does to itself there; `SIGSTOP`: it goes on when it is let. */
  readonly signal?: 'SIGKILL' | 'SIGSTOP';
}

/** Runs a night that dies at the step; returns the signal that ended it. Only in files called `*.built.test.ts`. */
export async function nightKilledAt(world: World, stop: Stop): Promise<NodeJS.Signals | null> {
  return endOf(startNight(world, stop));
}

export function startNight(world: World, { step, occurrence = 0, names = [], signal = 'SIGKILL' }: Stop): ChildProcess {
  const script = path.join(import.meta.dirname, 'child.mjs');
  const args = [script, inject('build'), step, String(occurrence), String(world.clock.now()), ...names];
  return spawn(process.execPath, args, {
    cwd: world.home,
    env: { PATH: process.env.PATH, ...world.env, TEST_SIGNAL: signal },
    stdio: 'inherit',
  });
}

export async function endOf(child: ChildProcess): Promise<NodeJS.Signals | null> {
  const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return signal;
}

/** After a night that was not disturbed, of so many days in windows of two. */
export async function openKilledWorld(lookbackDays: number): Promise<World> {
  const world = await openWorld({ lookbackDays, windowDays: 2, ordersPerDay: 20 });
  await world.night();
  return world;
}

/** A day later an item has moved, and a night dies there: the next one brings the warehouse of an undisturbed one. */
export async function expectRecovery(world: World, stop: Stop): Promise<void> {
  world.passDays(1);
  const { from, to } = world.lookback();
  world.sandbox.change({ kind: 'move-item', ...world.itemOn(from), toDay: to });
  expect(await nightKilledAt(world, stop)).toBe('SIGKILL');
  world.clock.set(world.clock.now() + 60_000); // the killed night's clock ran on
  const { exitCode, errors } = await world.night();
  expect(errors).toEqual([]);
  expect(exitCode).toBe(0);
  expect(await world.differences(world.lookback())).toEqual([]);
}

/** Answers, lake and warehouse agree on every day there is. */
export async function expectWhole(world: World): Promise<void> {
  expect((await world.within(verify)).differences).toEqual([]);
}
