/** What the environment says: addresses, credentials, places. The only way in for secrets. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { type Day, isDay } from '../core/days.ts';
import { isServiceAddress, SERVICE_ADDRESS } from './address.ts';
import { nearest } from './near-miss.ts';
import { otlpHeaders } from './otlp-headers.ts';
import { type Problem, showValue } from './problems.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface EnvironmentSettings {
  readonly baseUrl: string | null;
  readonly authUrl: string | null;
  readonly today: Day | null;
  readonly postgresUrl: string | null;
  /** postgres://…: where a DuckLake's catalog lies. */
  readonly ducklakeUrl: string | null;
  /** postgres://…: where the state lies. */
  readonly stateUrl: string | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
}

export interface FoundCredentials {
  readonly credentials: Credentials | null;
  /** Variables that are not set and would have to be. */
  readonly missing: readonly string[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
}

const NAMES = [
  'PARTNER_BASE_URL',
  'PARTNER_AUTH_URL',
  'PARTNER_CLIENT_ID',
  'PARTNER_CLIENT_SECRET',
  'PARTNER_CLIENT_SECRET_FILE',
  'PARTNER_ETL_HOME',
  'PARTNER_ETL_CONFIG',
  'PARTNER_ETL_POSTGRES_URL',
  'PARTNER_ETL_DUCKLAKE_URL',
  'PARTNER_ETL_STATE_URL',
  'PARTNER_ETL_PAGE_TOKEN',
  'PARTNER_ETL_PAGE_TOKEN_FILE',
  'PARTNER_ETL_ALERT_URL',
  'PARTNER_ETL_ALERT_URL_FILE',
  'PARTNER_ETL_ALERT_SLACK_URL',
  'PARTNER_ETL_ALERT_SLACK_URL_FILE',
  'PARTNER_ETL_SMTP_PASSWORD',
  'PARTNER_ETL_SMTP_PASSWORD_FILE',
  'PARTNER_ETL_TODAY',
];

/** Taking a shorter text out of every message would make them unreadable and hide nothing. */
const SHORTEST_SECRET = 4;

const DUCKLAKE_ADDRESS = 'an address such as ducklake:postgres://user:password@host:5432/database';
const POSTGRES_ADDRESS = 'an address such as postgres://user:password@host:5432/database';

/** A variable's value; one that is set but empty counts as not set. */
export function variable(env: Environment, name: string): string | null {
  const value = env[name];
  return value === undefined || value.trim() === '' ? null : value;
}

/** The day that PARTNER_ETL_TODAY pretends; null where it is not set, or no day, which the settings refuse. */
export function pretendedDay(env: Environment): Day | null {
  const text = variable(env, 'PARTNER_ETL_TODAY')?.trim() ?? '';
  return isDay(text) ? text : null;
}

/** Values in the environment that nobody may ever see, also inside other texts. */
export function secretsIn(env: Environment): string[] {
  const names = Object.keys(env).filter((name) =>
    /^(?:PARTNER_\w*(?:SECRET|POSTGRES_URL|DUCKLAKE_URL|STATE_URL|PAGE_TOKEN|ALERT_(?:\w+_)?URL|SMTP_PASSWORD)|AWS_SECRET_ACCESS_KEY|AWS_SESSION_TOKEN)$/.test(
      name,
    ),
  );
  const values = [...names.map((name) => variable(env, name)), ...Object.values(otlpHeaders(env))];
  return values.flatMap((value) =>
    value === null ? [] : [value, ...passwordOf(value)].filter((secret) => secret.length >= SHORTEST_SECRET),
  );
}

/** The password inside an address, as it stands and decoded. */
function passwordOf(text: string): string[] {
  const address = catalogOf(text) ?? text;
  const password = URL.canParse(address) ? new URL(address).password : '';
  if (password === '') return [];
  try {
    return [password, decodeURIComponent(password)];
  } catch {
    return [password];
  }
}

export function readEnvironment(env: Environment): EnvironmentSettings {
  const problems: Problem[] = [];
  const checked = (name: string, isGood: (text: string) => boolean, accepted: string, show: boolean) => {
    const value = variable(env, name)?.trim() ?? null;
    if (value === null || isGood(value)) return value;
    const shown = show ? showValue(value, secretsIn(env)) : undefined;
    problems.push({
      where: 'environment',
      key: name,
      ...(shown === undefined ? {} : { value: shown }),
      accepted: `${accepted} is accepted`,
    });
    return null;
  };
  return {
    baseUrl: checked('PARTNER_BASE_URL', isServiceAddress, SERVICE_ADDRESS, true),
    authUrl: checked('PARTNER_AUTH_URL', isServiceAddress, SERVICE_ADDRESS, true),
    today: checked('PARTNER_ETL_TODAY', isDay, 'a day as yyyy-mm-dd', true) as Day | null,
    postgresUrl: checked('PARTNER_ETL_POSTGRES_URL', isPostgresAddress, POSTGRES_ADDRESS, false),
    ducklakeUrl: catalogOf(
      checked('PARTNER_ETL_DUCKLAKE_URL', (text) => catalogOf(text) !== null, DUCKLAKE_ADDRESS, false),
    ),
    stateUrl: checked('PARTNER_ETL_STATE_URL', isPostgresAddress, POSTGRES_ADDRESS, false),
    problems,
    warnings: misspelt(env),
  };
}

function isPostgresAddress(text: string): boolean {
  return /^postgres(?:ql)?:$/.test(URL.canParse(text) ? new URL(text).protocol : '');
}

/** The address behind `ducklake:`, as DuckDB spells it (`ducklake:postgres:postgres://…`) or shorter; null: it is none. */
function catalogOf(text: string | null): string | null {
  const [, address = ''] = /^ducklake:(?:postgres:(?=postgres(?:ql)?:))?(.*)$/s.exec(text ?? '') ?? [];
  return isPostgresAddress(address) ? address : null;
}

function misspelt(env: Environment): string[] {
  const strangers = Object.keys(env).filter((name) => name.startsWith('PARTNER') && !NAMES.includes(name));
  return strangers.flatMap((name) => {
    if (/^PARTNER_\w+_CLIENT_(?:ID|SECRET|SECRET_FILE)$/.test(name)) return [];
    if (/^PARTNER_ETL_ALERT_\w+_URL(?:_FILE)?$/.test(name)) return [];
    const near = nearest(name, NAMES);
    return near === null ? [] : [`${name} is set, but nothing reads it; did you mean ${near}?`];
  });
}

/** The pair `default` is PARTNER_CLIENT_ID and so on; `shop` is PARTNER_SHOP_CLIENT_ID and so on. */
export async function readCredentials(pair: string, env: Environment, cwd: string): Promise<FoundCredentials> {
  const prefix = pair === 'default' ? 'PARTNER' : `PARTNER_${pair.toUpperCase().replaceAll('-', '_')}`;
  const idName = `${prefix}_CLIENT_ID`;
  const clientId = variable(env, idName);
  const isBadId = clientId !== null && /[:\s]|\p{Cc}/u.test(clientId);
  const accepted = 'an id without colon and white space is accepted';
  const { secret: clientSecret, missing: noSecret, ...read } = await readSecret(`${prefix}_CLIENT_SECRET`, env, cwd);
  const problems = [...(isBadId ? [{ where: 'environment', key: idName, accepted }] : []), ...read.problems];
  const credentials =
    clientId !== null && clientSecret !== null && problems.length === 0 ? { clientId, clientSecret } : null;
  const missing = [...(clientId === null ? [idName] : []), ...noSecret];
  return { credentials, missing, problems, warnings: read.warnings };
}

export interface FoundSecret {
  /** null: none is set, or what is set is wrong. */
  readonly secret: string | null;
  /** What would have to be set, where nothing is. */
  readonly missing: readonly string[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
}

/** A secret of one line from the variable of that name, or from the file that the variable with `_FILE` behind its name names. */
export async function readSecret(name: string, env: Environment, cwd: string): Promise<FoundSecret> {
  const fileName = `${name}_FILE`;
  const text = variable(env, name);
  const file = variable(env, fileName);
  if (text === null && file === null)
    return { secret: null, missing: [`${name} (or ${fileName})`], problems: [], warnings: [] };
  const wrong = (key: string, accepted: string, warnings: readonly string[] = []): FoundSecret => {
    return { secret: null, missing: [], problems: [{ where: 'environment', key, accepted }], warnings };
  };
  if (text !== null && file !== null) return wrong(fileName, `${name} is set as well: keep one of them`);
  const { secret, problem, warnings } =
    file === null
      ? { secret: text, problem: null, warnings: [] }
      : await readSecretFile(path.resolve(cwd, file), fileName);
  if (problem !== null) return wrong(fileName, problem, warnings);
  if (secret !== null && /\p{Cc}/u.test(secret))
    return wrong(file === null ? name : fileName, 'one line without control characters is accepted', warnings);
  return { secret, missing: [], problems: [], warnings };
}

/** A token that can be guessed is none: whoever has it may release and retry. */
const SHORTEST_PAGE_TOKEN = 16;

/** What opens the status page to others than this machine, and lets anybody act on it. */
export async function readPageToken(env: Environment, cwd: string): Promise<FoundSecret> {
  const name = 'PARTNER_ETL_PAGE_TOKEN';
  const found = await readSecret(name, env, cwd);
  if (found.secret === null || found.secret.length >= SHORTEST_PAGE_TOKEN) return found;
  const key = variable(env, name) === null ? `${name}_FILE` : name;
  const accepted = `a token of at least ${SHORTEST_PAGE_TOKEN} characters is accepted, such as openssl rand -hex 32 makes`;
  return { ...found, secret: null, problems: [{ where: 'environment', key, accepted }] };
}

interface SecretFile {
  readonly secret: string | null;
  readonly problem: string | null;
  readonly warnings: readonly string[];
}

const LONGEST_SECRET_BYTES = 4096;

async function readSecretFile(file: string, name: string): Promise<SecretFile> {
  const nothing = (problem: string) => ({ secret: null, problem, warnings: [] });
  try {
    const { size, mode } = await stat(file);
    if (size > LONGEST_SECRET_BYTES)
      return nothing(`the file that it names is larger than ${LONGEST_SECRET_BYTES} bytes`);
    const secret = (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
    if (secret === '') return nothing('the file that it names is empty');
    const open = process.platform !== 'win32' && (mode & 0o077) !== 0;
    const warnings = open ? [`the file that ${name} names can be read by others: chmod 600 it`] : [];
    return { secret, problem: null, warnings };
  } catch (error) {
    return nothing(`the file that it names cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}
