/** Where a benchmark works, what machine it is, and how a measured part is run as a process of its own. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { NO_PROGRESS } from '../../../src/core/progress.ts';

/** BENCH_DIR names a folder on the disk to be measured. */
export function workFolder(): { readonly dir: string; readonly remove: () => void } {
  const dir = mkdtempSync(path.join(process.env.BENCH_DIR ?? tmpdir(), 'etl-bench-'));
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

/** Runs a script of this folder with a clean heap and page counters; it prints one JSON document. */
export async function inProcess<T>(script: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<T> {
  const file = path.join(import.meta.dirname, script);
  const child = spawn(process.execPath, [file, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, UV_THREADPOOL_SIZE: '8', ...env },
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`${script} ${args.join(' ')} ended with ${code}`);
  return JSON.parse(text) as T;
}

/** Peak resident memory of this process, MiB; Linux only, else what it has now. */
export function peakMiB(): number {
  try {
    const line = /VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'));
    return Math.round(Number(line?.[1]) / 1024);
  } catch {
    return Math.round(process.memoryUsage.rss() / 2 ** 20);
  }
}

export async function timed<T>(work: () => Promise<T>): Promise<{ readonly ms: number; readonly value: T }> {
  const started = performance.now();
  const value = await work();
  return { ms: Math.round(performance.now() - started), value };
}

const nothing = () => {};

/** The surroundings of an app that nobody watches and nobody stops. */
export const unwatched = {
  random: Math.random,
  log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
  progress: NO_PROGRESS,
  signal: new AbortController().signal,
};

/** Where the settings of the checkout lie, seen from the built benchmark. */
export const packageRoot = path.resolve(import.meta.dirname, '..', '..', '..', '..');

export interface Result {
  readonly name: string;
  readonly figure: string;
  /** The limit measured in the same run. */
  readonly limit: string;
  /** Our cost over the limit's, where both are one quantity: 1 is at the limit, 2 is twice as dear. */
  readonly ratio?: number;
  /** What was aimed for, and whether it was met. */
  readonly target: string;
  readonly met: boolean | null;
  /** Costs end in their unit (`tookMs`, `leftBytes`, `peakMiB`), and are compared with those kept before; `limitMs` is their limit. */
  readonly raw: Readonly<Record<string, number>>;
  /** Shown below the table: curves. */
  readonly below?: readonly string[];
}
