/**
 * `init`: writes commented settings, and credentials into `.env`, each only where there is no such file; then lets `doctor` look.
 *
 * What is needed is taken from the options, else from the environment, else asked for where somebody sits at a terminal. A secret
 * goes into `.env` and nowhere else, and is never an option, since everybody on the machine can read those.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { isServiceAddress, SERVICE_ADDRESS } from '../../config/address.ts';
import { type Environment, readCredentials, readEnvironment, variable } from '../../config/environment.ts';
import { refuse } from '../../config/problems.ts';
import { overridingFile } from '../../config.ts';
import type { Day } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import { isThere } from '../../disk/atomic.ts';
import { isInstalled } from '../../disk/package-root.ts';
import type { CliContext } from '../context.ts';
import { diagnose, documentOf, linesOf } from '../doctor/doctor.ts';
import { ENV_FILE, envLines } from '../env-file.ts';
import { addExamples } from '../help.ts';
import { printJson } from '../print/output.ts';
import { dayValue } from '../values.ts';
import { type Answers, askForRest } from './answers.ts';
import { settingsText } from './settings.ts';

interface InitOptions {
  readonly baseUrl?: string;
  readonly authUrl?: string;
  readonly clientId?: string;
  readonly clientSecretFile?: string;
  readonly postgresUrl?: string;
  readonly eans?: string;
  readonly startDay?: Day;
  readonly file?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

export function register(program: Command, context: CliContext): void {
  const command = program
    .command('init')
    .summary('write commented settings')
    .description(
      'Writes a commented settings file and, for credentials, the file .env with mode 600; then does what doctor does. ' +
        'On a terminal it asks for what no option and no variable gives. It never writes over a file that exists.',
    )
    .option('--base-url <url>', 'address of the partner service', addressValue)
    .option('--auth-url <url>', 'address of its authentication service', addressValue)
    .option('--client-id <id>', 'goes into .env')
    .option('--client-secret-file <path>', 'a file that holds the client secret; its name goes into .env')
    .option(
      '--postgres-url <url>',
      'turns Postgres on: postgres://user@host/database, without a password; goes into .env',
    )
    .option('--eans <file>', 'CSV of ean[,price[,condition]]: what look-ups ask about')
    .option('--start-day <day>', 'first day of interest for every report, yyyy-mm-dd', dayValue)
    .option('--file <path>', 'write here; default: config/local.yaml of the checkout, or what PARTNER_ETL_CONFIG names')
    .option('--yes', 'ask nothing')
    .option('--json', 'ask nothing, and print one JSON document')
    .action((options: InitOptions) => init(options, context));
  addExamples(command, [
    ['init', 'asks for addresses and credentials'],
    ['init --yes', 'asks nothing: everything commented out, to be filled in'],
    ['init --base-url https://api.example.com --auth-url https://login.example.com', 'with the addresses in place'],
    ['init --start-day 2023-01-01', 'the first run loads everything from that day on'],
  ]);
}

async function init(options: InitOptions, context: CliContext): Promise<void> {
  const { cwd } = context;
  refusePassword(options);
  const file = placeFor(options, context);
  const envFile = path.join(cwd, ENV_FILE);
  const shown = path.relative(cwd, file) || file;
  if (await isThere(file)) throw settingsExist(shown);
  const keepsEnvFile = await isThere(envFile);
  const { clientId, clientSecretFile, postgresUrl } = options;
  if (keepsEnvFile && [clientId, clientSecretFile, postgresUrl].some((value) => value !== undefined))
    throw new EtlError('usage', 'env_file_exists', `${ENV_FILE} exists already and was left as it is`, {
      hint: 'put the credentials in there, or move it away',
    });
  const answers = await askForRest(answersOf(options, cwd), { context, keepsEnvFile, asksNothing: isSilent(options) });
  const variables = variablesOf(answers, file, context);
  await proveVariables(variables, context);

  await mkdir(path.dirname(file), { recursive: true });
  await create(file, settingsText(answers), 0o666, () => settingsExist(shown));
  const written = [shown];
  if (Object.keys(variables).length > 0) {
    const about = '# Read by partner-etl in this folder; mode 600, or it is refused. Not for version control.';
    const exists = () => new EtlError('usage', 'env_file_exists', `${ENV_FILE} has come to be meanwhile`);
    await create(envFile, `${[about, ...envLines(variables)].join('\n')}\n`, 0o600, exists);
    written.push(`${ENV_FILE} (mode 600)`);
  }
  await finish(options, context.withEnvironment({ ...context.env, ...variables }), { file, answers, written });
}

interface Written {
  readonly file: string;
  readonly answers: Answers;
  /** What was written, as it is printed. */
  readonly written: readonly string[];
}

/** Says what was done and what is left to do, and lets the doctor look at it. */
async function finish({ json }: InitOptions, after: CliContext, { file, answers, written }: Written): Promise<void> {
  const environment = missingVariables(answers, file, after);
  if (!json) {
    const exports = environment.map(({ name, example }) => `  export ${name}=${example}`);
    const rest = exports.length === 0 ? [] : ['', 'Still to be set in the environment:', ...exports];
    after.stdout.write(`${[...written.map((name) => `wrote ${name}`), ...rest, ''].join('\n')}\n`);
  }
  // Settings in a file that no variable names yet cannot be looked at in another way.
  const looking = after.withEnvironment({ ...after.env, PARTNER_ETL_CONFIG: file });
  const findings = await diagnose(looking, { online: answers.asksService });
  if (json) return printJson(after.stdout, { file, written, environment, doctor: documentOf(findings) });
  const isSound = findings.every(({ state }) => state !== 'broken');
  const next = isSound ? 'Next: partner-etl run' : 'Next: fix what is broken, and ask again: partner-etl doctor';
  after.stdout.write(`${[...linesOf(findings), '', next].join('\n')}\n`);
}

/** Arguments are seen by everybody on this machine, and kept by the shell. Errors: `usage/password_in_argument`. */
function refusePassword({ postgresUrl = '' }: InitOptions): void {
  const url = URL.canParse(postgresUrl) ? new URL(postgresUrl) : null;
  if (!url?.password && !url?.searchParams.has('password')) return;
  throw new EtlError('usage', 'password_in_argument', '--postgres-url holds a password, which other users can read', {
    hint: 'change that password; then leave --postgres-url out and answer the question for it, or set PARTNER_ETL_POSTGRES_URL',
  });
}

const isSilent = ({ yes = false, json = false }: InitOptions) => yes || json;

function answersOf(options: InitOptions, cwd: string): Answers {
  const { clientSecretFile, postgresUrl, ...others } = options;
  const answers = { ...others, asksService: false };
  return {
    ...answers,
    ...(clientSecretFile === undefined ? {} : { clientSecretFile: path.resolve(cwd, clientSecretFile) }),
    ...(postgresUrl === undefined || postgresUrl === 'none' ? {} : { postgresUrl }),
    isPostgresGiven: postgresUrl !== undefined,
  };
}

/** What goes into `.env`. */
function variablesOf(answers: Answers, file: string, context: CliContext): Record<string, string> {
  const { clientId, clientSecret, clientSecretFile, postgresUrl } = answers;
  const given = {
    PARTNER_CLIENT_ID: clientId,
    PARTNER_CLIENT_SECRET: clientSecret,
    PARTNER_CLIENT_SECRET_FILE: clientSecretFile,
    PARTNER_ETL_POSTGRES_URL: postgresUrl,
  };
  const variables = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  if (Object.keys(variables).length === 0 || file === overridingFile(context))
    return variables as Record<string, string>;
  return { ...variables, PARTNER_ETL_CONFIG: file } as Record<string, string>;
}

/** Refuses, before anything is written, what could not be read back. Errors: `usage/bad_setting`, `usage/env_value`. */
async function proveVariables(variables: Environment, { cwd }: CliContext): Promise<void> {
  const { problems } = readEnvironment(variables);
  const found = await readCredentials('default', variables, cwd);
  const all = [...problems, ...found.problems];
  if (all.length > 0) throw refuse(all);
  envLines(variables as Record<string, string>);
}

async function create(file: string, text: string, mode: number, exists: () => EtlError): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx', mode });
  } catch (cause) {
    throw (cause as NodeJS.ErrnoException).code === 'EEXIST' ? exists() : cause;
  }
}

function settingsExist(shown: string): EtlError {
  return new EtlError('usage', 'settings_exist', `${shown} exists already and was left as it is`, {
    hint: 'edit it, move it away, or name another place with --file',
  });
}

function placeFor({ file }: InitOptions, context: CliContext): string {
  if (file !== undefined) return path.resolve(context.cwd, file);
  // Inside node_modules the next update would delete it: then it lies with the operator, who must name it.
  const isNamed = variable(context.env, 'PARTNER_ETL_CONFIG') !== null;
  return isInstalled(context.packageRoot) && !isNamed
    ? path.join(context.cwd, 'partner-etl.yaml')
    : overridingFile(context);
}

interface MissingVariable {
  readonly name: string;
  readonly example: string;
}

function missingVariables({ baseUrl, authUrl }: Answers, file: string, context: CliContext): MissingVariable[] {
  const isSet = (name: string) => variable(context.env, name) !== null;
  const missing: MissingVariable[] = [];
  const need = (name: string, example: string) => missing.push({ name, example });
  if (file !== overridingFile(context)) need('PARTNER_ETL_CONFIG', file);
  if (baseUrl === undefined && !isSet('PARTNER_BASE_URL')) need('PARTNER_BASE_URL', 'https://…');
  if (authUrl === undefined && !isSet('PARTNER_AUTH_URL')) need('PARTNER_AUTH_URL', 'https://…');
  if (!isSet('PARTNER_CLIENT_ID')) need('PARTNER_CLIENT_ID', '…');
  if (!isSet('PARTNER_CLIENT_SECRET') && !isSet('PARTNER_CLIENT_SECRET_FILE'))
    need('PARTNER_CLIENT_SECRET_FILE', '/path/to/a/file/with/mode/600');
  return missing;
}

function addressValue(text: string): string {
  if (isServiceAddress(text)) return text;
  throw new InvalidArgumentError(`Accepted is ${SERVICE_ADDRESS}.`);
}
