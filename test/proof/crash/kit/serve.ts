/**
 * `serve` under pushes: the receiver and the runs that drain the inbox are killed at random moments while the service tries again.
 * In the end every message that was answered 2xx is in both targets exactly once, and nothing that was never sent.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import pg from 'pg';
import { parse, stringify } from 'yaml';
import { type Sandbox, startSandbox } from '../../../../src/sandbox/sandbox.ts';
import { freePort } from '../../../support/postgres.ts';
import { start } from './program.ts';
import { type Random, seeded } from './random.ts';
import { MINUTE_MS } from './scene.ts';
import { type Kind, NIGHT, type Round, SECOND_NIGHT_MS, type Stage } from './stage.ts';

const WEBHOOK = 'https://shop.example/push';
const MESSAGES_A_KILL = 60;
const KILLS = 3;
/** The service tries again after 1, 2, 4 and 8 minutes. */
const RETRY_MINUTES = 20;
const RUN = ['run', 'push-messages'];

export const killedServe: Kind = {
  name: 'kill-serve',
  rounds: 20,
  async round(stage, seed): Promise<Round> {
    await stage.begin(NIGHT);
    const port = await freePort();
    const sandbox = await startSandbox({
      seed: 2,
      ordersPerDay: 50,
      now: () => Date.now(),
      processSeconds: 0,
      pushRoutes: [{ from: WEBHOOK, to: `http://127.0.0.1:${port}/push` }],
    });
    try {
      const service = new Service(stage, sandbox, port);
      await service.prepare();
      const kills = await service.killedWhileDelivering(seeded(seed));
      await service.deliverTheRest();
      const wrong = await service.differences();
      const note = `killed ${kills} times`;
      return wrong.length === 0
        ? { verdict: 'equal', note }
        : { verdict: 'failed', note: `${note}:\n${wrong.slice(0, 12).join('\n')}` };
    } finally {
      await sandbox.close();
    }
  },
};

/** The receiver and its service; both live in the second night, minutes pass when they are told to. */
class Service {
  private readonly stage: Stage;
  private readonly sandbox: Sandbox;
  private readonly port: number;
  private env: Readonly<Record<string, string>> = {};
  private nowMs = SECOND_NIGHT_MS;

  constructor(stage: Stage, sandbox: Sandbox, port: number) {
    this.stage = stage;
    this.sandbox = sandbox;
    this.port = port;
  }

  async prepare(): Promise<void> {
    const { scene } = this.stage;
    const settings = parse(await readFile(path.join(scene.folder, 'settings.yaml'), 'utf8')) as object;
    const file = path.join(scene.folder, 'serve.yaml');
    const receiving = { push: { port: this.port }, serve: { schedule: false, port: 0 } };
    await writeFile(file, stringify({ ...settings, ...receiving }));
    this.env = {
      PARTNER_BASE_URL: this.sandbox.baseUrl,
      PARTNER_AUTH_URL: this.sandbox.authUrl,
      PARTNER_CLIENT_ID: this.sandbox.clientId,
      PARTNER_CLIENT_SECRET: this.sandbox.clientSecret,
      PARTNER_ETL_CONFIG: file,
    };
    this.pass(0);
    await scene.must(['subscriptions', 'create', WEBHOOK, '--resources', 'SHIPMENT'], this.options());
    this.pass(1);
  }

  /** Kills the receiver in the middle of deliveries, and every second time a run that drains; returns how often. */
  async killedWhileDelivering(random: Random): Promise<number> {
    const { scene } = this.stage;
    let kills = 0;
    for (let i = 0; i < KILLS; i++) {
      const receiver = await this.startReceiver();
      this.sandbox.addFault({ endpoint: 'push', kind: 'copies', copies: 3, times: 5, after: 7 });
      this.sandbox.addFault({ endpoint: 'push', kind: 'lose-answer', times: 4, after: 11 });
      this.sandbox.change({ kind: 'shipment', count: MESSAGES_A_KILL });
      const delivered = this.sandbox.deliverDue({ concurrency: 8 });
      await new Promise((resolve) => setTimeout(resolve, random.between(0, 300)));
      await killed(receiver);
      kills += 1;
      await delivered;
      if (i % 2 === 1) {
        const run = await scene.run(RUN, { ...this.options(), killAfterMs: Math.round(random.between(300, 4000)) });
        if (run.signal !== null) kills += 1;
      }
      this.pass(3);
    }
    return kills;
  }

  async deliverTheRest(): Promise<void> {
    const { scene } = this.stage;
    const receiver = await this.startReceiver();
    try {
      for (let minute = 0; minute <= RETRY_MINUTES; minute++) {
        this.pass(1);
        await this.sandbox.deliverDue({ concurrency: 8 });
      }
    } finally {
      receiver.kill('SIGTERM');
      await once(receiver, 'exit');
    }
    await scene.must(RUN, this.options());
  }

  /** What the targets say that the service does not, and the other way round. */
  async differences(): Promise<string[]> {
    const { scene } = this.stage;
    const truth = this.sandbox.pushTruth().filter(({ resource }) => resource === 'SHIPMENT');
    const sent = new Map(truth.map((one) => [one.resourceId, one]));
    const lost = truth
      .filter(({ state }) => state !== 'delivered')
      .map(({ resourceId }) => `${resourceId} ran out of retries`);
    const wrong = [...lost];
    if (truth.length !== KILLS * MESSAGES_A_KILL) wrong.push(`${truth.length} messages were sent`);
    for (const [target, rows] of Object.entries(await messages(scene.home, scene.databaseUrl))) {
      const found = new Map(rows.map(([id, deliveries]) => [String(id), Number(deliveries)]));
      const ours = rows.filter(([id]) => sent.has(String(id)));
      if (ours.length !== sent.size) wrong.push(`${target}: ${ours.length} messages, ${sent.size} were sent`);
      // What was answered when the receiver died may have been written without the service knowing; never the other way round.
      for (const [id, { accepted }] of sent)
        if ((found.get(id) ?? 0) < accepted)
          wrong.push(`${target}: ${id} was accepted ${accepted} times, ${found.get(id) ?? 0} are there`);
    }
    const unproved = await this.stage.verified(this.nowMs + MINUTE_MS);
    return unproved === null ? wrong : [...wrong, unproved];
  }

  private pass(minutes: number): void {
    this.nowMs += minutes * MINUTE_MS;
    this.sandbox.setNow(this.nowMs);
  }

  private options() {
    return { atMs: this.nowMs, env: this.env };
  }

  /** Resolves when it takes messages. */
  private async startReceiver(): Promise<ChildProcess> {
    const { program, folder, env } = this.stage.scene;
    const child = await start([...program.command, 'serve', '--json'], {
      cwd: folder,
      env: { ...env, ...this.env },
      atMs: this.nowMs,
    });
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-2000);
    });
    const gone = once(child, 'exit').then(([code]) => {
      throw new Error(`serve ended with ${code}: ${said}`);
    });
    gone.catch(() => undefined);
    await Promise.race([once(child.stdout!, 'data'), gone]);
    return child;
  }
}

async function killed(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

const MESSAGES = `SELECT resource_id, deliveries FROM warehouse.fact_push_message WHERE resource = 'SHIPMENT'`;

async function messages(home: string, connectionString: string): Promise<Record<string, unknown[][]>> {
  const file = path.join(home, 'warehouse.duckdb');
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY', threads: '1' });
  const connection = await instance.connect();
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const duckdb = (await connection.runAndReadAll(MESSAGES)).getRows() as unknown[][];
    const { rows } = await client.query({ text: MESSAGES, rowMode: 'array' });
    return { duckdb, postgres: rows as unknown[][] };
  } finally {
    connection.closeSync();
    instance.closeSync();
    await client.end();
  }
}
