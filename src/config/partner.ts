/** What calls need, for each area of the service: addresses, endpoints with the version filled in, a pair of credentials. */
import { AREAS, type Area, type PartnerSettings } from '../partner/settings.ts';
import { trimAddress } from './address.ts';
import { type Credentials, type Environment, type FoundCredentials, readCredentials } from './environment.ts';
import type { Problem } from './problems.ts';
import type { Settings } from './schema.ts';

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

export function partnersOf(settings: Settings, addresses: Addresses, pairs: FoundPairs): Partners {
  const { baseUrl, authUrl } = addresses;
  const noAddress = [
    ...(baseUrl === null ? ['PARTNER_BASE_URL'] : []),
    ...(authUrl === null ? ['PARTNER_AUTH_URL'] : []),
  ];
  return {
    partners: byArea((area) => {
      const { credentials } = pairs.of[area];
      if (baseUrl === null || authUrl === null || credentials === null) return null;
      return partnerSettings(settings, trimAddress(baseUrl), trimAddress(authUrl), credentials);
    }),
    partnerMissing: byArea((area) => [...noAddress, ...pairs.of[area].missing]),
  };
}

function partnerSettings(
  { service }: Settings,
  baseUrl: string,
  authUrl: string,
  credentials: Credentials,
): PartnerSettings {
  const { reports, catalog, retailer, timeouts, retry, token } = service;
  const { commission, subscriptions, signatureKeys, testPush, processStatus } = retailer;
  const { version } = retailer;
  return {
    baseUrl,
    authUrl,
    credentials,
    reports: {
      promotions: filled(reports.promotions, reports.version),
      orders: filled(reports.orders, reports.version),
      commissions: filled(reports.commissions, reports.version),
    },
    catalog: { product: filled(catalog.product, catalog.version) },
    retailer: {
      commission: {
        budget: commission.budget,
        single: filled(commission.single, version),
        bulk: {
          ...filled(commission.bulk, version),
          contentType: fill(commission.bulk.contentType, version),
        },
      },
      reductions: filled(retailer.reductions, version),
      reductionsName: filled(retailer.reductionsName, version),
      subscriptions: {
        ...filled(subscriptions, version),
        itemPath: fill(subscriptions.itemPath, version),
        contentType: fill(subscriptions.contentType, version),
      },
      signatureKeys: filled(signatureKeys, version),
      testPush: filled(testPush, version),
      processStatus: filled(processStatus, version),
    },
    timeouts,
    retry,
    token,
  };
}

function filled<T extends { readonly path: string; readonly accept: string }>(call: T, version: string): T {
  return { ...call, path: fill(call.path, version), accept: fill(call.accept, version) };
}

function fill(text: string, version: string): string {
  return text.replaceAll('{version}', version);
}

function byArea<T>(value: (area: Area) => T): Record<Area, T> {
  return { reports: value('reports'), catalog: value('catalog'), retailer: value('retailer') };
}
