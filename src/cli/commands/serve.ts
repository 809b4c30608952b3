/** `serve`: the scheduler and the receiver of push messages, until Ctrl-C. */
import type { Command } from 'commander';
import { type Config, timingOf, todayOf } from '../../config.ts';
import { EtlError } from '../../core/errors.ts';
import { isNamed, type Pipeline } from '../../core/pipeline.ts';
import type { PageOptions } from '../../serve/page/page.ts';
import { programStarter, type StartProgram } from '../../serve/program-process.ts';
import type { Schedules } from '../../serve/schedule/due.ts';
import { scheduleOf } from '../../serve/schedule/schedule.ts';
import { processStarter } from '../../serve/schedule/scheduler-process.ts';
import type { Addresses } from '../../serve/serve.ts';
import type { State } from '../../store/state.ts';
import type { CliContext } from '../context.ts';
import { tokenSources } from '../doctor/doctor.ts';
import { addExamples } from '../help.ts';
import { withApp } from '../with-app.ts';

interface ServeOptions {
  readonly json?: boolean;
}

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('serve')
    .summary('the scheduler, the receiver of push messages, and the status page')
    .description(
      'Runs every enabled pipeline by its schedule (pipelines.NAME.schedule in the settings), each run a process of its own; what was ' +
        'missed while the machine was off is made up for once. Receives push messages and writes them to the inbox, from which ' +
        'the schedule of push-messages takes them into the warehouse (section push). Shows on a page and says on /healthz how it is ' +
        '(section serve). ' +
        'Runs until Ctrl-C or SIGTERM, and is gone 20 seconds later.',
    )
    .option('--json', 'print the addresses as a line of JSON when it is ready')
    .action((options: ServeOptions) => start(cli, options));
  addExamples(command, [
    ['serve', 'says where it listens when it is ready'],
    ['serve --json', 'for a script'],
  ]);
}

async function start(cli: CliContext, { json }: ServeOptions): Promise<void> {
  const config = await cli.config();
  const { push, serve: settings } = config;
  if (!push.enabled && !settings.schedule)
    throw new EtlError(
      'usage',
      'nothing_to_serve',
      'the scheduler and the receiver of push messages are switched off',
      {
        hint: 'set serve.schedule or push.enabled to true in the settings',
      },
    );
  cli.interrupt.notice = 'finishing what is in hand, press again to stop at once';
  const onReady = (addresses: Addresses) => {
    if (json) cli.stdout.write(`${JSON.stringify(addresses)}\n`);
    else printReady(cli, addresses, settings.schedule);
  };
  const onHung = (names: readonly string[]) =>
    cli.interrupt.giveUp(`ended by force: ${names.join(', ') || 'something'} did not end within 20 seconds`);
  await withApp(cli, async (context) => {
    const named = context.pipelines.filter(isNamed);
    const { cwd, env } = cli;
    // Everything on stderr has one format, that of the runs too.
    const program = [...cli.program, '--log', cli.verbosity.format];
    const start = programStarter({ program, cwd, env, onLine: (line) => cli.relay(line) });
    const startRun = processStarter(start, (names) => wordsOf(cli, named, names));
    const schedules = schedulesOf(config, named);
    const page = pageOf(cli, config, context.state, start);
    const { version } = cli;
    const what = { context, push, settings, schedules, alerts: config.alerts, startRun, page };
    // Only now: what serves HTTP takes longer to load than most commands to run.
    const { serve } = await import('../../serve/serve.ts');
    return serve({ ...what, version, command: 'serve', onReady, onHung });
  });
}

function pageOf(cli: CliContext, config: Config, state: State, start: StartProgram): PageOptions {
  return {
    token: config.pageToken,
    today: () => todayOf(config, cli.clock),
    tokens: new Map(tokenSources(config, state, cli).map(({ about, token }) => [about, token])),
    start,
    secrets: cli.secrets,
  };
}

/** Of the pipelines that `run` takes. */
export function schedulesOf(config: Config, pipelines: readonly Pipeline[]): Schedules {
  const timings = pipelines.map(({ name }) => [name, timingOf(config, name)] as const);
  return new Map(
    timings.flatMap(([name, timing]) =>
      timing?.enabled ? [[name, scheduleOf(timing.schedule, config.timeZone)] as const] : [],
    ),
  );
}

function printReady(cli: CliContext, { url, health }: Addresses, isScheduling: boolean): void {
  if (url !== null) cli.say(`listening on ${url}`);
  if (isScheduling) cli.say('pipelines run by their schedules; partner-etl status says when the next is due');
  cli.say(`the status page on ${new URL('/', health)}, health on ${health}`);
}

/** What is pushed comes every few minutes or not at all: a run that would find nothing is not recorded. */
function wordsOf({ verbosity }: CliContext, pipelines: readonly Pipeline[], names: readonly string[]): string[] {
  const due = pipelines.filter(({ name }) => names.includes(name));
  const isMostlyIdle = due.every(({ source }) => source.isPushed);
  const volume = verbosity.verbose ? ['--verbose'] : verbosity.quiet ? ['--quiet'] : [];
  return ['run', ...names, '--json', ...(isMostlyIdle ? ['--if-due'] : []), ...volume];
}
