/** `sandbox`: the partner service on this machine, to try and to test without credentials. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import type { Day } from '../../core/days.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import type { CliContext } from '../context.ts';
import { addExamples } from '../help.ts';
import { printJson } from '../print/output.ts';
import { dayValue, wholeNumber } from '../values.ts';

interface SandboxOptions {
  readonly port: number;
  readonly seed: number;
  readonly ordersPerDay: number;
  readonly today?: Day;
  readonly eans?: string;
  readonly receiver?: string;
  readonly json?: boolean;
}

/** Pushes that are due wait so long at the most. */
const DELIVER_EVERY_MS = 200;

export function register(program: Command, context: CliContext): void {
  const command = program
    .command('sandbox')
    .summary('the partner service on this machine, to try without credentials')
    .description(
      'Plays the partner service on 127.0.0.1 and prints the settings to use it. Its data depend on seed and size alone: ' +
        'the same ones every time. Runs until Ctrl-C.',
    )
    .option('--port <number>', 'listen here; 0: any free one', wholeNumber(0, 65_535), 4010)
    .option('--seed <number>', 'another seed is another world', wholeNumber(0, 4_294_967_295), 7)
    .option('--orders-per-day <items>', 'order items a day, about', wholeNumber(1, 1_000_000), 700)
    .option('--today <day>', 'pretend that this is today, yyyy-mm-dd', dayValue)
    .option('--eans <file>', 'write the EANs of its catalogue there, as a list for eans.file in the settings')
    .option('--receiver <url>', 'send every push message there, whatever url it is meant for: a url on this machine')
    .option('--json', 'print the settings as one JSON document')
    .action((options: SandboxOptions) => sandbox(options, context));
  addExamples(command, [
    ['sandbox', 'then paste what it prints into another terminal'],
    ['sandbox --today 2026-03-01 --seed 3', 'the same night again and again'],
    ['sandbox --eans eans.csv', 'with a list of EANs to look up: set eans.file to it'],
    ['sandbox --receiver http://127.0.0.1:8421/push', 'pushes go to partner-etl serve there'],
    ['sandbox --port 0 --json', 'for a script'],
  ]);
}

async function sandbox(options: SandboxOptions, context: CliContext): Promise<void> {
  const { port, seed, ordersPerDay, today, eans, receiver, json } = options;
  context.interrupt.notice = 'closing the sandbox, press again to stop at once';
  const service = await startSandbox({
    ...{ port, seed, ordersPerDay },
    now: clockFor(today, context),
    pushRoutes: receiver === undefined ? [] : [{ from: '*', to: receiver }],
    deliver: { everyMs: DELIVER_EVERY_MS },
  });
  try {
    if (eans !== undefined) await writeEans(path.resolve(context.cwd, eans), service.eans());
    const environment = {
      PARTNER_BASE_URL: service.baseUrl,
      PARTNER_AUTH_URL: service.authUrl,
      PARTNER_CLIENT_ID: service.clientId,
      PARTNER_CLIENT_SECRET: service.clientSecret,
      PARTNER_ETL_HOME: './data/sandbox',
      ...(today === undefined ? {} : { PARTNER_ETL_TODAY: today }),
    };
    if (json) printJson(context.stdout, { seed, ordersPerDay, environment });
    else context.stdout.write(pasteable(environment));
    await untilAborted(context.signal);
  } finally {
    await service.close();
  }
}

/** A list that `eans.file` takes, one EAN a line. */
export async function writeEans(file: string, eans: readonly string[]): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `ean\n${eans.join('\n')}\n`);
}

/** The sandbox's clock: ours, or ours moved so that it started at noon of the pretended day. */
function clockFor(today: Day | undefined, { clock }: CliContext): () => number {
  const movedMs = today === undefined ? 0 : Date.parse(`${today}T12:00:00Z`) - clock.now();
  return () => clock.now() + movedMs;
}

function pasteable(environment: Readonly<Record<string, string>>): string {
  const lines = Object.entries(environment).map(([name, value]) => `export ${name}=${value}`);
  return `# The partner service, on this machine. Paste this into another terminal:
${lines.join('\n')}
# then, for example: partner-etl run
# Ctrl-C here ends the sandbox.
`;
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
