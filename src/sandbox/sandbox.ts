/**
 * The partner service on loopback: stateful, deterministic, complete. Tests, the demo and benchmarks run against it.
 *
 * What it tells hangs only on the seed, the settings, the changes made, and its clock. Nothing is stored on disk.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Day, parseDay } from '../core/days.ts';
import { EtlError } from '../core/errors.ts';
import { applyChange } from './changes.ts';
import { CONTROL_PATH, type Controls, serveControl } from './control.ts';
import { Faults } from './faults.ts';
import { uuidLike } from './hash.ts';
import { rsaKey } from './keys.ts';
import { CallLimits, type SandboxLimits, TokenBan } from './limits.ts';
import { makeOrderParts } from './order-bytes.ts';
import { reportTruth } from './reports.ts';
import { type Service, serveCall } from './server.ts';
import { Statistics } from './statistics.ts';
import { TokenService } from './tokens.ts';
import { makeWorld, type World } from './world.ts';

export type { Change } from './changes.ts';
export type { Fault } from './faults.ts';
export type { SandboxLimits } from './limits.ts';
export type { TruthRow } from './rows.ts';
export type { SandboxStats } from './statistics.ts';

export interface SandboxOptions {
  /** The same seed is the same world. */
  readonly seed: number;
  /** Order items a day, about: 50 to 1,000,000. */
  readonly ordersPerDay: number;
  /** The sandbox's clock, milliseconds since the epoch. */
  readonly now: () => number;
  /** There are no orders before it; 2020-01-01 unless told. */
  readonly firstDay?: Day;
  /** Always on 127.0.0.1; any free port unless told. */
  readonly port?: number;
  readonly tokenTtlSeconds?: number;
  /** Made from the seed unless told. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly limits?: SandboxLimits;
  /** Answer as gzip when asked to; true unless told. */
  readonly gzip?: boolean;
}

export interface Sandbox extends Controls {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  close(): Promise<void>;
}

const FIRST_DAY = '2020-01-01';
/** What the service says of its tokens for client credentials. */
const TOKEN_TTL_SECONDS = 299;
/** Longer than any pause between two calls of a client, so that no call meets a connection that is just being closed. */
const KEEP_ALIVE_MS = 60_000;

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

async function listen(port: number, handle: Handle): Promise<Server> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 }, (request, response) => {
    // Whatever breaks in the sandbox must not look like an answer of the service.
    handle(request, response).catch(() => response.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

/** A clock that can be set, and otherwise goes like the given one. */
function settableClock(now: () => number): { readonly now: () => number; readonly set: (ms: number) => void } {
  let ahead = 0;
  const set = (ms: number) => {
    ahead = ms - now();
  };
  return { now: () => now() + ahead, set };
}

interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

async function makeService(
  options: SandboxOptions,
  world: World,
  now: () => number,
  credentials: Credentials,
): Promise<Service> {
  const { seed, limits = {}, gzip = true, tokenTtlSeconds: ttlSeconds = TOKEN_TTL_SECONDS } = options;
  return {
    now,
    gzip,
    tokens: new TokenService({ ...credentials, ttlSeconds, seed, key: await rsaKey('token') }),
    ban: new TokenBan(limits),
    limits: new CallLimits(limits),
    faults: new Faults(),
    statistics: new Statistics(),
    orders: makeOrderParts(world),
    handlers: {},
  };
}

/** Starts the service; rejects (usage) on impossible options and when the port is taken. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { seed, ordersPerDay, port = 0 } = options;
  if (!(ordersPerDay >= 1 && ordersPerDay <= 1_000_000))
    throw new EtlError('usage', 'bad_sandbox', `ordersPerDay: ${ordersPerDay} is not from 1 to 1,000,000`);
  const credentials: Credentials = {
    clientId: options.clientId ?? uuidLike(seed, 1),
    clientSecret: options.clientSecret ?? `${uuidLike(seed, 2)}${uuidLike(seed, 3)}`.replaceAll('-', ''),
  };
  const clock = settableClock(options.now);
  const world = makeWorld(seed, ordersPerDay, options.firstDay ?? parseDay(FIRST_DAY));
  const service = await makeService(options, world, clock.now, credentials);
  const server = await listen(port, (request, response) =>
    request.url?.startsWith(CONTROL_PATH)
      ? serveControl(sandbox, request, response)
      : serveCall(service, request, response),
  );
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sandbox: Sandbox = {
    ...credentials,
    baseUrl,
    authUrl: `${baseUrl}/auth`,
    stats: service.statistics,
    setNow: clock.set,
    addFault: (fault) => service.faults.add(fault),
    clearFaults: () => service.faults.clear(),
    change: (change) => applyChange(world, change, clock.now()),
    truth: (report, from, to) => reportTruth(world, report, { from, to }, clock.now()),
    close: () => closeServer(server),
  };
  return sandbox;
}
