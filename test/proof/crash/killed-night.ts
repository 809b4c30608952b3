/** A night of the built program in a process of its own, which does not live to its end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { inject } from 'vitest';
import type { World } from '../../support/nights.ts';

export interface Stop {
  /** A step, or a step and a pipeline with a space between; one that never comes lets the night go on. */
  readonly step: string;
  /** How many of them pass before. */
  readonly occurrence?: number;
  readonly names?: readonly string[];
}

/** Runs a night that dies at the step; returns the signal that ended it. Only in files called `*.built.test.ts`. */
export async function nightKilledAt(world: World, stop: Stop): Promise<NodeJS.Signals | null> {
  return endOf(startNight(world, stop));
}

export function startNight(world: World, { step, occurrence = 0, names = [] }: Stop): ChildProcess {
  const script = path.join(import.meta.dirname, 'child.mjs');
  const args = [script, inject('build'), step, String(occurrence), String(world.clock.now()), ...names];
  return spawn(process.execPath, args, {
    cwd: world.home,
    env: { PATH: process.env.PATH, ...world.env },
    stdio: 'inherit',
  });
}

export async function endOf(child: ChildProcess): Promise<NodeJS.Signals | null> {
  const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return signal;
}
