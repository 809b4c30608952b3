/**
 * Settings: config/default.yaml ← config/local.yaml (or the file named by PARTNER_ETL_CONFIG) ← environment,
 * as one object that nobody can change. Everything that is wrong is reported at once.
 */
import path from 'node:path';
import { pipelines as shipped } from '../pipelines/index.ts';
import { type AlertSettings, alertSecrets, readAlerts } from './config/alerts.ts';
import { type Environment, readEnvironment, readPageToken, secretsIn, variable } from './config/environment.ts';
import { overlay } from './config/overlay.ts';
import { callsOf, type Partners, partnersOf, readPairs } from './config/partner.ts';
import { type Problem, refuse } from './config/problems.ts';
import type { PipelineTiming } from './config/schema/pipelines.ts';
import type { Settings } from './config/schema/settings.ts';
import { readSettingsFile } from './config/settings-file.ts';
import { type TargetSettings, targetsOf } from './config/targets.ts';
import type { Clock } from './core/clock.ts';
import { type Day, dayAt } from './core/days.ts';
import { assert, EtlError } from './core/errors.ts';
import type { ShrinkGuard } from './core/guard.ts';
import { type HomePaths, homePaths } from './core/home.ts';
import type { Pipeline } from './core/pipeline.ts';
import { AREAS, type Area } from './core/source.ts';
import type { Calls, PartnerSettings } from './partner/settings.ts';

/** Where the EANs come from that look-ups ask about: one of the two, both, or neither. */
export interface EanSettings {
  /** CSV of `ean[,price[,condition]]`, absolute. */
  readonly file: string | null;
  /** SQL on the warehouse, the most valuable EAN first. */
  readonly query: string | null;
}

/** What `serve` runs besides the receiver. */
export interface ServeSettings {
  /** Whether it starts pipelines when they are due. */
  readonly schedule: boolean;
  /** After so many minutes a scheduled run is stopped. */
  readonly runLimitMinutes: number;
  /** Where page, health and metrics are. */
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Proxies, as addresses or ranges, that say whom a request came from. */
  readonly trustedProxies: readonly string[];
}

/** The receiver of push messages. */
export interface PushSettings {
  readonly enabled: boolean;
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly path: string;
  /** Absolute; both or neither. */
  readonly tls: { readonly certFile: string | null; readonly keyFile: string | null };
  /** Addresses or ranges that messages are taken from. */
  readonly sourceAddresses: readonly string[];
  readonly alsoFrom: readonly string[];
  readonly checkSource: 'auto' | 'always' | 'never';
  readonly trustedProxies: readonly string[];
  readonly bodyKiB: number;
  readonly oldestDays: number;
  readonly copiesKept: number;
  readonly keyRefreshSeconds: number;
  readonly inboxMiB: number;
  readonly refusedMiB: number;
}

export interface GuardSettings {
  readonly shrink: ShrinkGuard;
}

/** How long things are kept; null: as long as there is room. */
export interface RetentionSettings {
  readonly rawDays: number | null;
  readonly rawMiB: number | null;
  readonly refusedDays: number | null;
  readonly runsDays: number | null;
}

export interface Config extends Partners {
  readonly home: HomePaths;
  /** Pretend that this is today; null: ask the clock. See `todayOf`. */
  readonly today: Day | null;
  /** The service's zone. */
  readonly timeZone: string;
  readonly eans: EanSettings;
  /** The pipelines of this installation. */
  readonly declared: readonly Pipeline[];
  /** Their settings, by name; those that are children have none. */
  readonly pipelines: Readonly<Record<string, PipelineTiming>>;
  /** Calls that they declare. */
  readonly calls: Calls;
  readonly serve: ServeSettings;
  /** What whoever looks at the status page must know; null: none is set. A secret. */
  readonly pageToken: string | null;
  readonly push: PushSettings;
  /** What DuckDB may use of the machine; null: see src/engine/size.ts. */
  readonly engine: Settings['engine'];
  /** null: the state is a file in the home directory. Holds a password. */
  readonly stateUrl: string | null;
  readonly targets: TargetSettings;
  readonly lake: Settings['lake'];
  /** The grammar is checked; null: sub-IDs are not taken apart. */
  readonly subIds: { readonly grammar: string | null };
  readonly guards: GuardSettings;
  readonly retention: RetentionSettings;
  readonly alerts: AlertSettings;
  /** Settings files that were read, as shown to people, the overriding one last. */
  readonly files: readonly string[];
  /** For the operator to see; nothing that stops anything. */
  readonly warnings: readonly string[];
}

export interface ConfigSources {
  readonly env: Environment;
  /** Relative names in the environment start here. */
  readonly cwd: string;
  /** The folder that holds package.json and config/. */
  readonly packageRoot: string;
  /** Those that come with the program, unless others are named. */
  readonly pipelines?: readonly Pipeline[];
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
  const { env, cwd, packageRoot, pipelines = shipped } = sources;
  const base = await readSettingsFile(path.join(packageRoot, 'config', 'default.yaml'), cwd, true);
  assert(base !== null, 'a required settings file was not read');
  const named = variable(env, 'PARTNER_ETL_CONFIG') !== null;
  const over = await readSettingsFile(overridingFile(sources), cwd, named);
  const fromEnv = readEnvironment(env);
  const { settings, problems: inFiles } = overlay(pipelines, base, over, fromEnv.baseUrl, secretsIn(env));
  const pairs = await readPairs(settings, env, cwd);
  const page = await readPageToken(env, cwd);
  const alerting = await readAlerts(settings, env, cwd);
  const problems: Problem[] = [
    ...[...inFiles, ...fromEnv.problems, ...pairs.problems],
    ...[...page.problems, ...alerting.problems],
  ];
  const home = homePaths(homeRoot(path.resolve(cwd, variable(env, 'PARTNER_ETL_HOME') ?? 'data')));
  const said = { env, fromEnv, file: over?.name ?? base.name };
  const targets = settings === null ? null : targetsOf(settings, said, (name) => path.resolve(cwd, name), home);
  problems.push(...(targets?.problems ?? []));
  if (settings === null || targets === null || alerting.alerts === null || problems.length > 0) throw refuse(problems);

  const addresses = {
    baseUrl: fromEnv.baseUrl ?? settings.service.baseUrl,
    authUrl: fromEnv.authUrl ?? settings.service.authUrl,
  };
  const calls = callsOf(settings, pipelines);
  const config = deepFreeze({
    home,
    today: fromEnv.today,
    calls,
    ...partnersOf(settings, calls, addresses, pairs),
    timeZone: settings.service.timeZone,
    ...loadingOf(settings, cwd),
    serve: settings.serve,
    pageToken: page.secret,
    subIds: settings.subIds,
    stateUrl: fromEnv.stateUrl,
    targets: targets.settings,
    lake: settings.lake,
    guards: settings.guards,
    retention: settings.retention,
    alerts: alerting.alerts,
    files: over === null ? [base.name] : [base.name, over.name],
    warnings: [...fromEnv.warnings, ...pairs.warnings, ...page.warnings, ...alerting.warnings],
  });
  return Object.freeze({ ...config, declared: pipelines });
}

/** What calls of an area need. Errors: `usage/no_credentials`, which names the variables to set. */
export function requirePartner(config: Config, area: Area): PartnerSettings {
  const partner = config.partners[area];
  if (partner !== null) return partner;
  const missing = config.partnerMissing[area];
  const verb = missing.length === 1 ? 'is' : 'are';
  throw new EtlError('usage', 'no_credentials', `${missing.join(', ')} ${verb} not set`, {
    hint: 'set what is missing in the environment; to try without credentials: partner-etl sandbox',
  });
}

/** What the settings of a pipeline have, by its name; null for a child, which has none. */
export function timingOf(config: Config, pipelineName: string): PipelineTiming | null {
  return config.pipelines[pipelineName] ?? null;
}

/** The service's today, or the day that PARTNER_ETL_TODAY pretends. */
export function todayOf(config: Config, clock: Clock): Day {
  return config.today ?? dayAt(clock.now(), config.timeZone);
}

/** Values that must appear nowhere; whoever prints or logs takes them out. */
export function secretsOf(config: Config, env: Environment): string[] {
  const pairs = AREAS.flatMap((area) => config.partners[area]?.credentials ?? []);
  const sent = pairs.flatMap(({ clientId, clientSecret }) => [
    clientSecret,
    Buffer.from(`${clientId}:${clientSecret}`).toString('base64'),
  ]);
  const page = config.pageToken === null ? [] : [config.pageToken];
  return [...new Set([...secretsIn(env), ...sent, ...page, ...alertSecrets(config.alerts)])];
}

/** What is loaded. A relative name of a file starts at the working directory, as those in the environment do. */
function loadingOf({ eans, engine, pipelines, push }: Settings, cwd: string) {
  const absolute = (file: string | null) => (file === null ? null : path.resolve(cwd, file));
  const { certFile, keyFile } = push.tls;
  return {
    eans: { ...eans, file: absolute(eans.file) },
    pipelines,
    engine: { ...engine, extensions: absolute(engine.extensions) },
    push: { ...push, tls: { certFile: absolute(certFile), keyFile: absolute(keyFile) } },
  };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}

/** DuckDB takes what stands behind a question mark for options of a database. Other signs of patterns are no matter. */
function homeRoot(root: string): string {
  if (!root.includes('?')) return root;
  throw new EtlError('usage', 'home_name', `no warehouse can lie in ${root}: there is a question mark in its path`, {
    hint: 'name another folder in PARTNER_ETL_HOME',
  });
}
