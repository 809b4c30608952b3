/** The command line: which commands there are, what is true for all of them, and how they end. */
import { type Command, CommanderError, Option } from 'commander';
import { pretendedDay } from '../config/environment.ts';
import { asEtlError, EXIT, exitCodeOf } from '../core/errors.ts';
import * as lookup from './calls/lookup.ts';
import * as subscriptions from './calls/subscriptions.ts';
import * as backfill from './commands/backfill.ts';
import * as docs from './commands/docs.ts';
import * as erase from './commands/erase.ts';
import * as explain from './commands/explain.ts';
import * as plan from './commands/plan.ts';
import * as prune from './commands/prune.ts';
import * as rebuild from './commands/rebuild.ts';
import * as rejects from './commands/rejects.ts';
import * as again from './commands/replay.ts';
import * as run from './commands/run.ts';
import * as sandbox from './commands/sandbox.ts';
import * as serve from './commands/serve.ts';
import * as status from './commands/status.ts';
import * as verify from './commands/verify.ts';
import type { CliContext } from './context.ts';
import * as demo from './demo/demo.ts';
import * as doctor from './doctor/doctor.ts';
import { addBelow, addExamples } from './help.ts';
import * as init from './init/init.ts';
import { fold } from './print/fold.ts';
import { LOG_FORMATS, type LogFormat } from './print/log.ts';
import * as ask from './query/ask.ts';
import * as sql from './query/sql.ts';
import { StrictCommand } from './strict-command.ts';

/** Every command is a file of its own that registers itself. */
interface CommandFile {
  register(program: Command, context: CliContext): void;
}

/** In the order in which --help lists them. */
const COMMANDS: readonly CommandFile[] = [
  run,
  backfill,
  plan,
  status,
  explain,
  rejects,
  again,
  rebuild,
  verify,
  prune,
  erase,
  lookup,
  subscriptions,
  sql,
  ask,
  docs,
  init,
  doctor,
  serve,
  sandbox,
  demo,
];

/** The program, ready to parse; it throws CommanderError where commander would exit. */
export function buildProgram(context: CliContext): Command {
  const program = new StrictCommand('partner-etl');
  program
    .description('Brings what a retail partner earned, why, and whether it was paid, into DuckDB and Postgres.')
    .version(context.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help; also after a command')
    .option('--verbose', 'log everything, show the stack of an error')
    .option('--quiet', 'no progress, only errors')
    .addOption(new Option('--log <format>', 'how everything on stderr is written').choices(LOG_FORMATS).default('text'))
    .configureHelp({ minWidthToWrap: 20 })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.say(text.trimEnd(), {}, 'error'),
      getOutHelpWidth: () => Math.min(context.stdout.columns, HELP_WIDTH),
      getErrHelpWidth: () => Math.min(context.screen.columns, HELP_WIDTH),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showHelpAfterError('(partner-etl --help lists the commands; --help after a command explains it)')
    .hook('preAction', (_, action) => {
      const { verbose = false, quiet = false, log = 'text' } = action.optsWithGlobals<GlobalOptions>();
      context.settle({ verbose, quiet, format: log });
      sayPretendedDay(context);
    });
  for (const command of COMMANDS) command.register(program, context);
  addExamples(program, [
    ['demo', 'see it work, without credentials'],
    ['init', 'write commented settings; then set what it asks for in the environment'],
    ['doctor', 'check everything and say how to fix it'],
    ['run', 'the nightly job: everything that is due'],
    ['backfill orders --from 2023-01-01 --to 2025-12-31', 'a past range'],
  ]);
  addBelow(program, (width) => `\n${fold(EXIT_CODES, width)}`);
  return program;
}

/** Also with --quiet, in which a forgotten variable would do the most harm: a night is loaded for another day, and nobody is alerted. */
function sayPretendedDay(context: CliContext): void {
  const day = pretendedDay(context.env);
  if (day === null) return;
  const text = `PARTNER_ETL_TODAY is set: every command takes ${day} for today, and alerts are sent on no other day`;
  context.say(text, { today: day }, context.verbosity.quiet ? 'error' : 'warn');
}

interface GlobalOptions {
  readonly verbose?: boolean;
  readonly quiet?: boolean;
  readonly log?: LogFormat;
}

/** The format that `--log json` or `--log=json` among the words asks for, wherever it stands. */
export function formatIn(words: readonly string[]): LogFormat {
  const at = words.indexOf('--log');
  return words.includes('--log=json') || (at >= 0 && words[at + 1] === 'json') ? 'json' : 'text';
}

const HELP_WIDTH = 110;
const EXIT_CODES =
  'Exit codes: 0 done; 1 something failed; 2 wrong usage or settings; 3 done, but slices are held, rows rejected, or something looked up ' +
  'was not found; 4 credentials refused or address banned; 75 another run holds the lock.';

/** Runs the command that `words` name (without node and script). Never throws; returns the exit code. */
export async function runProgram(words: readonly string[], context: CliContext): Promise<number> {
  try {
    // What is wrong with the words themselves is said in the format that they ask for.
    context.settle({ ...context.verbosity, format: formatIn(words) });
    await buildProgram(context).parseAsync(words, { from: 'user' });
    return context.exitCode;
  } catch (thrown) {
    context.screen.settle();
    // Commander has said what is wrong already; help and version are no failure.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? EXIT.done : EXIT.usage;
    context.fail(thrown);
    return exitCodeOf(asEtlError(thrown));
  }
}
