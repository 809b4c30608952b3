/** `init`: writes commented settings, never over existing ones, and says which environment variables are missing. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { isServiceAddress, SERVICE_ADDRESS, trimAddress } from '../config/address.ts';
import { variable } from '../config/environment.ts';
import { overridingFile } from '../config.ts';
import type { Day } from '../core/days.ts';
import { EtlError } from '../core/errors.ts';
import type { CliContext } from './context.ts';
import { addExamples } from './help.ts';
import { printJson } from './output.ts';
import { dayValue } from './values.ts';

interface InitOptions {
  readonly baseUrl?: string;
  readonly authUrl?: string;
  readonly startDay?: Day;
  readonly file?: string;
  readonly json?: boolean;
}

export function register(program: Command, context: CliContext): void {
  const command = program
    .command('init')
    .summary('write commented settings')
    .description(
      'Writes a commented settings file and prints the environment variables that are still to be set.\n' +
        'It never writes over a file that exists, and never writes a secret.',
    )
    .option('--base-url <url>', 'address of the partner service', addressValue)
    .option('--auth-url <url>', 'address of its authentication service', addressValue)
    .option('--start-day <day>', 'first day of interest for every report, yyyy-mm-dd', dayValue)
    .option('--file <path>', 'write here; default: config/local.yaml of the checkout, or what PARTNER_ETL_CONFIG names')
    .option('--json', 'print one JSON document')
    .action((options: InitOptions) => init(options, context));
  addExamples(command, [
    ['init', 'everything commented out, to be filled in'],
    ['init --base-url https://api.example.com --auth-url https://login.example.com', 'with the addresses in place'],
    ['init --start-day 2023-01-01', 'the first run loads everything from that day on'],
  ]);
}

async function init(options: InitOptions, context: CliContext): Promise<void> {
  const file = placeFor(options, context);
  const shown = path.relative(context.cwd, file) || file;
  await mkdir(path.dirname(file), { recursive: true });
  try {
    await writeFile(file, settingsText(options), { flag: 'wx' });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
    throw new EtlError('usage', 'settings_exist', `${shown} exists already and was left as it is`, {
      hint: 'edit it, move it away, or name another place with --file',
    });
  }
  const environment = missingVariables(options, file, context);
  if (options.json) return printJson(context.stdout, { file, environment });
  const exports = environment.map(({ name, example }) => `  export ${name}=${example}`);
  const rest = exports.length === 0 ? [] : ['', 'Still to be set in the environment:', ...exports];
  context.stdout.write(`${[`wrote ${shown}`, ...rest, '', 'Next: partner-etl doctor'].join('\n')}\n`);
}

function placeFor({ file }: InitOptions, context: CliContext): string {
  if (file !== undefined) return path.resolve(context.cwd, file);
  // Inside node_modules the next update would delete it: then it lies with the operator, who must name it.
  const isInstalled = context.packageRoot.split(path.sep).includes('node_modules');
  const isNamed = variable(context.env, 'PARTNER_ETL_CONFIG') !== null;
  return isInstalled && !isNamed ? path.join(context.cwd, 'partner-etl.yaml') : overridingFile(context);
}

interface MissingVariable {
  readonly name: string;
  readonly example: string;
}

function missingVariables(options: InitOptions, file: string, context: CliContext): MissingVariable[] {
  const isSet = (name: string) => variable(context.env, name) !== null;
  const missing: MissingVariable[] = [];
  const need = (name: string, example: string) => missing.push({ name, example });
  if (file !== overridingFile(context)) need('PARTNER_ETL_CONFIG', file);
  if (options.baseUrl === undefined && !isSet('PARTNER_BASE_URL')) need('PARTNER_BASE_URL', 'https://…');
  if (options.authUrl === undefined && !isSet('PARTNER_AUTH_URL')) need('PARTNER_AUTH_URL', 'https://…');
  if (!isSet('PARTNER_CLIENT_ID')) need('PARTNER_CLIENT_ID', '…');
  if (!isSet('PARTNER_CLIENT_SECRET') && !isSet('PARTNER_CLIENT_SECRET_FILE'))
    need('PARTNER_CLIENT_SECRET_FILE', '/path/to/a/file/with/mode/600');
  return missing;
}

/** The settings file. What no option gave stands in it as a comment, ready to be uncommented. */
export function settingsText({
  baseUrl,
  authUrl,
  startDay,
}: Pick<InitOptions, 'baseUrl' | 'authUrl' | 'startDay'>): string {
  const address = (key: string, value: string | undefined) =>
    value === undefined
      ? `  # ${key}: https://${key === 'baseUrl' ? 'api' : 'login'}.example.com`
      : `  ${key}: ${trimAddress(value)}`;
  const start = startDay === undefined ? '    # startDay: 2023-01-01' : `    startDay: ${startDay}`;
  return `# Settings of this installation. They override config/default.yaml key by key; that file explains every setting.
# Client id and secret never stand here: they come from the environment.

service:
  # Root addresses; PARTNER_BASE_URL and PARTNER_AUTH_URL win over them.
${address('baseUrl', baseUrl)}
${address('authUrl', authUrl)}

# The EANs that are asked about besides those that were sold lately: a CSV file of ean[,price[,condition]].
eans:
  # file: eans.csv

pipelines:
  promotions:
    # The first day of interest. Without one, history begins where the lookback began at the first run.
${start}
    # enabled: true
    # lookbackDays: 45
  orders:
${start}
    # enabled: true
    # lookbackDays: 45
    # windowDays: 7
  commissions:
${start}
    # enabled: true
    # lookbackDays: 45
  products:
    # enabled: true
    # callsPerNight: 5000
    # markets: [{ country: NL, language: nl }]
  commission-rates:
    # enabled: true
    # callsPerNight: 10000
  reductions:
    # enabled: true

targets:
  # DuckDB is on unless it is switched off here. Postgres is on when PARTNER_ETL_POSTGRES_URL is set.
  # duckdb:
  #   enabled: true

guards:
  # A slice that had at least minRows rows and keeps fewer than keepRatio of them is held until somebody looks.
  # shrink:
  #   minRows: 20
  #   keepRatio: 0.5
`;
}

function addressValue(text: string): string {
  if (isServiceAddress(text)) return text;
  throw new InvalidArgumentError(`Accepted is ${SERVICE_ADDRESS}.`);
}
