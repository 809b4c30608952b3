/** The built program as a process of its own, as a user has it: the files of the package in a folder, and its command line. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { findPackage } from '../../../../src/disk/package-root.ts';
import { bundleInto } from '../../../support/bundle.ts';

export interface Program {
  /** What starts it, before its arguments. */
  readonly command: readonly string[];
  /** Where its modules lie one by one, for what steps in between: they were compiled together with this kit. */
  readonly modules: string;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly tookMs: number;
}

export interface Launch {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** What its clock says when it begins. */
  readonly atMs: number;
  /** No file may become larger, in KiB. */
  readonly fileLimitKiB?: number;
}

export const packageRoot = async () => (await findPackage(import.meta.dirname)).root;

/** Builds the program into the folder and lays the other files of the package beside it. */
export async function installProgram(folder: string): Promise<Program> {
  const root = await packageRoot();
  const { files } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as { files: string[] };
  await mkdir(folder, { recursive: true });
  for (const name of ['package.json', ...files.filter((file) => file !== 'dist')])
    await cp(path.join(root, name), path.join(folder, name), { recursive: true });
  await symlink(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  await bundleInto(path.join(folder, 'dist'), root);
  const command = [process.execPath, path.join(folder, 'bin', 'partner-etl.js')];
  return { command, modules: path.resolve(import.meta.dirname, '..', '..', '..', '..') };
}

/** Starts it; its clock begins at `atMs`. */
export async function start(command: readonly string[], launch: Launch): Promise<ChildProcess> {
  const clock = path.join(await packageRoot(), 'test', 'proof', 'crash', 'kit', 'shifted-clock.mjs');
  const limit = launch.fileLimitKiB;
  // `ulimit -f` of a POSIX shell counts blocks of 512 bytes.
  const words = limit === undefined ? command : ['/bin/sh', '-c', `ulimit -f ${limit * 2}; exec "$0" "$@"`, ...command];
  return spawn(words[0]!, words.slice(1), {
    cwd: launch.cwd,
    env: {
      PATH: process.env.PATH,
      UV_THREADPOOL_SIZE: '8',
      NODE_OPTIONS: `--import=${clock}`,
      CRASH_CLOCK_MS: String(launch.atMs),
      ...launch.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** All that it says until it is gone. */
export async function ended(child: ChildProcess): Promise<Ended> {
  const startedMs = performance.now();
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { code, signal, ...said, tookMs: performance.now() - startedMs };
}
