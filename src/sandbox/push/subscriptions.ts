/** Endpoints 6 to 12: subscriptions, whose changes are processes that end as the sandbox's clock moves. */

import { dutchIso } from '../dutch-time.ts';
import {
  type Answer,
  badRequest,
  type Call,
  json,
  notFound,
  retailerType,
  type Violation,
  versionOf,
} from '../http/call.ts';
import { type Json, parseJson } from '../http/json-text.ts';
import { refusedMedia } from '../http/media.ts';
import { type EventType, type Outcome, type Process, type Processes, processJson } from './processes.ts';
import type { PushEvent } from './push.ts';
import type { PushBox } from './pushes.ts';
import type { SignatureKeys } from './signature-keys.ts';

const RESOURCES = ['PROCESS_STATUS', 'SHIPMENT'];
const PAGE_LENGTH = 50;

/**
 * How a second subscription for a url is refused: its process fails, or the call is answered 400. Of two that are under way at
 * once the later one fails in any case.
 */
export type UrlTaken = 'process' | 'at-once';

export const URL_TAKEN_WAYS: readonly string[] = ['process', 'at-once'] satisfies UrlTaken[];

export interface Subscription {
  readonly id: string;
  readonly resources: readonly string[];
  readonly url: string;
}

type Wish = Omit<Subscription, 'id'>;

type CarryOut = Parameters<Processes['start']>[2];

const DONE: Outcome = { status: 'SUCCESS' };

/** What a create or update asks for, or what is wrong with it. `id` is the one in the path of an update. */
function wishOf(body: unknown, id: string | undefined): Wish | readonly Violation[] {
  const asked = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const { resources, url } = asked;
  const violations: Violation[] = [];
  const kinds = Array.isArray(resources) ? resources.map(String) : [];
  if (kinds.length === 0 || kinds.some((kind) => !RESOURCES.includes(kind)))
    violations.push({ name: 'resources', reason: `must hold one or more of ${RESOURCES.join(', ')}` });
  if (typeof url !== 'string' || !URL.canParse(url) || new URL(url).protocol !== 'https:')
    violations.push({ name: 'url', reason: 'must be an https address' });
  // A number counts as its digits, as every number that parseJson has read.
  if (id !== undefined && asked.id !== id) violations.push({ name: 'id', reason: `must be ${id}` });
  return violations.length > 0 ? violations : { resources: [...new Set(kinds)], url: String(url) };
}

export interface SubscriptionSurroundings {
  readonly processes: Processes;
  readonly pushes: PushBox;
  readonly keys: SignatureKeys;
  readonly urlTaken: UrlTaken;
  /** Base address of the service, which links begin with. */
  readonly baseUrl: () => string;
}

export class Subscriptions {
  readonly #surroundings: SubscriptionSurroundings;
  #known: Subscription[] = [];
  #created = 0;

  constructor(surroundings: SubscriptionSurroundings) {
    this.#surroundings = surroundings;
  }

  /** Those that are to get messages about a resource. */
  of(resource: PushEvent['resource']): readonly Subscription[] {
    return this.#known.filter(({ resources }) => resources.includes(resource));
  }

  get all(): readonly Subscription[] {
    return this.#known;
  }

  /** Answers a call to one of the endpoints of this file. */
  answer(call: Call): Answer {
    this.advance(call.now);
    const refused = refusedMedia(call);
    if (refused !== undefined) return refused;
    switch (call.endpoint.name) {
      case 'subscription-list':
        return this.#reply(call, { subscriptions: this.#known.map((one) => this.#json(one, call)) });
      case 'subscription-create':
        return this.#create(call);
      case 'subscription-get':
        return this.#withKnown(call, (one) => this.#reply(call, this.#json(one, call)));
      case 'subscription-update':
        return this.#withKnown(call, (one) => this.#update(call, one));
      case 'subscription-delete':
        return this.#withKnown(call, (one) => this.#delete(call, one));
      case 'subscription-test':
        return this.#test(call);
      case 'process-status':
        return this.#status(call);
      case 'process-status-list':
        return this.#statuses(call);
      case 'signature-keys':
        return this.#reply(call, this.#surroundings.keys.json(call.now));
      default:
        return notFound(call);
    }
  }

  /** Ends the processes that are due, and sends messages to those who are subscribed to that by then. */
  advance(now: number): void {
    const { processes, pushes, baseUrl } = this.#surroundings;
    processes.advance(now, ({ id, eventType, outcome }, endedAt) => {
      if (eventType === 'SEND_SUBSCRIPTION_TST_MSG') return;
      const links = [{ method: 'GET', href: `${baseUrl()}/shared/process-status/${id}` }];
      const { status: type } = outcome ?? DONE;
      const event = { resource: 'PROCESS_STATUS', type, resourceId: id, metadata: [], links } as const;
      for (const one of this.of('PROCESS_STATUS')) pushes.put(one, event, endedAt);
    });
  }

  #reply(call: Call, value: Json, status = 200): Answer {
    return json(status, value, retailerType(versionOf(call)));
  }

  #json({ id, resources, url }: Subscription, call: Call): Json {
    return { id: versionOf(call) <= 4 ? Number(id) : id, resources, url };
  }

  #addressOf(process: Process, call: Call): string {
    const area = versionOf(call) <= 6 ? 'retailer' : 'shared';
    return `${new URL(call.address).origin}/${area}/process-status/${process.id}`;
  }

  #processJson(process: Process, call: Call): Json {
    return processJson(process, versionOf(call), dutchIso(process.createdAt), this.#addressOf(process, call));
  }

  #withKnown(call: Call, action: (one: Subscription) => Answer): Answer {
    const known = this.#known.find(({ id }) => id === call.parameters.id);
    return known === undefined ? notFound(call) : action(known);
  }

  #start(call: Call, eventType: EventType, entityId: string | undefined, carryOut: CarryOut): Answer {
    const about = entityId === undefined ? 'a subscription' : `subscription ${entityId}`;
    const { processes } = this.#surroundings;
    const request = { eventType, entityId, description: `${eventType} for ${about}.` };
    return this.#reply(call, this.#processJson(processes.start(request, call.now, carryOut), call), 202);
  }

  /** `exceptId`: the subscription that may have the url. */
  #urlTaken({ url }: Wish, exceptId: string | undefined): Outcome | undefined {
    const { href } = new URL(url);
    const taken = this.#known.some((one) => new URL(one.url).href === href && one.id !== exceptId);
    return taken ? { status: 'FAILURE', errorMessage: `There is already a subscription for ${url}.` } : undefined;
  }

  /** What a create or update asks for, or the answer that refuses it at once. */
  #wishIn(call: Call, id: string | undefined): Wish | Answer {
    const wish = wishOf(parseJson(call.body), id);
    if (!('url' in wish)) return badRequest(call, wish);
    const taken = this.#surroundings.urlTaken === 'at-once' ? this.#urlTaken(wish, id) : undefined;
    return taken === undefined ? wish : badRequest(call, [{ name: 'url', reason: taken.errorMessage ?? '' }]);
  }

  #create(call: Call): Answer {
    const wish = this.#wishIn(call, undefined);
    if (!('url' in wish)) return wish;
    return this.#start(call, 'CREATE_SUBSCRIPTION', undefined, () => {
      // Only now: another one may have been under way.
      const taken = this.#urlTaken(wish, undefined);
      if (taken !== undefined) return taken;
      const id = String(5000 + ++this.#created);
      this.#known = [...this.#known, { id, ...wish }];
      return { ...DONE, entityId: id };
    });
  }

  #update(call: Call, { id }: Subscription): Answer {
    const wish = this.#wishIn(call, id);
    if (!('url' in wish)) return wish;
    return this.#start(call, 'UPDATE_SUBSCRIPTION', id, () => {
      const taken = this.#urlTaken(wish, id);
      if (taken === undefined) this.#known = this.#known.map((one) => (one.id === id ? { id, ...wish } : one));
      return taken ?? DONE;
    });
  }

  #delete(call: Call, { id }: Subscription): Answer {
    return this.#start(call, 'DELETE_SUBSCRIPTION', id, () => {
      this.#known = this.#known.filter((one) => one.id !== id);
      return DONE;
    });
  }

  /** With an id (version 6 on) to that subscription, without one to all of them. */
  #test(call: Call): Answer {
    const asked = call.parameters.id;
    const targets = this.#known.filter(({ id }) => asked === undefined || id === asked);
    const [first] = targets;
    if (first === undefined) return notFound(call, 'There is no subscription to test.');
    return this.#start(call, 'SEND_SUBSCRIPTION_TST_MSG', first.id, (resourceId, endedAt) => {
      const event = { resource: 'PROCESS_STATUS', type: 'SUCCESS', resourceId } as const;
      for (const target of targets) this.#surroundings.pushes.put(target, event, endedAt);
      return DONE;
    });
  }

  #status(call: Call): Answer {
    const process = this.#surroundings.processes.get(call.parameters.id ?? '');
    return process === undefined ? notFound(call) : this.#reply(call, this.#processJson(process, call));
  }

  #statuses(call: Call): Answer {
    const missing = ['entity-id', 'event-type'].filter((name) => !call.query.has(name));
    if (missing.length > 0)
      return badRequest(
        call,
        missing.map((name) => ({ name, reason: `Required parameter '${name}' is not present.` })),
      );
    const [entityId = '', eventType = ''] = ['entity-id', 'event-type'].map((name) => call.query.get(name) ?? '');
    const found = this.#surroundings.processes.of(entityId, eventType);
    const page = Number(call.query.get('page') ?? '1');
    const shown = found.slice((page - 1) * PAGE_LENGTH, page * PAGE_LENGTH);
    return this.#reply(call, { processStatuses: shown.map((process) => this.#processJson(process, call)) });
  }
}
