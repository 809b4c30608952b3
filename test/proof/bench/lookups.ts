/**
 * Look-ups: a list of EANs asked at the service's limit, the same again when nothing has changed, and what we would reach if the
 * service had a far higher limit. The service is the sandbox in a process of its own, over real HTTP, by the real clock.
 */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { startPostgres } from '../../support/postgres.ts';
import type { Night } from './lookups-night.ts';
import type { SandboxTold, Seen } from './lookups-sandbox.ts';
import { inProcess, type Result } from './place.ts';

/** Ten minutes past midnight where the service is: what it says hangs on its day, so it says the same until the evening. */
const START = Date.parse('2026-03-19T23:10:00Z');
/** Longer than answers count as fresh. */
const LATER_MS = 22 * 3_600_000;

const LIMIT = 28;
const EANS = 100_000;
const HIGH_LIMIT = 2000;
const MANY_EANS = 1_000_000;
const MOST_MIB = 700;
/** After so long the first of two hosts is killed. */
const KILLED_AFTER_MS = 15_000;

export async function lookups(dir: string): Promise<Result[]> {
  return [...(await atTheLimit(dir)), await overTwoHosts(dir), await atAHigherLimit(dir)];
}

async function atTheLimit(dir: string): Promise<Result[]> {
  const home = path.join(dir, 'rates');
  const service = await serve(home, { eans: EANS, gzip: true }, '');
  try {
    const first = await service.night(0);
    const before = await identityOf(path.join(home, 'warehouse.duckdb'));
    const again = await service.night(LATER_MS);
    const nothing = await service.night(LATER_MS);
    const isTouched = (await identityOf(path.join(home, 'warehouse.duckdb'))) !== before;
    return [firstNight(first), unchangedNights(again, nothing, isTouched)];
  } finally {
    service.close();
  }
}

/** The state in Postgres: the host that begins is killed, and another one goes on at once. */
async function overTwoHosts(dir: string): Promise<Result> {
  const server = await startPostgres();
  const home = path.join(dir, 'hosts');
  const service = await serve(home, { eans: EANS, gzip: true }, '', { PARTNER_ETL_STATE_URL: server.url });
  try {
    const { night, seen } = await service.night(0, KILLED_AFTER_MS);
    const utilisation = utilisationOf(seen, LIMIT);
    const again = seen.calls - EANS / 100;
    return {
      name: `commission of ${n(EANS)} EANs over two hosts, of which the first is killed after ${seconds(KILLED_AFTER_MS)}`,
      figure:
        `${n(seen.calls)} calls in ${seconds(seen.spanMs)}, ${percent(utilisation)} of what is allowed, ${seen.tooMany} answered 429; ` +
        `${n(again)} of them made twice, ${n(night.rows)} rows`,
      limit: `${seconds(bestMs(seen.calls, LIMIT))} from the first call to the last, by the service's budget`,
      ratio: 1 / utilisation,
      target: 'no 429, every EAN; what a killed host may still have sent counts for ten seconds',
      met: seen.tooMany === 0 && night.rows === EANS,
      raw: rawOf({ night, seen }),
    };
  } finally {
    service.close();
    await server.stop();
  }
}

function firstNight({ night, seen }: Asked): Result {
  const utilisation = utilisationOf(seen, LIMIT);
  return {
    name: `commission of ${n(EANS)} EANs at ${LIMIT} calls a second`,
    figure:
      `${n(seen.calls)} calls in ${seconds(seen.spanMs)}, ${percent(utilisation)} of what is allowed, ${seen.tooMany} answered 429; ` +
      `the whole night ${seconds(night.wallMs)} (${seconds(night.cpuMs)} of CPU), ${night.peakMiB} MiB at most`,
    limit: `${seconds(bestMs(seen.calls, LIMIT))} from the first call to the last, by the service's budget`,
    ratio: 1 / utilisation,
    target: `≥ 95 %, no 429, ≤ ${MOST_MIB} MiB`,
    met: utilisation >= 0.95 && seen.tooMany === 0 && night.peakMiB <= MOST_MIB,
    raw: rawOf({ night, seen }),
  };
}

function unchangedNights(again: Asked, nothing: Asked, isTouched: boolean): Result {
  const changed = again.night.changed + nothing.night.changed;
  return {
    name: `the same ${n(EANS)} EANs again, nothing changed; and a run right after it, which asks nothing`,
    figure:
      `${seconds(again.night.cpuMs)} of CPU beside ${seconds(again.seen.spanMs)} of asking; then ${nothing.night.wallMs} ms; ` +
      `${changed} slices changed, the warehouse's file ${isTouched ? 'was written' : 'untouched'}`,
    limit: `${percent(utilisationOf(again.seen, LIMIT))} of what is allowed, ${again.seen.tooMany} answered 429`,
    target: 'nothing written, nothing asked in the second',
    met: changed === 0 && !isTouched && nothing.seen.calls === 0,
    raw: { ...rawOf(again), nothingMs: nothing.night.wallMs, nothingCpuMs: nothing.night.cpuMs },
  };
}

/** A service that allows far more than the real one. */
function serveAtAHigherLimit(home: string, eans: number) {
  const budget = `{ calls: ${HIGH_LIMIT}, perSeconds: 1, concurrency: 32 }`;
  return serve(
    home,
    { eans, gzip: false, limits: { calls: { commission: { calls: HIGH_LIMIT, seconds: 1 } } } },
    `service: { retailer: { commission: { budget: ${budget} } } }\n`,
  );
}

/** The quickest of several first nights at the higher limit, each in a home of its own, and of nights that find nothing due. */
export async function eanNights(dir: string, eans: number, rounds: number) {
  const found: Record<'planMs' | 'askMs' | 'nightMs', number>[] = [];
  for (let round = 0; round < rounds; round++) {
    const service = await serveAtAHigherLimit(dir, eans);
    try {
      const { night, seen } = await service.night(0);
      const { night: idle, seen: none } = await service.night(0);
      if (night.rows !== eans || none.calls !== 0)
        throw new Error(`${night.rows} of ${eans} EANs, ${none.calls} calls`);
      const planMs = idle['run-ended ms']! - idle['run-recorded ms']!;
      found.push({ planMs, askMs: seen.spanMs, nightMs: night.wallMs });
    } finally {
      service.close();
      await rm(dir, { recursive: true, force: true });
    }
  }
  const least = (of: keyof (typeof found)[number]) => Math.min(...found.map((times) => times[of]));
  return { planMs: least('planMs'), askMs: least('askMs'), nightMs: least('nightMs') };
}

async function atAHigherLimit(dir: string): Promise<Result> {
  const service = await serveAtAHigherLimit(path.join(dir, 'ceiling'), MANY_EANS);
  try {
    const { night, seen } = await service.night(0);
    const perSecond = (seen.calls / seen.spanMs) * 1000;
    const asking = (night['answer-received cpuMs'] ?? 0) - (night['run-recorded cpuMs'] ?? 0);
    return {
      name: `commission of ${n(MANY_EANS)} EANs where the service allows ${n(HIGH_LIMIT)} calls a second`,
      figure:
        `${n(perSecond)} calls/s, ${n(perSecond * 100)} EANs/s asked; ${n((night.rows / night.wallMs) * 1000)} rows/s ` +
        `from the list to the warehouse in ${seconds(night.wallMs)}, ${night.peakMiB} MiB at most`,
      limit: `while it was asked (${seconds(seen.spanMs)}) we took ${seconds(asking)} of CPU, the sandbox ${seconds(seen.cpuMs)} for its answers`,
      target: 'no 429',
      met: seen.tooMany === 0,
      raw: rawOf({ night, seen }),
    };
  } finally {
    service.close();
  }
}

interface Asked {
  readonly night: Night;
  readonly seen: Seen;
}

/** Starts a service and makes a home for nights against it. */
async function serve(home: string, options: Omit<SandboxTold, 'aheadMs' | 'listFile'>, settings: string, more = {}) {
  await mkdir(home, { recursive: true });
  const ahead = START - Date.now();
  const listFile = path.join(home, 'eans.csv');
  const told: SandboxTold = { ...options, seriesLength: options.eans, aheadMs: ahead, listFile };
  const sandbox = fork(path.join(import.meta.dirname, 'lookups-sandbox.js'), [JSON.stringify(told)]);
  const [service] = (await once(sandbox, 'message')) as [
    Record<'baseUrl' | 'authUrl' | 'clientId' | 'clientSecret', string>,
  ];
  const settingsFile = path.join(home, 'settings.yaml');
  await writeFile(settingsFile, `eans: { file: ${JSON.stringify(listFile)}, query: null }\n${settings}`);
  const env = {
    PARTNER_BASE_URL: service.baseUrl,
    PARTNER_AUTH_URL: service.authUrl,
    PARTNER_CLIENT_ID: service.clientId,
    PARTNER_CLIENT_SECRET: service.clientSecret,
    PARTNER_ETL_HOME: home,
    PARTNER_ETL_CONFIG: settingsFile,
    ...more,
  };
  const report = async (aheadMs: number) => {
    sandbox.send({ aheadMs });
    return ((await once(sandbox, 'message')) as [Seen])[0];
  };
  return {
    /** A night so much later than the first one could be; with `killedAfterMs` another one before it, which does not live longer. */
    night: async (laterMs: number, killedAfterMs: number | null = null): Promise<Asked> => {
      await report(ahead + laterMs);
      if (killedAfterMs !== null) await killedNight(String(ahead + laterMs), env, killedAfterMs);
      const night = await inProcess<Night>('lookups-night.js', [String(ahead + laterMs), 'commission-rates'], env);
      return { night, seen: await report(ahead + laterMs) };
    },
    close: () => sandbox.disconnect(),
  };
}

async function killedNight(aheadMs: string, env: NodeJS.ProcessEnv, afterMs: number): Promise<void> {
  const script = path.join(import.meta.dirname, 'lookups-night.js');
  const child = spawn(process.execPath, [script, aheadMs, 'commission-rates'], {
    stdio: 'ignore',
    env: { ...process.env, ...env },
  });
  const gone = once(child, 'exit');
  setTimeout(() => child.kill('SIGKILL'), afterMs);
  await gone;
}

/** What so many calls take at the best when `limit` may be made in any second: the first of them at once. */
function bestMs(calls: number, limit: number): number {
  return Math.floor((calls - 1) / limit) * 1000;
}

function utilisationOf({ calls, spanMs }: Seen, limit: number): number {
  return bestMs(calls, limit) / spanMs;
}

async function identityOf(file: string): Promise<string> {
  const { ino, mtimeMs, size } = await stat(file);
  return [ino, mtimeMs, size].join();
}

function rawOf({ night, seen }: Asked): Record<string, number> {
  const { calls, tooMany, spanMs, cpuMs } = seen;
  return { ...night, sawCalls: calls, sawTooMany: tooMany, sawSpanMs: spanMs, serviceCpuMs: cpuMs };
}

const n = (value: number): string => Math.round(value).toLocaleString('en-US');
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const percent = (part: number): string => `${(part * 100).toFixed(1)} %`;
