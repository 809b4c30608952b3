/**
 * The partner service on loopback: stateful, deterministic, complete. Tests, the demo and benchmarks run against it.
 *
 * What it says depends only on the seed, the settings, the changes made, and its clock. Nothing is stored on disk.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EtlError } from '../core/errors.ts';
import { PRODUCTS } from './catalogue/catalogue.ts';
import { commissionTruth } from './catalogue/commissions.ts';
import { productTruth } from './catalogue/products.ts';
import { reductionsTruth } from './catalogue/reductions.ts';
import { applyChange } from './changes.ts';
import { CONTROL_PATH, type Controls, serveControl } from './control.ts';
import { serveCall } from './http/server.ts';
import { type SandboxOptions, settingsOf } from './options.ts';
import { reportTruth } from './orders/reports.ts';
import { pushTruth } from './push/truth.ts';
import { makeParts } from './service.ts';

export type { CommissionTruth } from './catalogue/commissions.ts';
export type { Change } from './changes.ts';
export type { Fault } from './faults/kinds.ts';
export type { SandboxOptions } from './options.ts';
export type { TruthRow } from './orders/rows.ts';
export type { PushFault } from './push/faults.ts';
export type { Forgery, PushMessage } from './push/push.ts';

export interface Sandbox extends Controls {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  close(): Promise<void>;
}

/** Longer than any pause between two calls of a client, so that no call meets a connection that is just being closed. */
const KEEP_ALIVE_MS = 60_000;

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

async function listen(port: number, handle: Handle, failed: (thrown: unknown) => void): Promise<Server> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 }, (request, response) => {
    // Whatever breaks in the sandbox must not look like an answer of the service.
    handle(request, response).catch((thrown: unknown) => {
      failed(thrown);
      response.destroy();
    });
  });
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new EtlError('usage', 'port_taken', `the sandbox cannot listen on port ${port}`, {
      hint: 'name another port, or none for any free one',
      cause,
    });
  }
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

/** Starts the service; rejects (usage) on impossible options and when the port is taken. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const settings = settingsOf(options);
  const clock = settableClock(options.now);
  let baseUrl = '';
  const parts = await makeParts(settings, { now: clock.now, baseUrl: () => baseUrl });
  const { world, retailer, pushes, subscriptions, queue, delivery, service } = parts;
  const handle: Handle = (request, response) =>
    request.url?.startsWith(CONTROL_PATH)
      ? serveControl(sandbox, request, response)
      : serveCall(service, request, response);
  const server = await listen(settings.port, handle, (thrown) => service.statistics.countFailure(thrown));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  /** The messages of what has ended by now, too. */
  const made = () => {
    subscriptions.advance(clock.now());
    return pushes.messages;
  };
  const sandbox: Sandbox = {
    clientId: settings.clientId,
    clientSecret: settings.clientSecret,
    baseUrl,
    authUrl: `${baseUrl}/auth`,
    stats: service.statistics,
    setNow: clock.set,
    addFault: (fault) => {
      if (fault.endpoint !== 'push') return service.faults.add(fault);
      // It does not strike what has happened already.
      subscriptions.advance(clock.now());
      parts.pushFaults.add(fault);
    },
    clearFaults: () => {
      service.faults.clear();
      parts.pushFaults.clear();
    },
    change: (change) => applyChange(parts, change, clock.now()),
    truth: (report, from, to) => reportTruth(world, report, { from, to }, clock.now()),
    eans: (count = PRODUCTS) => retailer.eans(count),
    truthOfCommission: (ean, condition, price) => commissionTruth(retailer, { ean, condition, price }, clock.now()),
    truthOfProduct: (ean, country, language) => productTruth(world, ean, country, language),
    reductionsFile: () => reductionsTruth(retailer.exports, clock.now()),
    pushes: () => made(),
    pushTruth: () => pushTruth(made()),
    addPushRoute: (route) => parts.pushRoutes.add(route),
    deliverDue: ({ concurrency = 1 } = {}) => queue.deliverDue(concurrency),
    close: async () => {
      delivery.close();
      await queue.close();
      await closeServer(server);
    },
  };
  if (settings.deliver !== null) queue.start(settings.deliver);
  return sandbox;
}
