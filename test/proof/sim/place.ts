/** Where a simulation lives: the service (in this process), a home directory on a file system in memory, settings, the time. */
import { existsSync, mkdirSync } from 'node:fs';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { makeDatabase } from '../../support/databases.ts';
import { ClockFile } from './clock.ts';
import { LOOKBACK_DAYS, type Scenario } from './scenario.ts';

export const DAY_MS = 86_400_000;
export const FIRST_MS = Date.parse('2026-03-20T02:00:00Z');
/** Small enough that the days of a small world are held. */
export const GUARD = { minRows: 6, keepRatio: 0.5 };
export const WEBHOOK = 'https://shop.example/push';
/** What is asked about by look-ups. */
const LOOKED_UP_EANS = 4;

export interface Place {
  readonly sandbox: Sandbox;
  readonly clock: ClockFile;
  readonly clockFile: string;
  readonly home: string;
  readonly warehouse: string;
  readonly notes: string;
  readonly attic: string;
  readonly env: Readonly<Record<string, string>>;
  readonly eans: readonly string[];
  readonly postgresUrl: string | null;
  close(): Promise<void>;
}

export interface PlaceOptions {
  /** Of a Postgres that gets a database for it; null: DuckDB is the target. */
  readonly serverUrl: string | null;
  /** The state lies in that database too, and the home on a volume that they share: every process is a host. */
  readonly isOfHosts: boolean;
  /** An empty DuckDB warehouse. */
  readonly template: string | null;
}

export async function openPlace(scenario: Scenario, options: PlaceOptions): Promise<Place> {
  const { serverUrl, isOfHosts, template } = options;
  const root = await mkdtemp(path.join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'etl-sim-'));
  const at = (name: string) => path.join(root, name);
  for (const name of ['home', 'attic']) mkdirSync(at(name));
  const clock = new ClockFile(at('clock'), 'service');
  clock.reach(FIRST_MS);
  const sandbox = await startSandbox({
    seed: scenario.seed,
    ordersPerDay: 9,
    now: () => clock.now(),
    seriesLength: 0,
    processSeconds: 0,
    gzip: scenario.seed % 2 === 0,
  });
  const eans = sandbox.eans(LOOKED_UP_EANS);
  await writeFile(at('home/eans.csv'), eans.map((ean, i) => `${ean}${i % 2 === 0 ? ',19.99' : ''}\n`).join(''));
  await writeFile(at('settings.yaml'), stringify(settingsOf(scenario, serverUrl), { aliasDuplicateObjects: false }));
  if (template !== null && serverUrl === null && !scenario.beginsBare)
    await copyFile(template, at('home/warehouse.duckdb'));
  const database = serverUrl === null ? null : await makeDatabase(serverUrl, path.basename(root));
  return {
    sandbox,
    clock,
    clockFile: at('clock'),
    home: at('home'),
    warehouse: at('home/warehouse.duckdb'),
    notes: at('notes'),
    attic: at('attic'),
    eans,
    postgresUrl: database?.url ?? null,
    env: {
      PARTNER_BASE_URL: sandbox.baseUrl,
      PARTNER_AUTH_URL: sandbox.authUrl,
      PARTNER_CLIENT_ID: sandbox.clientId,
      PARTNER_CLIENT_SECRET: sandbox.clientSecret,
      PARTNER_ETL_HOME: at('home'),
      PARTNER_ETL_CONFIG: at('settings.yaml'),
      ...(database === null ? {} : { PARTNER_ETL_POSTGRES_URL: database.url }),
      ...(database === null || !isOfHosts ? {} : { PARTNER_ETL_STATE_URL: database.url }),
    },
    close: async () => {
      await sandbox.close();
      clock.close();
      await rm(root, { recursive: true, force: true });
      await database?.drop();
    },
  };
}

function settingsOf({ reports, hasLookups, hasPushes }: Scenario, serverUrl: string | null) {
  const report = (name: string) => ({
    enabled: reports.includes(name),
    lookbackDays: LOOKBACK_DAYS,
    windowDays: 2,
  });
  const off = { enabled: false };
  return {
    service: {
      // Longer than every pause that passes by itself, so that they never strike.
      timeouts: { connectMs: 110_000, headersMs: 120_000, bodyMs: 130_000, totalMs: 3_000_000 },
      retry: { tries: 4, baseMs: 100, longestMs: 1000 },
    },
    eans: { file: 'eans.csv', query: null },
    pipelines: {
      promotions: report('promotions'),
      orders: report('orders'),
      commissions: report('commissions'),
      products: off,
      'commission-rates': { enabled: hasLookups, freshHours: 0 },
      reductions: { enabled: hasLookups },
      'push-messages': { enabled: hasPushes },
      subscriptions: off,
      'process-statuses': off,
      'push-links': off,
    },
    push: { port: 0 },
    targets: { duckdb: { enabled: serverUrl === null } },
    guards: { shrink: GUARD },
  };
}

/** Asks for a subscription to shipments as a person would beforehand, with a token of its own. */
export async function subscribe({ sandbox }: Place): Promise<void> {
  const basic = Buffer.from(`${sandbox.clientId}:${sandbox.clientSecret}`).toString('base64');
  const token = await fetch(`${sandbox.authUrl}/token?grant_type=client_credentials`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}`, accept: 'application/json' },
  });
  const { access_token: access } = (await token.json()) as { access_token: string };
  const type = 'application/vnd.retailer.v4+json';
  const answer = await fetch(`${sandbox.baseUrl}/retailer/subscriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access}`, accept: type, 'content-type': type },
    body: JSON.stringify({ resources: ['SHIPMENT'], url: WEBHOOK }),
  });
  if (answer.status !== 202) throw new Error(`the sandbox took no subscription: ${answer.status}`);
  sandbox.stats.reset();
}
