/**
 * Messages under kill -9 of the receiver and of the runs that drain the inbox, at random moments, while the service tries again: in
 * the end every message that was answered 2xx is in both targets exactly once, and nothing that was never sent.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { STEPS, type Step } from '../../src/run/context.ts';
import { verify } from '../../src/run/verify.ts';
import { rowsOf } from '../support/lookups.ts';
import { openWorld, type World } from '../support/nights.ts';
import { type Database, freshDatabase } from '../support/postgres-database.ts';
import { nightKilledAt } from './killed-night.ts';

const ROUNDS = 7;
const MESSAGES_A_ROUND = 60;
const MINUTE_MS = 60_000;
const WEBHOOK = 'https://shop.example/push';

let database: Database;
let world: World;
let port: number;
/** Between 0 and 1; the same sequence in every run of this test. */
let seed = 20261121;
const random = () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

beforeAll(async () => {
  database = await freshDatabase();
  port = await freePort();
  world = await openWorld({
    // Messages are stamped by the sandbox's clock, deliveries by the receiver's, which is the real one.
    today: new Date().toISOString().slice(0, 10) as never,
    postgresUrl: database.url,
    // Runs are started by the test, not by a schedule.
    settings: { push: { port, sealSeconds: 1 }, serve: { schedule: false, port: 0 } },
    sandbox: { pushRoutes: [{ from: WEBHOOK, to: `http://127.0.0.1:${port}/push` }], processSeconds: 0 },
  });
  world.sandbox.setNow(Date.now());
  await subscribe();
});
afterAll(async () => {
  await world?.close();
  await database?.drop();
});

it('no message that was answered is lost, and none is there twice', async () => {
  const { sandbox } = world;
  let receiver = await startReceiver();
  const killed: unknown[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    sandbox.addFault({ endpoint: 'push', kind: 'copies', copies: 3, times: 5, after: 7 });
    sandbox.addFault({ endpoint: 'push', kind: 'lose-answer', times: 4, after: 11 });
    sandbox.change({ kind: 'shipment', count: MESSAGES_A_ROUND });
    const delivered = sandbox.deliverDue({ concurrency: 8 });
    await new Promise((resolve) => setTimeout(resolve, random() * 120));
    killed.push(await kill(receiver));
    await delivered;
    if (round % 2 === 1) {
      const step = STEPS[Math.floor(random() * STEPS.length)] as Step;
      await nightKilledAt(world, { step, names: ['push-messages'] });
      world.clock.set(world.clock.now() + 1000);
    }
    receiver = await startReceiver();
    sandbox.setNow(Date.now() + round * 3 * MINUTE_MS);
    await sandbox.deliverDue({ concurrency: 8 });
  }
  for (let minutes = 0; minutes <= 20; minutes += 1) {
    sandbox.setNow(Date.now() + (ROUNDS * 3 + minutes) * MINUTE_MS);
    await sandbox.deliverDue({ concurrency: 8 });
  }
  expect(killed).toEqual(Array.from({ length: ROUNDS }, () => 'SIGKILL'));
  receiver.kill('SIGTERM');
  expect(await once(receiver, 'exit')).toEqual([0, null]);

  expect((await world.night({ names: ['push-messages'] })).exitCode).toBe(0);
  const truth = sandbox.pushTruth().filter(({ resource }) => resource === 'SHIPMENT');
  expect(truth).toHaveLength(ROUNDS * MESSAGES_A_ROUND);
  const failed = truth.reduce((sum, { attempts, accepted }) => sum + attempts - accepted, 0);
  expect(failed).toBeGreaterThan(ROUNDS); // or nothing was killed at work
  // While the receiver lives most of the time, nothing runs out of its retries.
  expect(truth.map(({ state }) => state).filter((state) => state !== 'delivered')).toEqual([]);
  const expected = truth.map(({ resourceId, accepted }) => ({ resourceId, accepted })).sort(byId);
  for (const target of ['duckdb', 'postgres'] as const) {
    const rows = await rowsOf(
      world,
      `SELECT resource_id, deliveries FROM warehouse.fact_push_message WHERE resource = 'SHIPMENT' AND retailer_id = '1234567' ORDER BY 1, "timestamp"`,
      target,
    );
    const found = rows
      .map((row) => row.split(' '))
      .map(([id, deliveries]) => ({ resourceId: id!, deliveries: Number(deliveries) }))
      .sort(byId);
    expect(found.map(({ resourceId }) => resourceId)).toEqual(expected.map(({ resourceId }) => resourceId));
    // What was answered when the receiver died may have been written without the service knowing; never the other way round.
    expect(found.filter(({ deliveries }, i) => deliveries < expected[i]!.accepted)).toEqual([]);
    expect(
      await rowsOf(
        world,
        'SELECT sum(deliveries) - (SELECT count(*) FROM warehouse.push_delivery) FROM warehouse.fact_push_message',
        target,
      ),
    ).toEqual(['0']);
  }
  expect((await world.within(verify)).differences).toEqual([]);
}, 180_000);

const byId = (a: { resourceId: string }, b: { resourceId: string }) => (a.resourceId < b.resourceId ? -1 : 1);

/** The built program's `serve`; resolves when it takes messages. */
async function startReceiver(): Promise<ChildProcess> {
  const main = path.join(inject('build'), 'src', 'main.js');
  const child = spawn(process.execPath, [main, 'serve', '--json'], {
    cwd: world.home,
    env: { PATH: process.env.PATH, ...world.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stderr.on('data', (text: Buffer) => void appendFile(path.join(world.home, 'serve.log'), text));
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`serve ended with ${code}`);
  });
  ended.catch(() => undefined);
  await Promise.race([once(child.stdout, 'data'), ended]);
  return child;
}

async function kill(child: ChildProcess): Promise<unknown> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  const [, signal] = await gone;
  return signal;
}

async function subscribe(): Promise<void> {
  const { sandbox } = world;
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
  expect(answer.status).toBe(202);
  await sandbox.deliverDue();
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port: free } = server.address() as { port: number };
      server.close(() => resolve(free));
    });
  });
}
