import path from 'node:path';
import { CliContext, type Input } from '../../src/cli/context.ts';
import { Interrupt } from '../../src/cli/interrupt.ts';
import type { Writer } from '../../src/cli/print/screen.ts';
import { runProgram } from '../../src/cli/program.ts';
import type { Clock } from '../../src/core/clock.ts';

export const REPOSITORY = path.resolve(import.meta.dirname, '../..');

/** A writer that keeps what was written. */
export class TextWriter implements Writer {
  text = '';
  readonly isTTY: boolean;
  readonly columns: number;

  constructor({ isTTY = false, columns = Number.POSITIVE_INFINITY } = {}) {
    this.isTTY = isTTY;
    this.columns = columns;
  }

  write(text: string): void {
    this.text += text;
  }

  get lines(): string[] {
    return this.text.split('\n').slice(0, -1);
  }
}

/** A clock that stands still until it is moved; who sleeps on it sleeps until it is asked to stop. */
export class HandClock implements Clock {
  ms = Date.parse('2026-03-01T08:00:00Z');

  now(): number {
    return this.ms;
  }

  sleep(_ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((_, reject) => {
      signal?.throwIfAborted();
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }
}

export interface FakeOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly packageRoot?: string;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly stdin?: Input;
  /** What the clock shows, in epoch milliseconds. */
  readonly nowMs?: number;
}

export interface Fake {
  readonly context: CliContext;
  readonly stdout: TextWriter;
  readonly stderr: TextWriter;
  readonly clock: HandClock;
  readonly interrupt: Interrupt;
  /** Exit codes that a second Ctrl-C asked for. */
  readonly exits: readonly number[];
}

export function fakeContext(options: FakeOptions = {}): Fake {
  const { env = {}, cwd = '/nowhere', packageRoot = REPOSITORY, isTTY = false, columns = 80, stdin, nowMs } = options;
  const terminal = isTTY ? { isTTY, columns } : {};
  const stdout = new TextWriter(terminal);
  const stderr = new TextWriter(terminal);
  const clock = new HandClock();
  if (nowMs !== undefined) clock.ms = nowMs;
  const exits: number[] = [];
  const interrupt = new Interrupt({ say: (text) => context.screen.print(text), exit: (code) => exits.push(code) });
  const around = { env, cwd, packageRoot, version: '1.2.3', stdout, stderr, clock, interrupt };
  const context = new CliContext(stdin === undefined ? around : { ...around, stdin });
  return { context, stdout, stderr, clock, interrupt, exits };
}

export interface Ran extends Fake {
  readonly code: number;
}

/** Runs the program as `partner-etl <words>` and waits for its end. */
export async function run(words: readonly string[], options: FakeOptions = {}): Promise<Ran> {
  const fake = fakeContext(options);
  return { ...fake, code: await runProgram(words, fake.context) };
}
