/** Peers that are no dependency of the project: brought into a folder of the benchmark where their registry is reachable. */
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Command } from './peer.ts';

const execute = promisify(execFile);

/** A peer cannot take part; the message says why. */
export class Absent extends Error {}

const INSTALL_TIMEOUT_MS = 300_000;

/** Runs one step of an installation; rejects with Absent when it fails. */
export async function install(what: string, { file, args, cwd, env }: Command): Promise<void> {
  try {
    const options = { cwd, env: { ...process.env, ...env }, timeout: INSTALL_TIMEOUT_MS, maxBuffer: 2 ** 26 };
    await execute(file, args, options);
  } catch (error) {
    const { stderr = '', message, killed } = error as Error & { stderr?: string; killed?: boolean };
    const why = killed ? `more than ${INSTALL_TIMEOUT_MS / 1000} s` : stderr.trim().split('\n').at(-1) || message;
    throw new Absent(`${what} could not be installed: ${withoutAddress(why.slice(0, 200))}`);
  }
}

/** Results are kept: neither paths nor hosts of a machine belong there. */
export function withoutAddress(text: string): string {
  return text.replaceAll(/\w+:\/\/\S+/g, '…').replaceAll(/(?:\/[\w.@+-]+){2,}/g, '…');
}

/** Where uv keeps what it has loaded; beside the environments, so that it goes with them. */
export function uvEnv(folder: string): Readonly<Record<string, string>> {
  return { UV_CACHE_DIR: path.join(path.dirname(folder), 'uv-cache') };
}

/** A virtual environment of Python with the packages; the folder of its programs. */
export async function pythonWith(folder: string, packages: readonly string[]): Promise<string> {
  const what = packages.join(', ');
  const bin = path.join(folder, 'bin');
  await install(what, { file: 'python3', args: ['-m', 'venv', folder] });
  // uv resolves and unpacks in seconds what takes pip minutes.
  await install('uv', { file: path.join(bin, 'pip'), args: ['install', '--quiet', '--no-cache-dir', 'uv'] });
  const args = ['pip', 'install', '--quiet', '--python', path.join(bin, 'python'), ...packages];
  await install(what, { file: path.join(bin, 'uv'), args, env: uvEnv(folder) });
  return bin;
}

/** The folder in which the package of npm lies under node_modules. */
export async function npmWith(folder: string, name: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', folder, name];
  await install(name, { file: 'npm', args });
  return folder;
}
