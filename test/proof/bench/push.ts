/**
 * The receiver of push messages: how many a second it proves, writes and syncs, how long a message waits for its answer, what a
 * forged one costs beside a true one, and whether its memory stays as it is under a flood.
 */
import { fork } from 'node:child_process';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import { loadConfig } from '../../../src/config.ts';
import { packageRoot, type Result } from './place.ts';
import type { ReceiverSeen, Told } from './push-receiver.ts';
import { type Sent, send } from './push-sender.ts';

const GOAL = 2000;
const FLOOD = 10 * GOAL;
const MOST_P99_MS = 250;
const SECONDS = 20;
/** Signed beforehand: signing costs ten times as much as checking. Each is sent again and again, fewer times than copies are kept. */
const MESSAGES = 4000;
const KEY_ID = '7';
/** A flood may not make the receiver larger by more than this. */
const GROWTH_MIB = 64;

export async function push(dir: string): Promise<Result[]> {
  const home = path.join(dir, 'push');
  await mkdir(home, { recursive: true });
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const receiver = await startReceiver(home, publicKey);
  const messages = Array.from({ length: MESSAGES }, (_, i) => requestOf(bodyOf(i), privateKey));
  const forged = messages.map((_, i) => requestOf(bodyOf(i), privateKey, bodyOf(i + 1)));
  try {
    await send(receiver.port, messages, { connections: 64, seconds: 2 }); // until everything is compiled
    return [
      await sustained(receiver, messages, home),
      await ceiling(receiver, messages),
      await forgeries(receiver, messages, forged),
      await flood(receiver, messages, forged),
    ];
  } finally {
    receiver.close();
  }
}

type Receiver = Awaited<ReturnType<typeof startReceiver>>;

async function sustained(receiver: Receiver, messages: readonly Buffer[], home: string): Promise<Result> {
  await receiver.seen();
  const sent = await send(receiver.port, messages, { connections: 64, seconds: SECONDS, perSecond: GOAL });
  const seen = await receiver.seen();
  const syncMs = await syncTime(home);
  const p99 = percentile(sent, 0.99);
  const others = otherThan(sent, 204);
  return {
    name: `${n(GOAL)} messages a second for ${SECONDS} s, each proved, synced and answered`,
    figure:
      `p50 ${ms(percentile(sent, 0.5))}, p99 ${ms(p99)}, the slowest ${ms(percentile(sent, 1))}; ${others} not answered 204; ` +
      `${Math.round(seen.cpuMs / sent.seconds / 10)} % of one core, ${seen.rssMiB} MiB`,
    limit: `one sync of 4 KiB on this disk: ${ms(syncMs)}`,
    ratio: percentile(sent, 0.5) / syncMs,
    target: `p99 < ${MOST_P99_MS} ms, all answered 204`,
    met: p99 < MOST_P99_MS && others === 0,
    raw: rawOf(sent, seen),
  };
}

async function ceiling(receiver: Receiver, messages: readonly Buffer[]): Promise<Result> {
  await receiver.seen();
  const sent = await send(receiver.port, messages, { connections: 256, seconds: 10 });
  const seen = await receiver.seen();
  const perSecond = (sent.statuses[204] ?? 0) / sent.seconds;
  return {
    name: 'as many messages as 256 connections bring',
    figure: `${n(perSecond)} a second, p99 ${ms(percentile(sent, 0.99))}`,
    ratio: (1000 * seen.accepted) / seen.cpuMs / perSecond,
    limit: `${n(1000 / (seen.cpuMs / seen.accepted))} a second by the receiver's CPU, which is one core's, the sender's beside it`,
    target: `≥ ${n(GOAL)}`,
    met: perSecond >= GOAL,
    raw: rawOf(sent, seen),
  };
}

async function forgeries(receiver: Receiver, messages: readonly Buffer[], forged: readonly Buffer[]): Promise<Result> {
  const cost = async (requests: readonly Buffer[], status: number) => {
    await receiver.seen();
    const sent = await send(receiver.port, requests, { connections: 64, seconds: 5 });
    const seen = await receiver.seen();
    return { sent, seen, us: (seen.cpuMs * 1000) / (sent.statuses[status] ?? Number.NaN) };
  };
  const good = await cost(messages, 204);
  const bad = await cost(forged, 401);
  return {
    name: 'a forged message beside a true one',
    figure: `${Math.round(bad.us)} µs of CPU to refuse, ${Math.round(good.us)} µs to accept; ${n(rate(bad.sent, 401))} refused a second`,
    ratio: bad.us / good.us,
    limit: `${n(rate(good.sent, 204))} accepted a second over the same 64 connections`,
    target: 'cheaper to refuse',
    met: bad.us < good.us,
    raw: { refuseUs: bad.us, limitUs: good.us, ...rawOf(bad.sent, bad.seen) },
  };
}

/** True and forged messages, ten times the goal, for as long as the steady load; what no connection is free for waits for one. */
async function flood(receiver: Receiver, messages: readonly Buffer[], forged: readonly Buffer[]): Promise<Result> {
  const before = await receiver.seen();
  const mixed = messages.flatMap((message, i) => [message, ...Array.from({ length: 3 }, () => forged[i]!)]);
  const sent = await send(receiver.port, mixed, { connections: 512, seconds: SECONDS, perSecond: FLOOD });
  const seen = await receiver.seen();
  const grown = seen.peakMiB - before.peakMiB;
  const answered = Object.values(sent.statuses).reduce((a, b) => a + b, 0);
  const unexpected = otherThan(sent, 204, 401, 503);
  return {
    name: `a flood: ${n(FLOOD)} messages a second for ${SECONDS} s, three of four forged`,
    figure:
      `${n(answered / sent.seconds)} answered a second, ${n(sent.statuses[204] ?? 0)} accepted, ${n(sent.statuses[503] ?? 0)} told to come ` +
      `again later, ${unexpected} anything else; ${seen.peakMiB} MiB at most, ${grown} more than before`,
    limit: `${before.peakMiB} MiB at most before it`,
    target: `≤ ${GROWTH_MIB} MiB more, no connection lost`,
    met: grown <= GROWTH_MIB && unexpected === 0,
    raw: rawOf(sent, seen),
  };
}

async function startReceiver(home: string, publicKey: KeyObject) {
  const { push: settings } = await loadConfig({ env: { PARTNER_ETL_HOME: home }, cwd: home, packageRoot });
  const told: Told = {
    home,
    settings: { ...settings, port: 0, copiesKept: 1_000_000 },
    keyId: KEY_ID,
    publicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
  };
  const child = fork(path.join(import.meta.dirname, 'push-receiver.js'), [JSON.stringify(told)]);
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  return {
    port: Number(new URL(url).port),
    /** What it has seen; its CPU since it was asked last. */
    seen: async (): Promise<ReceiverSeen> => {
      child.send({});
      return ((await once(child, 'message')) as [ReceiverSeen])[0];
    },
    close: () => child.disconnect(),
  };
}

function bodyOf(i: number): Buffer {
  const timestamp = new Date().toISOString();
  const links = [{ method: 'GET', href: `https://api.example/retailer/shipments/${i}` }];
  const metadata = [{ key: 'transportId', value: String(900_000 + i) }];
  const event = { resource: 'SHIPMENT', type: 'UPDATE_TRANSPORT_EVENT', resourceId: String(i), metadata, links };
  return Buffer.from(JSON.stringify({ retailerId: 1234567, timestamp, event }));
}

/** A request with the signature of `signed`, which is the body where nothing is forged. */
function requestOf(body: Buffer, privateKey: KeyObject, signed = body): Buffer {
  const signature = sign('RSA-SHA256', signed, privateKey).toString('base64');
  const head = [
    'POST /push HTTP/1.1',
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    `Signature: keyId=${KEY_ID}, algorithm="rsa-sha256", signature=${signature}`,
    `Content-Length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
}

/** Milliseconds of a write and a sync of 4 KiB, the middle one of 100. */
async function syncTime(home: string): Promise<number> {
  const file = await open(path.join(home, 'sync'), 'w');
  const times: number[] = [];
  for (let i = 0; i < 100; i++) {
    const started = performance.now();
    await file.write(Buffer.alloc(4096, i));
    await file.datasync();
    times.push(performance.now() - started);
  }
  await file.close();
  return times.sort((a, b) => a - b)[50]!;
}

function percentile({ latenciesMs }: Sent, part: number): number {
  return latenciesMs[Math.min(latenciesMs.length - 1, Math.floor(latenciesMs.length * part))] ?? Number.NaN;
}

function otherThan({ statuses }: Sent, ...expected: number[]): number {
  return Object.entries(statuses).reduce(
    (sum, [status, count]) => sum + (expected.includes(Number(status)) ? 0 : count),
    0,
  );
}

function rate({ statuses, seconds }: Sent, status: number): number {
  return (statuses[status] ?? 0) / seconds;
}

function rawOf(sent: Sent, seen: ReceiverSeen): Record<string, number> {
  const statuses = Object.entries(sent.statuses).map(([status, count]) => [`status${status}`, count]);
  const [p50Ms, p99Ms] = [percentile(sent, 0.5), percentile(sent, 0.99)];
  return { ...Object.fromEntries(statuses), seconds: sent.seconds, p50Ms, p99Ms, ...seen };
}

const n = (value: number): string => Math.round(value).toLocaleString('en-US');
const ms = (value: number): string => `${value.toFixed(1)} ms`;
