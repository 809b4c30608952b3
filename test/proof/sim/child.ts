/**
 * A process of the program that does one order after the other, and dies at the crash point that the order aims at. Kept warm, because
 * starting takes longer than a night. A receiver ends with the message `stop`.
 */

import crypto from 'node:crypto';
import { existsSync, openSync, readdirSync, readlinkSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { NO_PROGRESS } from '../../../src/core/progress.ts';
import { ClockFile, SimulatedClock } from './clock.ts';
import { CrashPoints } from './crash-points.ts';
import { FileWatch } from './file-watch.ts';
import type { Ended, Order, Reply, Work } from './orders.ts';
import { Random } from './random.ts';
import { TokenWatch } from './token-watch.ts';

/** Pauses pass by themselves up to this; the timeouts of the settings are longer. */
const LONGEST_PAUSE_MS = 100_000;
/** Of a receiver: it must not close its connections because its patience passed by itself. */
const LONGEST_RECEIVER_PAUSE_MS = 1_000;
/** Of the machine's own time. */
const LONGEST_END_MS = 60_000;

const points = new CrashPoints();
const files = new FileWatch(points);
await files.install();
let random = new Random(1);
const realBytes = crypto.randomBytes;
crypto.randomBytes = ((count: number, ...rest: never[]) =>
  rest.length > 0
    ? (realBytes as (...args: unknown[]) => unknown)(count, ...rest)
    : random.bytes(count)) as typeof realBytes;
syncBuiltinESMExports();

// Only now, so that what it imports is watched.
const { openApp } = await import('../../../src/app.ts');
const { loadConfig } = await import('../../../src/config.ts');
const { runNight, runBackfill } = await import('../../../src/run/night.ts');
const { runRelease } = await import('../../../src/run/again.ts');
const { verify } = await import('../../../src/run/verify/verify.ts');
const { asEtlError, exitCodeOf } = await import('../../../src/core/errors.ts');
points.watchEngines();
const tokens = new TokenWatch();

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
// Whoever asked may be gone: nobody is to be told then.
const send = (reply: Reply) => void process.send?.(reply, undefined, {}, () => undefined);

async function carryOut(order: Order): Promise<void> {
  random = new Random(order.seed, `${order.part} bytes`);
  const chance = new Random(order.seed, `${order.part} pauses`);
  const descriptor = order.notes && openSync(order.notes.file, 'a');
  const home = order.env.PARTNER_ETL_HOME ?? '';
  files.note(descriptor === null ? null : { descriptor, home, attic: order.notes?.attic ?? '' });
  const file = new ClockFile(order.clockFile, order.writer);
  tokens.watch(file);
  const isReceiver = order.work.some(({ kind }) => kind === 'receive');
  const clock = new SimulatedClock(file, isReceiver ? LONGEST_RECEIVER_PAUSE_MS : LONGEST_PAUSE_MS);
  const config = await loadConfig({ env: order.env, cwd: home, packageRoot: order.packageRoot });
  points.arm(order.aim, descriptor);
  const step = (name: string, about: string) => {
    file.reach(file.now() + chance.int(0, 20_000));
    points.pass('step', `${name} ${about}`);
  };
  const surroundings = { config, clock, random: () => chance.next(), log: silent, progress: NO_PROGRESS };
  const open = () => openApp({ ...surroundings, signal: new AbortController().signal, step });
  const ended = await Promise.all(order.work.map((work) => doWork(work, open, config)));
  const { passed } = points;
  points.arm(null, null);
  files.note(null);
  const locksLeft = await locksAfterAll(home);
  const expiredTokens = tokens.watch(null);
  file.close();
  send({ kind: 'done', ended, passed, locksLeft, expiredTokens });
}

/**
 * What nobody waits for any more may take a moment to end, but whoever lives on, as `serve` does, must not keep what others wait
 * for. Known where the system tells of open files.
 */
async function locksAfterAll(home: string): Promise<string[]> {
  const untilMs = performance.now() + LONGEST_END_MS;
  for (;;) {
    const locks = openLocks(home);
    if (locks.length === 0 || performance.now() >= untilMs) return locks;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function openLocks(home: string): string[] {
  const folder = '/proc/self/fd';
  if (!existsSync(folder)) return [];
  const target = (descriptor: string) => {
    try {
      return readlinkSync(`${folder}/${descriptor}`);
    } catch {
      return ''; // Closed meanwhile.
    }
  };
  return readdirSync(folder)
    .map(target)
    .filter((file) => file.startsWith(home) && file.endsWith('.lock'));
}

type Open = () => ReturnType<typeof openApp>;

/** As the command line would: an error becomes its exit code. */
async function doWork(work: Work, open: Open, config: Awaited<ReturnType<typeof loadConfig>>): Promise<Ended> {
  try {
    const app = await open();
    try {
      return { kind: work.kind, ...(await done(work, app, config)) };
    } finally {
      await app.close();
    }
  } catch (thrown) {
    const error = asEtlError(thrown);
    return {
      kind: work.kind,
      exitCode: exitCodeOf(error),
      codes: [error.code],
      messages: [told(error)],
      isBug: error.kind === 'bug',
    };
  }
}

/** With the place where it was thrown, where nobody expected it. */
function told({ message, cause }: Error): string {
  return cause instanceof Error ? `${cause.stack}` : message;
}

type App = Awaited<ReturnType<Open>>;

async function done(
  work: Work,
  { context }: App,
  config: Awaited<ReturnType<typeof loadConfig>>,
): Promise<Omit<Ended, 'kind'>> {
  if (work.kind === 'verify') {
    const { differences } = await verify(context);
    const messages = differences.map(({ hop, pipeline, day, problem }) => `${hop} ${pipeline} ${day}: ${problem}`);
    return { exitCode: messages.length > 0 ? 1 : 0, codes: [], messages, isBug: false };
  }
  if (work.kind === 'receive') {
    const { startReceiving } = await import('../../../src/serve/receiver/receiving.ts');
    const { OpenParts } = await import('../../../src/serve/open-parts.ts');
    const parts = new OpenParts(silent);
    try {
      const { url } = await startReceiving(context, config.push, parts);
      send({ kind: 'receiving', url });
      await new Promise<void>((stop) => process.once('message', () => stop()));
    } finally {
      await parts.close();
    }
    return { exitCode: 0, codes: [], messages: [], isBug: false };
  }
  const outcome = await (work.kind === 'night'
    ? runNight(context, work.names)
    : work.kind === 'release'
      ? runRelease(context, work.name, work.day as never)
      : runBackfill(context, work.names, { from: work.from as never, to: work.to as never }, work.refetch));
  const { exitCode, errors } = outcome;
  const codes = errors.map(({ code }) => code);
  const messages = errors.map((error) => (error.code === 'unexpected' ? told(error) : error.message));
  return { exitCode, codes, messages, isBug: errors.some(({ kind }) => kind === 'bug') };
}

let busy = false;
process.on('message', (message: Order | 'stop') => {
  if (message === 'stop' || busy) return;
  busy = true;
  carryOut(message)
    .catch((error) => {
      process.stderr.write(`${error?.stack ?? error}\n`);
      process.exit(70);
    })
    .finally(() => {
      busy = false;
    });
});
process.on('disconnect', () => process.exit());
send({ kind: 'ready' });
