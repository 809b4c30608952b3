/** What `npm start` runs: the partner service on loopback, one night into DuckDB, and what can be seen then. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { openApp } from '../../app.ts';
import { loadConfig } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { addDays, type Day, dayAt } from '../../core/days.ts';
import { isInstalled } from '../../disk/package-root.ts';
import type { RunContext } from '../../run/context.ts';
import { runNight } from '../../run/night.ts';
import type { RunOutcome } from '../../run/session.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import type { AdminPlace } from '../../serve/admin-server.ts';
import type { Target } from '../../warehouse/target.ts';
import { untilAborted, writeEans } from '../commands/sandbox.ts';
import type { CliContext } from '../context.ts';
import { addExamples } from '../help.ts';
import { printOutcome } from '../print/outcome.ts';
import { printTable } from '../print/output.ts';
import { dayValue, wholeNumber } from '../values.ts';
import { DEMO_HOME, demoClock, demoSettings, readDemo, writeDemo } from './home.ts';

interface DemoOptions {
  readonly ordersPerDay: number;
  readonly home: string;
  readonly today?: Day;
  readonly page?: boolean;
  readonly port?: number;
}

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('demo')
    .description('a night without credentials: the service on loopback, into a DuckDB warehouse of its own')
    .option('--orders-per-day <items>', 'order items a day', wholeNumber(1, 1_000_000), 700)
    .option('--home <folder>', 'where the demo keeps its data', DEMO_HOME)
    .option('--today <day>', 'pretend that this is today, yyyy-mm-dd: the next night without waiting for it', dayValue)
    .option('--page', 'go on to serve the status page on that data, until Ctrl-C')
    .option('--port <number>', 'of the page; default: serve.port of the settings', wholeNumber(0, 65_535))
    .action((options: DemoOptions) => demo(cli, options));
  addExamples(command, [
    ['demo', 'what npm start runs'],
    ['demo --page', 'and then the status page'],
  ]);
}

async function demo(cli: CliContext, options: DemoOptions): Promise<void> {
  const home = path.resolve(cli.cwd, options.home);
  const clock = demoClock(cli.clock, options.today, await readDemo(home), SERVICE_ZONE);
  const sandbox = await startSandbox({ seed: 7, ordersPerDay: options.ordersPerDay, now: () => clock.now() });
  try {
    cli.stdout.write(`The partner service is played by a sandbox on ${sandbox.baseUrl}.\n`);
    await nightOf(cli, options, sandbox, clock);
  } finally {
    await sandbox.close(); // Left open, it would keep the process.
  }
}

async function nightOf(cli: CliContext, options: DemoOptions, sandbox: Sandbox, clock: Clock): Promise<void> {
  const home = path.resolve(cli.cwd, options.home);
  const env = {
    PARTNER_BASE_URL: sandbox.baseUrl,
    PARTNER_AUTH_URL: sandbox.authUrl,
    PARTNER_CLIENT_ID: sandbox.clientId,
    PARTNER_CLIENT_SECRET: sandbox.clientSecret,
    PARTNER_ETL_HOME: options.home,
  };
  const settings = await writeSettings(home, sandbox.eans(EANS));
  const own = { ...env, PARTNER_ETL_CONFIG: settings };
  const config = await loadConfig({ env: own, cwd: cli.cwd, packageRoot: cli.packageRoot, pipelines: cli.pipelines });
  const { log, progress, signal } = cli;
  const app = await openApp({ config, clock, log, progress, signal, random: Math.random });
  try {
    const outcome: RunOutcome = await runNight(app.context, []);
    await writeDemo(home, clock.now(), dayAt(clock.now(), SERVICE_ZONE) !== dayAt(cli.clock.now(), SERVICE_ZONE));
    printOutcome(cli, outcome, false);
    const duckdb = app.context.targets.find((t) => t.name === 'duckdb');
    if (duckdb && (await duckdb.exists())) await report(cli, duckdb);
    const today = dayAt(clock.now(), SERVICE_ZONE);
    if (options.page !== true) cli.stdout.write(nextSteps(options.home, today, isInstalled(cli.packageRoot)));
    else await servePage(cli, app.context, { ...config.serve, port: options.port ?? config.serve.port });
  } finally {
    await app.close();
  }
}

/** Where the days of the simulated service begin. */
const SERVICE_ZONE = 'Europe/Amsterdam';

/** Until Ctrl-C. Nobody can sign in, so nothing is begun from it. */
async function servePage(cli: CliContext, context: RunContext, at: AdminPlace): Promise<void> {
  cli.interrupt.notice = 'closing the page, press again to stop at once';
  // Only now: what serves HTTP takes longer to load than most commands to run.
  const { startPageServer } = await import('../../serve/page/alone.ts');
  const server = await startPageServer(context, at);
  try {
    cli.stdout.write(`\nThe status page of the demo: ${server.url}/ (Ctrl-C ends it)\n`);
    await untilAborted(context.signal);
  } finally {
    await server.close();
  }
}

/** EANs that the demo looks up: all of them in one night, so that the same night again has nothing left to ask. */
const EANS = 20;

/** The demo's own settings: a list of EANs. */
async function writeSettings(home: string, eans: readonly string[]): Promise<string> {
  const list = path.join(home, 'eans.csv');
  await writeEans(list, eans);
  const file = demoSettings(home);
  await writeFile(file, stringify({ eans: { file: list, query: null } }));
  return file;
}

async function report(cli: CliContext, target: Target): Promise<void> {
  const { columns, rows } = await target.query(REPORT, 10);
  cli.stdout.write('\nThe last seven days, from warehouse.fact_order_item:\n');
  printTable(
    cli.stdout,
    columns.map((title, i) => ({ title, align: i === 0 ? ('left' as const) : ('right' as const) })),
    rows,
  );
}

const REPORT = `SELECT order_date AS day, count(DISTINCT order_id) AS orders, count(*) AS items,
    sum(price_excl_vat * quantity)::DECIMAL(18,2) AS revenue, sum(commission)::DECIMAL(18,2) AS commission,
    coalesce(sum(commission) FILTER (status_group = 'open'), 0)::DECIMAL(18,2) AS of_it_open
  FROM warehouse.fact_order_item GROUP BY order_date ORDER BY order_date DESC LIMIT 7`;

function nextSteps(home: string, today: Day, isPackage: boolean): string {
  const program = isPackage ? 'partner-etl' : 'npx partner-etl';
  const isUsual = home === DEMO_HOME;
  const at = isUsual ? program : `PARTNER_ETL_HOME=${home} PARTNER_ETL_CONFIG=${demoSettings(home)} ${program}`;
  const again = isPackage ? `${program} demo` : 'npm start --';
  const more = isUsual ? again : `${program} demo --home ${home}`;
  return `
Where to look next:
  ${at} status
  ${at} explain orders yesterday
  ${at} sql "SELECT site_name, sum(commission) FROM warehouse.fact_order_item GROUP BY 1 ORDER BY 2 DESC"
  ${at} ask                    twenty questions with their answers
  ${at} docs --answers         every table and column, and twenty questions with their answers
  ${at} verify
  ${more} --today ${addDays(today, 1)}   the next night: what is new, and what has changed; the same one again changes nothing
With your own credentials: ${program} init
The status page on this data: ${more} --page
`;
}
