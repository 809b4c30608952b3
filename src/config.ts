/**
 * Settings: config/default.yaml ← config/local.yaml (or the file named by PARTNER_ETL_CONFIG) ← environment,
 * as one object that nobody can change. Everything that is wrong is told at once.
 */
import path from 'node:path';
import { trimAddress } from './config/address.ts';
import {
  type Credentials,
  type Environment,
  type FoundCredentials,
  readCredentials,
  readEnvironment,
  secretsIn,
  variable,
} from './config/environment.ts';
import { overlay } from './config/overlay.ts';
import { type Problem, refuse } from './config/problems.ts';
import type { Settings } from './config/schema.ts';
import { readSettingsFile } from './config/settings-file.ts';
import type { Clock } from './core/clock.ts';
import { type Day, dayAt } from './core/days.ts';
import { assert, EtlError } from './core/errors.ts';
import type { ShrinkGuard } from './core/guard.ts';
import { type HomePaths, homePaths } from './core/home.ts';
import type { PlanSettings } from './core/plan.ts';
import type { PartnerSettings } from './partner/settings.ts';

export interface PipelineSettings extends PlanSettings {
  /** Whether `run` takes it when no pipeline is named. */
  readonly enabled: boolean;
  /** Cron expression of five fields, in the service's time zone. */
  readonly schedule: string;
}

export interface TargetSettings {
  readonly duckdb: boolean;
  /** null: Postgres is off. Holds a password. */
  readonly postgresUrl: string | null;
}

export interface GuardSettings {
  readonly shrink: ShrinkGuard;
}

export interface Config {
  readonly home: HomePaths;
  /** Pretend that this is today; null: ask the clock. See `todayOf`. */
  readonly today: Day | null;
  /** null when something is missing that calls need; see `requirePartner`. */
  readonly partner: PartnerSettings | null;
  /** What is missing for calls: names of environment variables. */
  readonly partnerMissing: readonly string[];
  /** The service's zone. */
  readonly timeZone: string;
  readonly pipelines: Readonly<Record<string, PipelineSettings>>;
  readonly targets: TargetSettings;
  readonly guards: GuardSettings;
  /** Settings files that were read, as shown to people, the overriding one last. */
  readonly files: readonly string[];
  /** To be told to the operator; nothing that stops anything. */
  readonly warnings: readonly string[];
}

export interface ConfigSources {
  readonly env: Environment;
  /** Relative names in the environment start here. */
  readonly cwd: string;
  /** The folder that holds package.json and config/. */
  readonly packageRoot: string;
}

/** The file that overrides config/default.yaml, whether it is there or not. */
export function overridingFile({ env, cwd, packageRoot }: ConfigSources): string {
  const named = variable(env, 'PARTNER_ETL_CONFIG');
  return named === null ? path.join(packageRoot, 'config', 'local.yaml') : path.resolve(cwd, named);
}

/**
 * Reads and checks everything. Missing credentials are no error here, since most commands never call.
 * Errors: `usage/bad_setting` with every problem found, `usage/no_settings_file`.
 */
export async function loadConfig(sources: ConfigSources): Promise<Config> {
  const { env, cwd, packageRoot } = sources;
  const base = await readSettingsFile(path.join(packageRoot, 'config', 'default.yaml'), cwd, true);
  assert(base !== null, 'a required settings file was not read');
  const named = variable(env, 'PARTNER_ETL_CONFIG') !== null;
  const over = await readSettingsFile(overridingFile(sources), cwd, named);
  const { settings, problems: inFiles } = overlay(base, over, secretsIn(env));
  const fromEnv = readEnvironment(env);
  const found = await readCredentials(settings?.service.reports.credentials ?? 'default', env, cwd);
  const problems: Problem[] = [...inFiles, ...fromEnv.problems, ...found.problems];
  if (settings !== null && !settings.targets.duckdb.enabled && variable(env, 'PARTNER_ETL_POSTGRES_URL') === null)
    problems.push({
      where: over?.name ?? base.name,
      key: 'targets.duckdb.enabled',
      value: 'false',
      accepted: 'no warehouse is left: true is accepted, or set PARTNER_ETL_POSTGRES_URL',
    });
  if (settings === null || problems.length > 0) throw refuse(problems);

  const addresses = {
    baseUrl: fromEnv.baseUrl ?? settings.service.baseUrl,
    authUrl: fromEnv.authUrl ?? settings.service.authUrl,
  };
  return deepFreeze({
    home: homePaths(path.resolve(cwd, variable(env, 'PARTNER_ETL_HOME') ?? 'data')),
    today: fromEnv.today,
    ...partnerOf(settings, addresses, found),
    timeZone: settings.service.timeZone,
    pipelines: settings.pipelines,
    targets: { duckdb: settings.targets.duckdb.enabled, postgresUrl: fromEnv.postgresUrl },
    guards: settings.guards,
    files: over === null ? [base.name] : [base.name, over.name],
    warnings: [...fromEnv.warnings, ...found.warnings],
  });
}

/** What calls need. Errors: `usage/no_credentials`, which names the variables to set. */
export function requirePartner(config: Config): PartnerSettings {
  if (config.partner !== null) return config.partner;
  const verb = config.partnerMissing.length === 1 ? 'is' : 'are';
  throw new EtlError('usage', 'no_credentials', `${config.partnerMissing.join(', ')} ${verb} not set`, {
    hint: 'set what is missing in the environment; to try without credentials: partner-etl sandbox',
  });
}

/** The service's today, or the day that PARTNER_ETL_TODAY pretends. */
export function todayOf(config: Config, clock: Clock): Day {
  return config.today ?? dayAt(clock.now(), config.timeZone);
}

/** Values that must appear nowhere; whoever prints or logs takes them out. */
export function secretsOf(config: Config, env: Environment): string[] {
  const { credentials } = config.partner ?? {};
  if (credentials === undefined) return secretsIn(env);
  const basic = Buffer.from(`${credentials.clientId}:${credentials.clientSecret}`).toString('base64');
  return [...secretsIn(env), credentials.clientSecret, basic];
}

interface Addresses {
  readonly baseUrl: string | null;
  readonly authUrl: string | null;
}

function partnerOf(settings: Settings, { baseUrl, authUrl }: Addresses, found: FoundCredentials) {
  const missing = [
    ...(baseUrl === null ? ['PARTNER_BASE_URL'] : []),
    ...(authUrl === null ? ['PARTNER_AUTH_URL'] : []),
    ...found.missing,
  ];
  if (baseUrl === null || authUrl === null || found.credentials === null)
    return { partner: null, partnerMissing: missing };
  const partner = partnerSettings(settings, trimAddress(baseUrl), trimAddress(authUrl), found.credentials);
  return { partner, partnerMissing: [] };
}

function partnerSettings(
  { service }: Settings,
  baseUrl: string,
  authUrl: string,
  credentials: Credentials,
): PartnerSettings {
  const { version } = service.reports;
  const report = (name: 'promotions' | 'orders' | 'commissions') => {
    const { path: template, accept, ...rest } = service.reports[name];
    const fill = (text: string) => text.replaceAll('{version}', version);
    return { ...rest, path: fill(template), accept: fill(accept) };
  };
  return {
    baseUrl,
    authUrl,
    credentials,
    reports: { promotions: report('promotions'), orders: report('orders'), commissions: report('commissions') },
    timeouts: service.timeouts,
    retry: service.retry,
    token: service.token,
  };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}
