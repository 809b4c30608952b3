/**
 * A scheduled run as a process of its own: `partner-etl run …`.
 *
 * The receiver must answer within 5 seconds while a night splits and normalises; in one process the night's JavaScript would
 * delay its answers, and DuckDB's queries would take the threads that its syncs wait for. So memory goes back after each
 * night, a crash costs the run and not the receiver, one that hangs can really be ended, and settings are read afresh.
 *
 * The two are tied by a channel: what is sent through it asks the run to stop after the slice in hand, and so does its end, so that
 * a run never outlives the `serve` that began it. No signal is sent: who presses Ctrl-C, and systemd, send one to both.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { EXIT } from '../core/errors.ts';
import type { RunEnd, StartRun } from './scheduler.ts';

export interface ProcessOptions {
  /** What starts the program: the file to execute, and the arguments before those of the program. */
  readonly program: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** The arguments of the program for a run of these pipelines; it prints one JSON document on stdout. */
  readonly words: (pipelines: readonly string[]) => readonly string[];
  /** Told every line that it writes to stderr. */
  readonly tell: (line: string) => void;
}

/** What is sent to a run that is to stop. */
export const stopRequest = z.object({ stop: z.object({ code: z.string(), message: z.string(), hint: z.string() }) });
export type StopRequest = z.infer<typeof stopRequest>;

const MOST_OUTPUT_CHARS = 4 * 1024 * 1024;
const told = z.union([
  z.object({ nothing_due: z.literal(true) }),
  z.object({
    run_id: z.string(),
    result: z.enum(['done', 'failed', 'set_aside', 'refused', 'interrupted']).nullable(),
  }),
]);

/** Starts runs as processes. */
export function processStarter({ program, cwd, env, words, tell }: ProcessOptions): StartRun {
  return (pipelines) => {
    const [file = '', ...before] = program;
    const child = spawn(file, [...before, ...words(pipelines)], { cwd, env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    child.on('error', () => undefined); // told by how it ends
    return {
      ended: endOf(child, tell),
      stop: ({ code, message, hint = '' }) => {
        if (!child.connected) return;
        child.send({ stop: { code, message, hint } } satisfies StopRequest, () => undefined);
      },
      kill: () => void child.kill('SIGKILL'),
    };
  };
}

async function endOf(child: ChildProcess, tell: (line: string) => void): Promise<RunEnd> {
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    if (output.length < MOST_OUTPUT_CHARS) output += text;
  });
  if (child.stderr) createInterface({ input: child.stderr }).on('line', tell);
  const how = await new Promise<{ code: number | null; signal: string | null; error?: Error }>((resolve) => {
    child.once('error', (error) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, error });
    });
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  if (how.error) return { kind: 'lost', how: `it could not be started: ${how.error.message}` };
  if (how.code === null) return { kind: 'lost', how: `its process was ended by ${how.signal}` };
  if (how.code === EXIT.locked) return { kind: 'locked' };
  const document = documentIn(output);
  if (document === null)
    return { kind: 'ended', result: how.code === EXIT.refused ? 'refused' : 'failed', runId: null };
  if ('nothing_due' in document) return { kind: 'ended', result: 'nothing_due', runId: null };
  return { kind: 'ended', result: document.result ?? 'failed', runId: document.run_id };
}

function documentIn(output: string): z.infer<typeof told> | null {
  try {
    return told.safeParse(JSON.parse(output)).data ?? null;
  } catch {
    return null;
  }
}
