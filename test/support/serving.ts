/** The built program's `serve` as a process. Only in files called `*.built.test.ts` or `*.whole.test.ts`. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { inject } from 'vitest';
import type { World } from './nights.ts';

/** Where it takes messages, and where it says how it is. */
export interface Addresses {
  readonly url: string;
  readonly health: string;
}

/** Resolves when it takes messages and starts runs. `begun` gets the process at once. `env`: besides that of the world. */
export async function startServing(
  world: World,
  begun: (child: ChildProcess) => void,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly child: ChildProcess } & Addresses> {
  const main = path.join(inject('build'), 'src', 'main.js');
  const child = spawn(process.execPath, [main, 'serve', '--json'], {
    cwd: world.home,
    env: { PATH: process.env.PATH, ...world.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  begun(child);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`serve ended with ${code}: ${said}`);
  });
  ended.catch(() => undefined);
  const [line] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer];
  return { child, ...(JSON.parse(line.toString()) as Addresses) };
}
