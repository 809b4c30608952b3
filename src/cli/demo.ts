/** What `npm start` runs: the partner service on loopback, one night into DuckDB, and what can be seen then. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { openApp } from '../app.ts';
import { loadConfig } from '../config.ts';
import { runNight } from '../run/night.ts';
import type { RunOutcome } from '../run/session.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Target } from '../warehouse/target.ts';
import type { CliContext } from './context.ts';
import { addExamples } from './help.ts';
import { tellOutcome } from './outcome.ts';
import { printTable } from './output.ts';
import { writeEans } from './sandbox.ts';
import { wholeNumber } from './values.ts';

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('demo')
    .description('a night without credentials: the service on loopback, into a DuckDB warehouse of its own')
    .option('--orders-per-day <items>', 'order items a day', wholeNumber(1, 1_000_000), 700)
    .option('--home <folder>', 'where the demo keeps its data', path.join('data', 'demo'))
    .action((options: { ordersPerDay: number; home: string }) => demo(cli, options));
  addExamples(command, [['demo', 'what npm start runs']]);
}

async function demo(cli: CliContext, options: { readonly ordersPerDay: number; readonly home: string }): Promise<void> {
  const sandbox = await startSandbox({ seed: 7, ordersPerDay: options.ordersPerDay, now: () => cli.clock.now() });
  cli.stdout.write(`The partner service is played by a sandbox on ${sandbox.baseUrl}.\n`);
  const env = {
    PARTNER_BASE_URL: sandbox.baseUrl,
    PARTNER_AUTH_URL: sandbox.authUrl,
    PARTNER_CLIENT_ID: sandbox.clientId,
    PARTNER_CLIENT_SECRET: sandbox.clientSecret,
    PARTNER_ETL_HOME: options.home,
  };
  const settings = await writeSettings(path.resolve(cli.cwd, options.home), sandbox.eans(EANS));
  const own = { ...env, PARTNER_ETL_CONFIG: settings };
  const config = await loadConfig({ env: own, cwd: cli.cwd, packageRoot: cli.packageRoot });
  const { clock, log, progress, signal } = cli;
  const app = await openApp({ config, clock, log, progress, signal, random: Math.random });
  try {
    const outcome: RunOutcome = await runNight(app.context, []);
    tellOutcome(cli, outcome, false);
    const duckdb = app.context.targets.find((t) => t.name === 'duckdb');
    if (duckdb && (await duckdb.exists())) await report(cli, duckdb);
    cli.stdout.write(nextSteps(options.home));
  } finally {
    await app.close();
    await sandbox.close();
  }
}

/** EANs that the demo looks up: all of them in one night, so that the same night again has nothing left to ask. */
const EANS = 20;

/** The demo's own settings: a list of EANs. */
async function writeSettings(home: string, eans: readonly string[]): Promise<string> {
  const list = path.join(home, 'eans.csv');
  await writeEans(list, eans);
  const file = path.join(home, 'settings.yaml');
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

function nextSteps(home: string): string {
  const at = `PARTNER_ETL_HOME=${home} npx partner-etl`;
  return `
Where to look next:
  npm start                       again: the same night changes nothing
  ${at} status
  ${at} explain orders yesterday
  ${at} sql "SELECT site_name, sum(commission) FROM warehouse.fact_order_item GROUP BY 1 ORDER BY 2 DESC"
  ${at} ask                    twenty questions with their answers
  ${at} docs --answers         every table and column, and twenty questions with their answers
  ${at} verify
With your own credentials: npx partner-etl init
`;
}
