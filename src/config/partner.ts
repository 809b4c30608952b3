/** What calls need, for each area of the service: addresses, endpoints with the version filled in, a pair of credentials. */
import type { Pipeline } from '../core/pipeline.ts';
import { AREAS, type Area } from '../core/source.ts';
import type { Calls, PartnerSettings } from '../partner/settings.ts';
import { trimAddress } from './address.ts';
import { type Credentials, type Environment, type FoundCredentials, readCredentials } from './environment.ts';
import type { Problem } from './problems.ts';
import { callsIn } from './schema/pipelines.ts';
import type { Settings } from './schema/settings.ts';

export interface Addresses {
  readonly baseUrl: string | null;
  readonly authUrl: string | null;
}

export interface Partners {
  /** null for an area of which something is missing that calls need. */
  readonly partners: Readonly<Record<Area, PartnerSettings | null>>;
  /** What is missing for calls: names of environment variables. */
  readonly partnerMissing: Readonly<Record<Area, readonly string[]>>;
}

export interface FoundPairs {
  readonly of: Readonly<Record<Area, FoundCredentials>>;
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
}

/** The pair of every area; areas with one pair have the same object. Without settings the pair `default` of all. */
export async function readPairs(settings: Settings | null, env: Environment, cwd: string): Promise<FoundPairs> {
  const nameOf = (area: Area) => settings?.service[area].credentials ?? 'default';
  const pairs = new Map<string, FoundCredentials>();
  for (const name of new Set(AREAS.map(nameOf))) pairs.set(name, await readCredentials(name, env, cwd));
  const all = [...pairs.values()];
  return {
    of: byArea((area) => pairs.get(nameOf(area))!),
    problems: all.flatMap(({ problems }) => problems),
    warnings: all.flatMap(({ warnings }) => warnings),
  };
}

/** The calls that the pipelines declare, with the versions filled in. */
export function callsOf({ service }: Settings, pipelines: readonly Pipeline[]): Calls {
  const all = AREAS.flatMap((area) => {
    const { version, ...sections } = service[area];
    return callsIn(pipelines, area).map(({ pipeline, key }) => [
      pipeline,
      filled((sections as Readonly<Record<string, unknown>>)[key], version),
    ]);
  });
  return Object.fromEntries(all) as Calls;
}

export function partnersOf(settings: Settings, calls: Calls, addresses: Addresses, pairs: FoundPairs): Partners {
  const { baseUrl, authUrl } = addresses;
  const noAddress = [
    ...(baseUrl === null ? ['PARTNER_BASE_URL'] : []),
    ...(authUrl === null ? ['PARTNER_AUTH_URL'] : []),
  ];
  return {
    partners: byArea((area) => {
      const { credentials } = pairs.of[area];
      if (baseUrl === null || authUrl === null || credentials === null) return null;
      return partnerSettings(settings, calls, trimAddress(baseUrl), trimAddress(authUrl), credentials);
    }),
    partnerMissing: byArea((area) => [...noAddress, ...pairs.of[area].missing]),
  };
}

function partnerSettings(
  { service }: Settings,
  calls: Calls,
  baseUrl: string,
  authUrl: string,
  credentials: Credentials,
): PartnerSettings {
  const { retailer, timeouts, retry, token, answerMiB } = service;
  const answerBytes = answerMiB * 2 ** 20;
  const { reductions, reductionsName, subscriptions, signatureKeys, testPush, processStatus, version } = retailer;
  const own = { reductions, reductionsName, subscriptions, signatureKeys, testPush, processStatus };
  return { baseUrl, authUrl, credentials, calls, retailer: filled(own, version), answerBytes, timeouts, retry, token };
}

/** The same with the version in place of every `{version}`. */
function filled<T>(value: T, version: string): T {
  if (typeof value === 'string') return value.replaceAll('{version}', version) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => filled(one, version)) as T;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filled(one, version)])) as T;
}

function byArea<T>(value: (area: Area) => T): Record<Area, T> {
  return { reports: value('reports'), catalog: value('catalog'), retailer: value('retailer') };
}
