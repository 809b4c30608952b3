/**
 * What all rounds start from: the sandbox, a Postgres, a home directory with two targets, and states of these that can be kept
 * and put back. The world never changes while rounds run, so the same command leads from the same state to the same warehouse.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { stringify } from 'yaml';
import { type Sandbox, startSandbox } from '../../../../src/sandbox/sandbox.ts';
import { deliveryAt, layIn } from '../../../support/inbox.ts';
import type { Postgres } from '../../../support/postgres.ts';
import { type Ended, ended, type Program, start } from './program.ts';

const execute = promisify(execFile);

/** Three in the morning in Amsterdam. */
export const FIRST_NIGHT_MS = Date.parse('2026-03-20T02:00:00Z');
export const HOUR_MS = 3_600_000;
export const MINUTE_MS = 60_000;
const HOOK = 'https://hook.example.org/push';
const PLENTY = { calls: 1e9, seconds: 1 };
const DATABASE = 'kit';
/** No command needs so long; one that hangs is ended, and has failed. */
const LONGEST_MS = 15 * MINUTE_MS;

export interface RunOptions {
  readonly atMs: number;
  /** Ends it so long after its beginning, if it still lives. */
  readonly killAfterMs?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly fileLimitKiB?: number;
  /** Another program than the one with the command line. */
  readonly command?: readonly string[];
}

export class Scene {
  readonly folder: string;
  readonly home: string;
  readonly program: Program;
  readonly sandbox: Sandbox;
  readonly postgres: Postgres;
  readonly env: Readonly<Record<string, string>>;

  private constructor(folder: string, program: Program, sandbox: Sandbox, postgres: Postgres) {
    this.folder = folder;
    this.home = path.join(folder, 'home');
    this.program = program;
    this.sandbox = sandbox;
    this.postgres = postgres;
    this.env = {
      PARTNER_BASE_URL: sandbox.baseUrl,
      PARTNER_AUTH_URL: sandbox.authUrl,
      PARTNER_CLIENT_ID: sandbox.clientId,
      PARTNER_CLIENT_SECRET: sandbox.clientSecret,
      PARTNER_ETL_HOME: this.home,
      PARTNER_ETL_CONFIG: path.join(folder, 'settings.yaml'),
      PARTNER_ETL_POSTGRES_URL: this.databaseUrl,
    };
  }

  /** `install` makes the program, given a folder for it. */
  static async open(postgres: Postgres, install: (folder: string) => Program | Promise<Program>): Promise<Scene> {
    const folder = await mkdtemp(path.join(tmpdir(), 'etl-crash-'));
    try {
      const sandbox = await startSandbox({
        seed: 1,
        ordersPerDay: 50,
        now: () => Date.now(),
        seriesLength: 60,
        processSeconds: 0,
        limits: {
          calls: { product: PLENTY, commission: PLENTY, reductions: PLENTY, 'reductions-latest': PLENTY },
          tokens: { requests: 1e9, seconds: 1, banSeconds: 1 },
        },
      });
      const scene = new Scene(folder, await install(path.join(folder, 'program')), sandbox, postgres);
      await scene.prepare();
      return scene;
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  get databaseUrl(): string {
    const url = new URL(this.postgres.url);
    url.pathname = `/${DATABASE}`;
    return url.href;
  }

  async close(): Promise<void> {
    await this.sandbox.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Starts a command and waits for its end. */
  async run(words: readonly string[], options: RunOptions): Promise<Ended> {
    this.sandbox.setNow(options.atMs);
    const { killAfterMs, env, fileLimitKiB } = options;
    const child = await start([...(options.command ?? this.program.command), ...words], {
      cwd: this.folder,
      env: { ...this.env, ...env },
      atMs: options.atMs,
      ...(fileLimitKiB === undefined ? {} : { fileLimitKiB }),
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs ?? LONGEST_MS);
    try {
      return await ended(child);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Runs a command that must succeed. */
  async must(words: readonly string[], options: RunOptions, codes: readonly number[] = [0, 3]): Promise<Ended> {
    const end = await this.run(words, options);
    if (end.code !== null && codes.includes(end.code)) return end;
    throw new Error(`partner-etl ${words.join(' ')} ended with ${end.code ?? end.signal}:\n${end.stderr}`);
  }

  /** Keeps home directory and database under a name. */
  async keep(name: string): Promise<void> {
    await mkdir(path.join(this.folder, 'kept'), { recursive: true });
    await execute('cp', ['-a', this.home, this.kept(name)]);
    await this.administer(`CREATE DATABASE kept_${name} TEMPLATE ${DATABASE}`);
  }

  /** Puts back what was kept. `home` itself stays, since it may be a file system of its own. */
  async putBack(name: string): Promise<void> {
    await mkdir(this.home, { recursive: true });
    await execute('find', [this.home, '-mindepth', '1', '-delete']);
    await execute('cp', ['-a', `${this.kept(name)}/.`, this.home]);
    await this.administer(`DROP DATABASE IF EXISTS ${DATABASE} WITH (FORCE)`);
    await this.administer(`CREATE DATABASE ${DATABASE} TEMPLATE kept_${name}`);
  }

  kept(name: string): string {
    return path.join(this.folder, 'kept', name);
  }

  async administer(sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.postgres.url });
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  }

  /** Lays messages into the inbox, as the receiver does. */
  async deliver(atMs: number, bodies: readonly string[]): Promise<void> {
    const clock = { now: () => atMs, sleep: () => Promise.resolve() };
    await layIn(
      this.home,
      clock,
      bodies.map((body) => deliveryAt(atMs, body)),
    );
  }

  /** `first`: after a night with everything in it, and something new for every pipeline of the night to come. */
  private async prepare(): Promise<void> {
    const { sandbox } = this;
    const eans = sandbox.eans(12);
    await writeFile(path.join(this.folder, 'eans.csv'), `ean\n${eans.join('\n')}\n`);
    await this.writeSettings('settings.yaml', {});
    await this.writeSettings('pruning.yaml', { rawDays: 1, refusedDays: 1, runsDays: 1 });
    await mkdir(this.home, { recursive: true });
    await this.administer(`CREATE DATABASE ${DATABASE}`);
    const evening = FIRST_NIGHT_MS - 23 * HOUR_MS;
    const often = { endpoint: 'orders', times: 1e9 } as const;
    sandbox.addFault({ ...often, kind: 'conflicting-duplicate', item: 0 });
    sandbox.addFault({ ...often, kind: 'unknown-field', item: 1, field: 'note', json: '"new"' });
    sandbox.change({ kind: 'ean-known', ean: eans[5]!, known: false });
    const subscribing = ['subscriptions', 'create', HOOK, '--resources', 'PROCESS_STATUS,SHIPMENT'];
    await this.must(subscribing, { atMs: evening });
    for (const id of ['S-1', 'S-2']) sandbox.change({ kind: 'shipment', shipmentId: id });
    await this.deliver(
      evening,
      sandbox.pushes().map(({ body }) => body),
    );
    await this.must(['run'], { atMs: evening + HOUR_MS });
    const [row] = sandbox.truth('orders', '2026-03-18' as never, '2026-03-18' as never);
    const erasing = ['erase', '--sub-id', String(row?.subId), '--order-id', String(row?.orderId), '--yes'];
    await this.must(erasing, { atMs: evening + 2 * HOUR_MS });
    await this.must(['run'], { atMs: FIRST_NIGHT_MS });
    await this.changeTheWorld(eans);
    await this.keep('first');
  }

  private async changeTheWorld(eans: readonly string[]): Promise<void> {
    const { sandbox } = this;
    const atMs = FIRST_NIGHT_MS + HOUR_MS;
    sandbox.setNow(atMs);
    const [ean, other, third] = [eans[0]!, eans[1]!, eans[2]!];
    const day = { startDate: '2026-03-01', endDate: '2026-12-31' };
    const reductions = [{ maximumPrice: '9.25', costReduction: '1', ...day }];
    const [row] = sandbox.truth('orders', '2026-03-17' as never, '2026-03-17' as never);
    const item = { orderId: String(row?.orderId), orderItemId: String(row?.orderItemId) };
    sandbox.change({ kind: 'move-item', ...item, toDay: '2026-03-18' as never });
    sandbox.change({ kind: 'empty-day', report: 'promotions', day: '2026-03-19' as never });
    sandbox.change({ kind: 'commission-rate', ean, percentage: '7.5' });
    sandbox.change({ kind: 'commission-reductions', ean: other, reductions });
    sandbox.change({ kind: 'ean-known', ean: third, known: false });
    sandbox.change({ kind: 'product', ean, title: 'another title' });
    sandbox.change({ kind: 'product-offered', ean: other, country: 'NL', offered: false });
    sandbox.change({
      kind: 'reductions-lines',
      add: [{ ean, maximumPrice: '8.50', costReduction: '1', ...day }],
    });
    const before = sandbox.pushes().length;
    const subscribing = ['subscriptions', 'create', `${HOOK}/2`, '--resources', 'SHIPMENT', '--no-wait'];
    await this.must(subscribing, { atMs });
    for (const id of ['S-1', 'S-3']) sandbox.change({ kind: 'shipment', shipmentId: id });
    const made = sandbox.pushes().slice(before);
    await this.deliver(
      atMs + MINUTE_MS,
      made.map(({ body }) => body),
    );
  }

  private async writeSettings(name: string, retention: Readonly<Record<string, number>>): Promise<void> {
    const report = { lookbackDays: 4, windowDays: 2 };
    const budget = { calls: 1000, perSeconds: 1, concurrency: 2 };
    const settings = {
      service: {
        catalog: { product: { budget } },
        retailer: {
          commission: { budget, bulk: { eansPerRequest: 4 } },
          // Damaged, what was called counts as used up, and a run waits for so long.
          reductions: { budget: { calls: 8, perSeconds: 60, concurrency: 1 } },
          reductionsName: { budget: { calls: 8, perSeconds: 60, concurrency: 1 } },
        },
        retry: { tries: 3, baseMs: 50, longestMs: 200 },
      },
      eans: { file: path.join(this.folder, 'eans.csv'), query: null },
      pipelines: { promotions: report, orders: report, commissions: report, products: { refreshDays: 1 } },
      retention,
    };
    await writeFile(path.join(this.folder, name), stringify(settings, { aliasDuplicateObjects: false }));
  }
}
