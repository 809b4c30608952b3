/**
 * This program as a process of its own: what `serve` begins (scheduled runs, what is asked for on the status page) moves data there
 * and not here. The receiver must answer within 5 seconds while a night splits and normalises; in one process the night's JavaScript
 * would delay its answers, and DuckDB's queries would take the threads that its syncs wait for. So memory goes back after each
 * run, a crash costs the run and not the receiver, one that hangs can really be ended, and settings are read afresh.
 *
 * The two are tied by a channel: what is sent through it asks the process to stop after the slice in hand, and so does its end, so that
 * a run never outlives the `serve` that began it. No signal is sent: who presses Ctrl-C, and systemd, send one to both.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { EtlError } from '../core/errors.ts';

export interface ProgramOptions {
  /** What starts the program: the file to execute, and the arguments before those of the program. */
  readonly program: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Gets every line that it writes to stderr. */
  readonly onLine: (line: string) => void;
}

/** What is sent to a process that is to stop. */
export const stopRequest = z.object({ stop: z.object({ code: z.string(), message: z.string(), hint: z.string() }) });
export type StopRequest = z.infer<typeof stopRequest>;

export type ProgramEnd =
  /** `document`: what it printed, if that is one JSON document; else null. `said`: its last lines on stderr. */
  | { readonly kind: 'ended'; readonly exitCode: number; readonly document: unknown; readonly said: readonly string[] }
  /** It could not be started, or was gone without a word. */
  | { readonly kind: 'lost'; readonly how: string };

export interface StartedProgram {
  /** Never rejects. */
  readonly ended: Promise<ProgramEnd>;
  /** Asks it to end after the slice in hand; the reason stands in the run's record. */
  stop(reason: EtlError): void;
  /** Ends it at once, by force. */
  kill(): void;
}

export type StartProgram = (words: readonly string[]) => StartedProgram;

const MOST_OUTPUT_CHARS = 4 * 1024 * 1024;
const LINES_KEPT = 20;

/** Starts the program with these arguments, behind which it prints one JSON document on stdout. */
export function programStarter({ program, cwd, env, onLine }: ProgramOptions): StartProgram {
  return (words) => {
    const [file = '', ...before] = program;
    const child = spawn(file, [...before, ...words], { cwd, env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    child.on('error', () => undefined); // its end shows that
    return {
      ended: endOf(child, onLine),
      stop: ({ code, message, hint = '' }) => {
        if (!child.connected) return;
        child.send({ stop: { code, message, hint } } satisfies StopRequest, () => undefined);
      },
      kill: () => void child.kill('SIGKILL'),
    };
  };
}

async function endOf(child: ChildProcess, onLine: (line: string) => void): Promise<ProgramEnd> {
  let output = '';
  const said: string[] = [];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    if (output.length < MOST_OUTPUT_CHARS) output += text;
  });
  if (child.stderr)
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (said.push(line) > LINES_KEPT) said.shift();
      onLine(line);
    });
  const how = await new Promise<{ code: number | null; signal: string | null; error?: Error }>((resolve) => {
    child.once('error', (error) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, error });
    });
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  if (how.error) return { kind: 'lost', how: `it could not be started: ${how.error.message}` };
  if (how.code === null) return { kind: 'lost', how: `its process was ended by ${how.signal}` };
  return { kind: 'ended', exitCode: how.code, document: documentIn(output), said };
}

function documentIn(output: string): unknown {
  try {
    return JSON.parse(output);
  } catch {
    return null;
  }
}
