/** What a command is given: the world around the program, and what the global options made of it. */
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipelines as shipped } from '../../pipelines/index.ts';
import { type Environment, secretsIn } from '../config/environment.ts';
import { type Config, loadConfig, secretsOf } from '../config.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { Pipeline } from '../core/pipeline.ts';
import type { Progress } from '../core/progress.ts';
import type { Interrupt } from './interrupt.ts';
import { describeFailure, failureLine } from './print/failure.ts';
import { createLog, type Verbosity } from './print/log.ts';
import { createProgress } from './print/progress.ts';
import { harmless, Screen, type Writer } from './print/screen.ts';

export interface Surroundings {
  readonly env: Environment;
  /** The folder that relative names start from. */
  readonly cwd: string;
  /** The folder that holds package.json and config/. */
  readonly packageRoot: string;
  readonly version: string;
  readonly stdout: Writer;
  readonly stderr: Writer;
  /** Where answers to questions come from; absent: nobody is there to answer. */
  readonly stdin?: Input;
  readonly clock: Clock;
  readonly interrupt: Interrupt;
  /** What starts this program as another process: the file, and the arguments before those of the program. */
  readonly program?: readonly string[];
  /** The pipelines of this installation; absent: those that come with the program. */
  readonly pipelines?: readonly Pipeline[];
}

/** A terminal, a pipe or a file that is read; `isTTY` as that of process.stdin. */
export type Input = Readable & { readonly isTTY?: boolean };

/**
 * Before an action runs, `settle` has been given the global options; log and progress are made when first asked for.
 * The exit code is 0 unless the action says otherwise with `finish` or throws.
 */
export class CliContext {
  readonly env: Environment;
  readonly cwd: string;
  readonly packageRoot: string;
  readonly version: string;
  readonly stdout: Writer;
  /** Everything for stderr goes through the screen, which keeps live lines in order. */
  readonly screen: Screen;
  readonly clock: Clock;
  readonly interrupt: Interrupt;
  readonly pipelines: readonly Pipeline[];
  private readonly surroundings: Surroundings;
  private given: Verbosity = { verbose: false, quiet: false, format: 'text' };
  private code = 0;
  private secretTexts: readonly string[];
  private madeLog: Log | undefined;
  private madeProgress: Progress | undefined;
  private loading: Promise<Config> | undefined;

  constructor(surroundings: Surroundings) {
    this.env = surroundings.env;
    this.cwd = surroundings.cwd;
    this.packageRoot = surroundings.packageRoot;
    this.version = surroundings.version;
    this.stdout = harmless(surroundings.stdout);
    this.screen = new Screen(surroundings.stderr);
    this.surroundings = surroundings;
    this.clock = surroundings.clock;
    this.interrupt = surroundings.interrupt;
    this.pipelines = surroundings.pipelines ?? shipped;
    this.secretTexts = secretsIn(surroundings.env);
  }

  /** The same world with other variables, and settings that are read anew. */
  withEnvironment(env: Environment): CliContext {
    const context = new CliContext({ ...this.surroundings, env });
    context.settle(this.given);
    return context;
  }

  /** stdout for what moves the cursor itself: what writes here takes out what others could have put into a text. */
  get terminal(): Writer {
    return this.surroundings.stdout;
  }

  get stdin(): Input | null {
    return this.surroundings.stdin ?? null;
  }

  /** What starts this program as another process; that of the package unless given. */
  get program(): readonly string[] {
    return this.surroundings.program ?? [process.execPath, path.join(this.packageRoot, 'bin', 'partner-etl.js')];
  }

  /** --verbose, --quiet and --log. */
  get verbosity(): Verbosity {
    return this.given;
  }

  settle(given: Verbosity): void {
    this.given = given;
    this.madeLog = undefined;
  }

  /** Aborted by the first Ctrl-C or SIGTERM; its reason is an EtlError. */
  get signal(): AbortSignal {
    return this.interrupt.signal;
  }

  /** Texts that must never be shown. */
  get secrets(): readonly string[] {
    return this.secretTexts;
  }

  get log(): Log {
    const { screen, clock, verbosity } = this;
    this.madeLog ??= createLog({ screen, clock, ...verbosity, secrets: () => this.secretTexts });
    return this.madeLog;
  }

  get progress(): Progress {
    const { screen, clock, verbosity } = this;
    this.madeProgress ??= createProgress({
      screen,
      clock,
      quiet: verbosity.quiet,
      isLive: screen.isTTY && verbosity.format === 'text',
      say: (text, fields) => this.say(text, fields),
    });
    return this.madeProgress;
  }

  /** The settings, read once; their warnings are logged. Errors: as of `loadConfig`. */
  config(): Promise<Config> {
    this.loading ??= loadConfig(this).then((config) => {
      this.secretTexts = secretsOf(config, this.env);
      for (const warning of config.warnings) this.log.warn(warning);
      return config;
    });
    return this.loading;
  }

  /** Says something on stderr that is no part of the log, in the format of everything there. */
  say(text: string, fields: Readonly<Record<string, unknown>> = {}, level: 'info' | 'warn' | 'error' = 'info'): void {
    if (this.verbosity.format === 'text') this.screen.print(text);
    else this.log[level](text, fields);
  }

  /** Passes on a line that another process of ours has said in the same format; what is no line of it, such as a crash of Node, is made one. */
  relay(line: string): void {
    if (this.verbosity.format === 'text' || isJsonObject(line)) this.screen.print(line);
    else this.log.error(line);
  }

  /** Says what failed, with its reason and fix. */
  fail(thrown: unknown): void {
    this.screen.settle();
    const { verbose, format } = this.verbosity;
    if (format === 'text') this.screen.print(describeFailure(thrown, { verbose, secrets: this.secrets }));
    else this.log.error(...failureLine(thrown, { verbose, secrets: this.secrets }));
  }

  /** The exit code of an action that ends without an error. */
  finish(code: number): void {
    this.code = code;
  }

  get exitCode(): number {
    return this.code;
  }
}

function isJsonObject(line: string): boolean {
  if (!line.startsWith('{')) return false;
  try {
    return typeof JSON.parse(line) === 'object';
  } catch {
    return false;
  }
}
