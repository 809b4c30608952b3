/** The one place where the parts of the sandbox are put together. */
import type { Handler } from './call.ts';
import type { Changeable } from './changes.ts';
import { bulkCommission, singleCommission } from './commissions.ts';
import { Faults } from './faults.ts';
import { rsaKey } from './keys.ts';
import { CallLimits, TokenBan } from './limits.ts';
import type { SandboxSettings } from './options.ts';
import { makeOrderParts } from './order-bytes.ts';
import { Processes } from './processes.ts';
import { productAnswer } from './products.ts';
import { PushBox } from './pushes.ts';
import { latestReductions, reductionsFile } from './reductions.ts';
import { Retailer } from './retailer.ts';
import type { Service } from './server.ts';
import { Statistics } from './statistics.ts';
import { Subscriptions } from './subscriptions.ts';
import { TokenService } from './tokens.ts';
import { makeWorld } from './world.ts';

export interface Parts extends Changeable {
  readonly pushes: PushBox;
  readonly subscriptions: Subscriptions;
  readonly service: Service;
}

/** The calls beside token and reports. */
function makeHandlers(retailer: Retailer, subscriptions: Subscriptions): Service['handlers'] {
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
  };
}

/** Everything behind the server, at the beginning of its life. `now` is the sandbox's clock. */
export async function makeParts(settings: SandboxSettings, now: () => number): Promise<Parts> {
  const { seed, clientId, clientSecret, tokenTtlSeconds: ttlSeconds, limits, gzip } = settings;
  const key = await rsaKey();
  const world = makeWorld(seed, settings.ordersPerDay, settings.firstDay);
  const { unknownEan, unknownEanStatus, seriesLength } = settings;
  const retailer = new Retailer(world, seriesLength, { as: unknownEan, status: unknownEanStatus });
  const tokens = new TokenService({ clientId, clientSecret, ttlSeconds, seed, key });
  const processes = new Processes(settings.processSeconds);
  const pushes = new PushBox(key);
  const subscriptions = new Subscriptions(processes, pushes);
  const service: Service = {
    now,
    gzip,
    tokens,
    ban: new TokenBan(limits),
    limits: new CallLimits(limits),
    faults: new Faults(),
    statistics: new Statistics(),
    orders: makeOrderParts(world),
    handlers: makeHandlers(retailer, subscriptions),
  };
  return { world, retailer, tokens, processes, pushes, subscriptions, service };
}
