import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { sql } from 'kysely';
import { parseDay } from '../../src/core/days.ts';
import { asEtlError, type EtlError } from '../../src/core/errors.ts';
import { type HomePaths, homePaths } from '../../src/core/home.ts';
import type { Log } from '../../src/core/log.ts';
import type { CallWait } from '../../src/core/progress.ts';
import type { FetchRecord } from '../../src/core/records.ts';
import { type Answer, type Call, type Consumed, PartnerClient } from '../../src/partner/client.ts';
import { Pacing } from '../../src/partner/pacing/pacing.ts';
import type { Calls, PartnerSettings } from '../../src/partner/settings.ts';
import { pairOf } from '../../src/partner/token/circuit.ts';
import { CachedTokenSource } from '../../src/partner/token/token.ts';
import { openSqliteState } from '../../src/store/sqlite/state.ts';
import type { State } from '../../src/store/state.ts';
import { type Circuit, readTokenRow } from '../../src/store/tables/token.ts';
import { FakeClock } from '../support/clock.ts';
import { ScriptedService } from './scripted-service.ts';

export const SECRET = 's3cr3t/Wq+9kZ=pT';
const CLIENT_ID = 'client-4711';

const WIDE = { calls: 1000, perSeconds: 1, concurrency: 8 };

/** Sleeps up to this pass by themselves; guards are longer. */
export const PASSING_MS = 7_200_000;
const GUARD_MS = 100_000_000;

/** A log that remembers, as text, everything that a careless writer of logs could print. */
export class RecordingLog implements Log {
  readonly lines: string[] = [];
  debug = (message: string, fields?: Record<string, unknown>) => this.add('debug', message, fields);
  info = (message: string, fields?: Record<string, unknown>) => this.add('info', message, fields);
  warn = (message: string, fields?: Record<string, unknown>) => this.add('warn', message, fields);
  error = (message: string, fields?: Record<string, unknown>) => this.add('error', message, fields);

  of(level: string): string[] {
    return this.lines.filter((line) => line.startsWith(level));
  }

  private add(level: string, message: string, fields?: Record<string, unknown>): void {
    this.lines.push(`${level} ${message} ${inspect(fields, { depth: 10 })}`);
  }
}

type Overrides = { readonly [K in 'timeouts' | 'retry' | 'token' | 'credentials']?: Partial<PartnerSettings[K]> } & {
  readonly baseUrl?: string;
};

/** A service, a home folder, a clock and a log, and everything of the partner stage over them. */
export class Scene {
  readonly clock = new FakeClock().passUpTo(PASSING_MS);
  readonly log = new RecordingLog();
  readonly records: FetchRecord[] = [];
  /** What was told of waiting for a turn. */
  readonly waits: CallWait[] = [];
  readonly service: ScriptedService;
  readonly home: HomePaths;
  readonly state: State;
  private readonly clients: PartnerClient[] = [];

  private constructor(service: (clock: FakeClock) => ScriptedService, home: HomePaths, state: State) {
    this.service = service(this.clock);
    this.home = home;
    this.state = state;
  }

  static async open(): Promise<Scene> {
    const home = homePaths(await mkdtemp(path.join(tmpdir(), 'partner-stage-')));
    const state = await openSqliteState(home.database);
    await sql`PRAGMA synchronous = OFF`.execute(state.db); // here nobody pulls the plug
    let now = () => 0;
    const service = await ScriptedService.start(() => now());
    return new Scene(
      (clock) => {
        now = () => clock.now();
        return service;
      },
      home,
      state,
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close()));
    await this.service.close();
    await this.state.close();
    await rm(this.home.root, { recursive: true, force: true, maxRetries: 5 });
  }

  settings(overrides: Overrides = {}): PartnerSettings {
    const report = (name: string) => ({
      path: `/reports/v2/${name}-report`,
      accept: 'application/json',
      startParameter: 'startDate',
      endParameter: 'endDate',
      budget: WIDE,
    });
    return {
      baseUrl: overrides.baseUrl ?? `${this.service.origin}/api`,
      authUrl: `${this.service.origin}/auth`,
      credentials: { clientId: CLIENT_ID, clientSecret: SECRET, ...overrides.credentials },
      calls: {
        promotions: report('promotion'),
        orders: report('order'),
        commissions: report('commission'),
        products: {
          path: '/catalog/v1/products/{ean}',
          accept: 'application/json',
          countryParameter: 'country-code',
          budget: WIDE,
        },
        'commission-rates': {
          budget: WIDE,
          single: {
            path: '/retailer/commission/{ean}',
            accept: 'application/vnd.retailer.v4+json',
            conditionParameter: 'condition',
            priceParameter: 'unit-price',
          },
          bulk: {
            path: '/retailer/commission',
            accept: 'application/vnd.retailer.v4+json',
            contentType: 'application/vnd.retailer.v4+json; charset=utf-8',
            priceField: 'unitPrice',
            eansPerRequest: 3,
          },
        },
      } as Calls,
      retailer: {
        reductions: { path: '/retailer/reductions', accept: 'application/vnd.retailer.v4+csv', budget: WIDE },
        reductionsName: {
          path: '/retailer/reductions/latest',
          accept: 'application/vnd.retailer.v4+csv',
          budget: WIDE,
        },
        subscriptions: {
          path: '/retailer/subscriptions',
          itemPath: '/retailer/subscriptions/{id}',
          accept: 'application/vnd.retailer.v4+json',
          contentType: 'application/vnd.retailer.v4+json',
          budget: WIDE,
        },
        signatureKeys: {
          path: '/retailer/subscriptions/signature-keys',
          accept: 'application/vnd.retailer.v4+json',
          budget: WIDE,
        },
        testPush: {
          path: '/retailer/subscriptions/test',
          accept: 'application/vnd.retailer.v4+json',
          budget: WIDE,
        },
        processStatus: {
          path: '/retailer/process-status/{id}',
          accept: 'application/vnd.retailer.v4+json',
          budget: WIDE,
        },
      },
      answerBytes: 2 ** 30,
      timeouts: {
        connectMs: GUARD_MS,
        headersMs: GUARD_MS,
        bodyMs: GUARD_MS,
        totalMs: GUARD_MS,
        ...overrides.timeouts,
      },
      retry: { tries: 4, baseMs: 1000, longestMs: 60_000, ...overrides.retry },
      token: { path: '/token', renewBeforeSeconds: 30, circuitMinutes: 60, mostPerHour: 20, ...overrides.token },
    };
  }

  /** A token source with nothing in memory, as a new process has one. */
  tokens(overrides: Overrides = {}): CachedTokenSource {
    const { state, clock, log } = this;
    return new CachedTokenSource({ settings: this.settings(overrides), state, clock, log, random: () => 0.5 });
  }

  client(overrides: Overrides = {}): PartnerClient {
    const { state, clock, log } = this;
    const client = new PartnerClient({
      settings: this.settings(overrides),
      token: this.tokens(overrides),
      clock,
      log,
      random: () => 0.5,
      runId: 'r0000000000000000',
      onFetch: (record) => void this.records.push(record),
      pacing: new Pacing({ state, clock, log, onWait: (wait) => void this.waits.push(wait) }),
    });
    this.clients.push(client);
    return client;
  }

  /** What the state has of the token and its circuit. */
  circuit(overrides: Overrides = {}): Promise<Circuit | null> {
    return readTokenRow(this.state.db, pairOf(this.settings(overrides)));
  }

  /** The text of every file under the home folder, by name. */
  async texts(): Promise<Map<string, string>> {
    const entries = await readdir(this.home.root, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
    return new Map(await Promise.all(files.map(async (file) => [file, await readFile(file, 'latin1')] as const)));
  }
}

/** Takes the body in as text. */
export async function asText({ body, inspect }: Answer): Promise<Consumed<string>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  inspect(bytes);
  return { value: bytes.toString(), bytesDecoded: bytes.length, sha256: 'feed', rawPath: 'raw/x', items: 0 };
}

export function textCall(more: Partial<Call<string>> = {}): Call<string> {
  return {
    endpoint: 'things',
    budget: { calls: 1000, perSeconds: 1, concurrency: 8 },
    method: 'GET',
    path: '/things',
    about: { pipeline: 'orders', windowFrom: parseDay('2026-02-01'), windowTo: parseDay('2026-02-07') },
    consume: asText,
    ...more,
  };
}

/** The error that a promise ends with. */
export async function errorOf(work: Promise<unknown>): Promise<EtlError> {
  let value: unknown;
  try {
    value = await work;
  } catch (error) {
    return asEtlError(error);
  }
  throw new Error(`it went well: ${inspect(value)}`);
}

/** `kind/code` of the error that a promise ends with. */
export async function endOf(work: Promise<unknown>): Promise<string> {
  const { kind, code } = await errorOf(work);
  return `${kind}/${code}`;
}
