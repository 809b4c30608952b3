/** The one place where the parts of the sandbox are put together. */

import { bulkCommission, singleCommission } from './catalogue/commissions.ts';
import { productAnswer } from './catalogue/products.ts';
import { latestReductions, reductionsFile } from './catalogue/reductions.ts';
import { Retailer } from './catalogue/retailer.ts';
import type { Changeable } from './changes.ts';
import { Faults } from './faults/faults.ts';
import type { Handler } from './http/call.ts';
import { CallLimits, TokenBan } from './http/limits.ts';
import type { Service } from './http/server.ts';
import { Statistics } from './http/statistics.ts';
import { TokenService } from './http/tokens.ts';
import { type RsaKey, rsaKey } from './keys.ts';
import type { SandboxSettings } from './options.ts';
import { makeOrderParts } from './orders/bytes.ts';
import type { Pushable } from './push/changes.ts';
import { Delivery } from './push/delivery.ts';
import { DeliveryQueue } from './push/delivery-queue.ts';
import { PushFaults } from './push/faults.ts';
import { Processes } from './push/processes.ts';
import { PushBox } from './push/pushes.ts';
import { PushRoutes } from './push/routes.ts';
import { Shipments } from './push/shipments.ts';
import { SignatureKeys } from './push/signature-keys.ts';
import { Subscriptions } from './push/subscriptions.ts';
import { makeWorld } from './world.ts';

/** What is about pushes. */
interface PushParts extends Pushable {
  readonly pushFaults: PushFaults;
  readonly pushRoutes: PushRoutes;
  readonly delivery: Delivery;
}

export interface Parts extends Changeable, PushParts {
  readonly service: Service;
}

/** What the parts know of their surroundings. */
export interface PartsSurroundings {
  /** The sandbox's clock. */
  readonly now: () => number;
  /** Base address of the service. */
  readonly baseUrl: () => string;
}

/** The calls beside token and reports. */
function makeHandlers(retailer: Retailer, { subscriptions, shipments }: Pushable): Service['handlers'] {
  const subscribed: Handler = (call) => subscriptions.answer(call);
  return {
    product: (call, faults) => productAnswer(retailer.world, call, faults),
    commission: (call, faults) => singleCommission(retailer, call, faults),
    'commission-bulk': (call, faults) => bulkCommission(retailer, call, faults),
    reductions: (call, faults) => reductionsFile(retailer.exports, call, faults),
    'reductions-latest': (call, faults) => latestReductions(retailer.exports, call, faults),
    'subscription-list': subscribed,
    'subscription-create': subscribed,
    'subscription-get': subscribed,
    'subscription-update': subscribed,
    'subscription-delete': subscribed,
    'subscription-test': subscribed,
    'signature-keys': subscribed,
    'process-status': subscribed,
    'process-status-list': subscribed,
    shipment: (call) => shipments.answer(call),
  };
}

function makePushParts(
  { seed, urlTaken, pushRoutes: routes, pushTimeoutMs }: SandboxSettings,
  { now, baseUrl }: PartsSurroundings,
  { key, processes, statistics }: { key: RsaKey; processes: Processes; statistics: Statistics },
): PushParts {
  const keys = new SignatureKeys(key);
  const pushFaults = new PushFaults();
  const pushRoutes = new PushRoutes(routes);
  const delivery = new Delivery(pushRoutes, pushTimeoutMs);
  const queue = new DeliveryQueue({
    seed,
    now,
    advance: () => subscriptions.advance(now()),
    addressOf: (url) => delivery.addressOf(url),
    send: (parcel) => delivery.send(parcel),
    failed: (thrown) => statistics.countFailure(thrown),
  });
  const pushes = new PushBox(keys, pushFaults, queue);
  const subscriptions = new Subscriptions({ processes, pushes, keys, urlTaken, baseUrl });
  const shipments = new Shipments();
  return { subscriptions, shipments, keys, pushes, queue, baseUrl, pushFaults, pushRoutes, delivery };
}

/** Everything behind the server, at the beginning of its life. */
export async function makeParts(settings: SandboxSettings, surroundings: PartsSurroundings): Promise<Parts> {
  const { seed, clientId, clientSecret, tokenTtlSeconds: ttlSeconds, limits, gzip } = settings;
  const key = await rsaKey();
  const world = makeWorld(seed, settings.ordersPerDay, settings.firstDay);
  const { unknownEan, unknownEanStatus, seriesLength } = settings;
  const retailer = new Retailer(world, seriesLength, { as: unknownEan, status: unknownEanStatus });
  const tokens = new TokenService({ clientId, clientSecret, ttlSeconds, seed, key });
  const processes = new Processes(settings.processSeconds);
  const statistics = new Statistics();
  const push = makePushParts(settings, surroundings, { key, processes, statistics });
  const service: Service = {
    now: surroundings.now,
    gzip,
    tokens,
    ban: new TokenBan(limits),
    limits: new CallLimits(limits),
    faults: new Faults(),
    statistics,
    orders: makeOrderParts(world),
    handlers: makeHandlers(retailer, push),
  };
  return { world, retailer, tokens, processes, service, ...push };
}
