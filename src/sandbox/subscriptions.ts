/** Endpoints 6 to 12: subscriptions, whose changes are processes that end as the sandbox's clock moves. */
import { type Answer, badRequest, type Call, json, notFound, retailerType, type Violation, versionOf } from './call.ts';
import { dutchIso } from './dutch-time.ts';
import { type Json, parseJson } from './json-text.ts';
import { refusedMedia } from './media.ts';
import { type EventType, type Outcome, type Process, type Processes, processJson } from './processes.ts';
import type { PushBox } from './pushes.ts';

const RESOURCES = ['PROCESS_STATUS', 'SHIPMENT'];
const PAGE_LENGTH = 50;

export interface Subscription {
  readonly id: string;
  readonly resources: readonly string[];
  readonly url: string;
}

type Wish = Omit<Subscription, 'id'>;

const DONE: Outcome = { status: 'SUCCESS' };

/** What a create or update asks for, or what is wrong with it. `id` is the one in the path of an update. */
function wishOf(body: unknown, id: string | undefined): Wish | readonly Violation[] {
  const asked = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const { resources, url } = asked;
  const violations: Violation[] = [];
  const kinds = Array.isArray(resources) ? resources.map(String) : [];
  if (kinds.length === 0 || kinds.some((kind) => !RESOURCES.includes(kind)))
    violations.push({ name: 'resources', reason: `must hold one or more of ${RESOURCES.join(', ')}` });
  if (typeof url !== 'string' || !URL.canParse(url) || !url.startsWith('https://'))
    violations.push({ name: 'url', reason: 'must be an https address' });
  if (id !== undefined && asked.id !== id) violations.push({ name: 'id', reason: `must be ${id}` });
  return violations.length > 0 ? violations : { resources: [...new Set(kinds)], url: String(url) };
}

export class Subscriptions {
  readonly #processes: Processes;
  readonly #pushes: PushBox;
  #known: Subscription[] = [];
  #created = 0;

  constructor(processes: Processes, pushes: PushBox) {
    this.#processes = processes;
    this.#pushes = pushes;
  }

  /** Answers a call to one of the endpoints of this file. */
  answer(call: Call): Answer {
    this.advance(call.now, new URL(call.address).origin);
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
        return this.#reply(call, this.#pushes.keysJson());
      default:
        return notFound(call);
    }
  }

  /** Ends the processes that are due, and tells whoever subscribed to that. */
  advance(now: number, origin: string): void {
    for (const process of this.#processes.advance(now)) {
      if (process.eventType === 'SEND_SUBSCRIPTION_TST_MSG') continue;
      const { status: type } = process.outcome ?? DONE;
      const href = `${origin}/shared/process-status/${process.id}`;
      for (const one of this.#known.filter(({ resources }) => resources.includes('PROCESS_STATUS')))
        this.#pushes.put(one, { resource: 'PROCESS_STATUS', type, resourceId: process.id, href }, now);
    }
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

  #start(call: Call, eventType: EventType, entityId: string | undefined, carryOut: (id: string) => Outcome): Answer {
    const about = entityId === undefined ? 'a subscription' : `subscription ${entityId}`;
    const request = { eventType, entityId, description: `${eventType} for ${about}.` };
    return this.#reply(call, this.#processJson(this.#processes.start(request, call.now, carryOut), call), 202);
  }

  /** A second subscription for a url fails when its process ends: until then another one may be on its way. */
  #urlTaken({ url }: Wish, exceptId: string | undefined): Outcome | undefined {
    const taken = this.#known.some((one) => one.url === url && one.id !== exceptId);
    return taken ? { status: 'FAILURE', errorMessage: `There is already a subscription for ${url}.` } : undefined;
  }

  #create(call: Call): Answer {
    const wish = wishOf(parseJson(call.body), undefined);
    if (!('url' in wish)) return badRequest(call, wish);
    return this.#start(call, 'CREATE_SUBSCRIPTION', undefined, () => {
      const taken = this.#urlTaken(wish, undefined);
      if (taken !== undefined) return taken;
      const id = String(5000 + ++this.#created);
      this.#known = [...this.#known, { id, ...wish }];
      return { ...DONE, entityId: id };
    });
  }

  #update(call: Call, { id }: Subscription): Answer {
    const wish = wishOf(parseJson(call.body), id);
    if (!('url' in wish)) return badRequest(call, wish);
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
    return this.#start(call, 'SEND_SUBSCRIPTION_TST_MSG', first.id, (resourceId) => {
      const event = { resource: 'PROCESS_STATUS', type: 'SUCCESS', resourceId } as const;
      for (const target of targets) this.#pushes.put(target, event, call.now);
      return DONE;
    });
  }

  #status(call: Call): Answer {
    const process = this.#processes.get(call.parameters.id ?? '');
    return process === undefined ? notFound(call) : this.#reply(call, this.#processJson(process, call));
  }

  #statuses(call: Call): Answer {
    const missing = ['entity-id', 'event-type'].filter((name) => !call.query.has(name));
    if (missing.length > 0)
      return badRequest(
        call,
        missing.map((name) => ({ name, reason: `Required parameter '${name}' is not present.` })),
      );
    const found = this.#processes.of(call.query.get('entity-id') ?? '', call.query.get('event-type') ?? '');
    const page = Number(call.query.get('page') ?? '1');
    const shown = found.slice((page - 1) * PAGE_LENGTH, page * PAGE_LENGTH);
    return this.#reply(call, { processStatuses: shown.map((process) => this.#processJson(process, call)) });
  }
}
