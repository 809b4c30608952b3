/** What `init` needs to know, and the questions for what it was not given. */
import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import { readCredentials, readEnvironment, variable } from '../../config/environment.ts';
import type { CliContext } from '../context.ts';
import { ENV_FILE } from '../env-file.ts';
import { type Asker, askerAt } from './questions.ts';
import type { SettingsAnswers } from './settings.ts';

export interface Answers extends SettingsAnswers {
  readonly clientId?: string | undefined;
  /** At most one of these two. */
  readonly clientSecret?: string | undefined;
  /** Absolute. */
  readonly clientSecretFile?: string | undefined;
  readonly postgresUrl?: string | undefined;
  /** That there is none may be given as well. */
  readonly isPostgresGiven: boolean;
  /** Whether the doctor may ask the service. */
  readonly asksService: boolean;
}

export interface Asking {
  readonly context: CliContext;
  /** Then nothing is asked that would go into it. */
  readonly keepsEnvFile: boolean;
  readonly asksNothing: boolean;
}

/** The answers, with those to questions where somebody is there. Errors: `usage/no_answer`, the reason of an interruption. */
export async function askForRest(given: Answers, { context, keepsEnvFile, asksNothing }: Asking): Promise<Answers> {
  const asker = asksNothing ? null : askerAt(context, 'stopped; nothing was written');
  if (asker === null) return given;
  const { stdout } = context;
  try {
    stdout.write('An empty answer leaves the matter open.\n');
    const settings = await askForSettings(asker, given, context);
    if (keepsEnvFile) stdout.write(`${ENV_FILE} is there already and is left as it is.\n`);
    const withRest = keepsEnvFile ? settings : await askForSecrets(asker, settings, context);
    return { ...withRest, asksService: await mayAsk(asker, withRest, context) };
  } finally {
    asker.close();
  }
}

async function askForSettings(asker: Asker, given: Answers, { env, cwd }: CliContext): Promise<Answers> {
  const isSet = (name: string) => variable(env, name) !== null;
  let { baseUrl, authUrl, eans } = given;
  if (baseUrl === undefined && !isSet('PARTNER_BASE_URL'))
    baseUrl = await answer(asker, 'Address of the partner service', 'PARTNER_BASE_URL');
  if (authUrl === undefined && !isSet('PARTNER_AUTH_URL'))
    authUrl = await answer(asker, 'Address of its authentication service', 'PARTNER_AUTH_URL');
  if (eans === undefined) {
    const fault = (file: string) =>
      access(path.resolve(cwd, file), constants.R_OK).then(
        () => null,
        () => 'no such file, or it cannot be read',
      );
    eans = (await asker.ask({ text: 'CSV file of EANs to look up', fault })) ?? undefined;
  }
  return { ...given, baseUrl, authUrl, eans };
}

async function askForSecrets(asker: Asker, given: Answers, { env, cwd }: CliContext): Promise<Answers> {
  const isSet = (name: string) => variable(env, name) !== null;
  let { clientId, clientSecret, postgresUrl } = given;
  const faultOf = (name: string) => async (value: string) => {
    const { problems } = await readCredentials('default', { [name]: value }, cwd);
    return problems[0]?.accepted ?? null;
  };
  if (clientId === undefined && !isSet('PARTNER_CLIENT_ID')) {
    const fault = faultOf('PARTNER_CLIENT_ID');
    clientId = (await asker.ask({ text: 'Client id', fault })) ?? undefined;
  }
  const hasSecret = isSet('PARTNER_CLIENT_SECRET') || isSet('PARTNER_CLIENT_SECRET_FILE');
  if (given.clientSecretFile === undefined && !hasSecret) {
    const fault = faultOf('PARTNER_CLIENT_SECRET');
    clientSecret = (await asker.ask({ text: 'Client secret (not shown)', isSecret: true, fault })) ?? undefined;
  }
  if (!given.isPostgresGiven && !isSet('PARTNER_ETL_POSTGRES_URL')) {
    // It holds a password.
    const text = 'Postgres as a second warehouse, postgres://user:password@host/database (not shown; empty: none)';
    postgresUrl = await answer(asker, text, 'PARTNER_ETL_POSTGRES_URL', true);
  }
  return { ...given, clientId, clientSecret, postgresUrl };
}

/** A value that the environment could hold, checked as if it stood there. */
async function answer(asker: Asker, text: string, name: string, isSecret = false): Promise<string | undefined> {
  const fault = (value: string) => readEnvironment({ [name]: value }).problems[0]?.accepted ?? null;
  return (await asker.ask({ text, isSecret, fault })) ?? undefined;
}

/** Only where everything is there that a token takes. */
async function mayAsk(asker: Asker, answers: Answers, { env }: CliContext): Promise<boolean> {
  const has = (value: string | undefined, ...names: string[]) =>
    value !== undefined || names.some((name) => variable(env, name) !== null);
  const isComplete =
    has(answers.baseUrl, 'PARTNER_BASE_URL') &&
    has(answers.authUrl, 'PARTNER_AUTH_URL') &&
    has(answers.clientId, 'PARTNER_CLIENT_ID') &&
    has(answers.clientSecret ?? answers.clientSecretFile, 'PARTNER_CLIENT_SECRET', 'PARTNER_CLIENT_SECRET_FILE');
  return isComplete && asker.isYes('Ask the service now whether it takes them', true);
}
