/** A command as a process group of its own: how long it took, and what it and all that it started held at most. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { Command } from './peer.ts';

export interface Measured {
  readonly wallMs: number;
  /** Resident memory of all processes of the group together, looked at every so often; Linux only, else 0. */
  readonly peakMiB: number;
  /** null: it was ended after the time that it had. */
  readonly exitCode: number | null;
  readonly stdout: string;
  /** The last line it wrote that speaks of an error, else the last one. */
  readonly lastWords: string;
}

const LOOK_EVERY_MS = 100;
const KEPT_CHARACTERS = 20_000;

export async function measure(command: Command, env: NodeJS.ProcessEnv, timeoutMs: number): Promise<Measured> {
  const started = performance.now();
  const child = spawn(command.file, command.args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    cwd: command.cwd,
    env: { ...env, ...command.env },
  });
  const failed = once(child, 'error').then(([error]) => Promise.reject(error as Error));
  let stdout = '';
  let words = '';
  const keep = (text: string) => {
    words = (words + text).slice(-KEPT_CHARACTERS);
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout = (stdout + text).slice(-KEPT_CHARACTERS);
    keep(text);
  });
  child.stderr.setEncoding('utf8').on('data', keep);
  const end = () => endGroup(child.pid);
  process.once('exit', end);
  let peakKiB = 0;
  const look = setInterval(() => {
    peakKiB = Math.max(peakKiB, groupKiB(child.pid));
  }, LOOK_EVERY_MS);
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    end();
  }, timeoutMs);
  try {
    const [code] = (await Promise.race([once(child, 'close'), failed])) as [number | null];
    const lines = words.trim().split('\n');
    const lastWords = lines.findLast((line) => /error|exception/i.test(line)) ?? lines.at(-1) ?? '';
    const wallMs = Math.round(performance.now() - started);
    return { wallMs, peakMiB: Math.round(peakKiB / 1024), exitCode: isLate ? null : (code ?? -1), stdout, lastWords };
  } finally {
    clearInterval(look);
    clearTimeout(late);
    process.removeListener('exit', end);
    end(); // what it left running
  }
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing of the group is left.
  }
}

/** Of all processes of the group, as they are now; never less than what one of them held before. */
function groupKiB(group: number | undefined): number {
  let sum = 0;
  let highest = 0;
  for (const pid of processes()) {
    try {
      // The name in brackets may hold anything; behind it stand state, parent and group.
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      if (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]) !== group) continue;
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      sum += Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
      highest = Math.max(highest, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
    } catch {
      // It has just ended.
    }
  }
  return Math.max(sum, highest);
}

function processes(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}
