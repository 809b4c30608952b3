/**
 * What is done from the page: release of a hold, retry of rejects. Each is the command that a person would type, as a process of its
 * own, one after the other; the lock of runs keeps them and scheduled runs apart.
 */
import { z } from 'zod';
import type { Day } from '../../core/days.ts';
import { EtlError, EXIT } from '../../core/errors.ts';
import { foreignText } from '../../core/redact.ts';
import type { ProgramEnd, StartedProgram, StartProgram } from '../program-process.ts';

export interface ActionsOptions {
  readonly start: StartProgram;
  readonly secrets: readonly string[];
  /** Called when something was done. */
  readonly onDone: () => void;
}

export interface Action {
  /** As people read it: `release of orders 2026-03-01`. */
  readonly name: string;
  /** One after the other, each the arguments of the program. */
  readonly commands: readonly (readonly string[])[];
}

export const releaseOf = (pipeline: string, day: Day): Action => ({
  name: `release of ${pipeline} ${day}`,
  commands: [['release', pipeline, day, '--json']],
});

export const retryOf = (pipelines: readonly string[]): Action => ({
  name: `retry of the rejects of ${pipelines.join(', ')}`,
  commands: pipelines.map((pipeline) => ['rejects', pipeline, '--retry', '--json']),
});

export class Actions {
  private readonly options: ActionsOptions;
  private current: { readonly name: string; readonly done: Promise<unknown>; run: StartedProgram | null } | null = null;
  private isClosing = false;

  constructor(options: ActionsOptions) {
    this.options = options;
  }

  /** What goes on; null when nothing does. */
  get underWay(): string | null {
    return this.current?.name ?? null;
  }

  /** Begins it; resolves with one sentence on what came of it. null: something else is under way. Never rejects. */
  begin(action: Action): Promise<string> | null {
    if (this.current || this.isClosing) return null;
    const done = this.perform(action).finally(() => {
      this.current = null;
      this.options.onDone();
    });
    this.current = { name: action.name, done, run: null };
    return done;
  }

  /** Asks what is under way to end after the slice in hand, and waits for its end. */
  async close(): Promise<void> {
    this.isClosing = true;
    this.current?.run?.stop(new EtlError('failed', 'interrupted', 'serve is ending'));
    await this.current?.done;
  }

  /** Ends what is under way by force. */
  kill(): void {
    this.current?.run?.kill();
  }

  private async perform({ name, commands }: Action): Promise<string> {
    await null; // `current` is set when the first one starts
    const ends: string[] = [];
    for (const words of commands) {
      if (this.isClosing) break;
      const run = this.options.start(words);
      if (this.current) this.current.run = run;
      ends.push(this.outcomeOf(await run.ended));
    }
    return `The ${name}: ${[...new Set(ends)].join(' ') || 'not begun, serve is ending.'}`;
  }

  private outcomeOf(end: ProgramEnd): string {
    const line = (text: string) => foreignText(text, this.options.secrets, LONGEST_TEXT);
    if (end.kind === 'lost') return `lost, ${line(end.how)}.`;
    if (end.exitCode === EXIT.done) return 'done.';
    if (end.exitCode === EXIT.locked) return 'another run is at work and holds the lock. Try again when it has ended.';
    const [error] = outcome.safeParse(end.document).data?.errors ?? [];
    if (error) return `${line(error.message)}.${error.hint ? ` Fix: ${line(error.hint)}.` : ''}`;
    if (end.exitCode === EXIT.setAside) return 'done, but something is still held or rejected.';
    const said = end.said.map(failureSaid).find((text) => text !== null);
    return said ? `failed: ${line(said)}.` : `failed with exit code ${end.exitCode}; the log of serve says why.`;
  }
}

/** How a command's message on stderr begins, as text. */
const SAID_BY_US = 'partner-etl: ';
const errorLine = z.object({ level: z.literal('error'), message: z.string() });

/** The message of a line that says what failed, as text or as JSON; null for any other line. */
function failureSaid(line: string): string | null {
  if (line.startsWith(SAID_BY_US)) return line.slice(SAID_BY_US.length);
  if (!line.startsWith('{')) return null;
  try {
    return errorLine.safeParse(JSON.parse(line)).data?.message ?? null;
  } catch {
    return null;
  }
}

const LONGEST_TEXT = 400;
const outcome = z.object({ errors: z.array(z.object({ message: z.string(), hint: z.string().nullable() })) });
