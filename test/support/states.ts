/** Nights of subscriptions, process statuses and links: requests made as commands make them, and messages in the inbox. */
import type { RunContext } from '../../src/run/context.ts';
import { type SubscriptionCalls, withSubscriptionCalls } from '../../src/run/subscriptions/calls.ts';
import { deliveryAt, layIn } from './inbox.ts';
import { openWorld, type Settings, type World, type WorldOptions } from './nights.ts';
import { messageText } from './push.ts';

/** The pipelines of what was pushed, what is subscribed to, and what follows from both, in the order of a night. */
export const PUSHED: readonly string[] = ['push-messages', 'subscriptions', 'process-statuses', 'push-links'];

export const HOOK = 'https://hook.example.org/push';

export interface StateWorldOptions extends Omit<WorldOptions, 'settings'> {
  readonly processes?: Settings;
  readonly links?: Settings;
  readonly service?: Settings;
  readonly guards?: Settings;
}

export function openStateWorld(options: StateWorldOptions = {}): Promise<World> {
  const { processes, links, service, guards, ...rest } = options;
  const off = { enabled: false };
  const pipelines = { 'process-statuses': { ...off, ...processes }, 'push-links': { ...off, ...links } };
  const settings = { pipelines, ...(service ? { service } : {}), ...(guards ? { guards } : {}) };
  return openWorld({ ...rest, settings });
}

export const nightOf =
  (world: World) =>
  (...names: readonly string[]) =>
    world.night({ names: names.length === 0 ? PUSHED : names });

export function pass(world: World, ms: number): void {
  world.clock.set(world.clock.now() + ms);
}

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** Makes calls as the commands do; every answer about a process is kept. */
export function calling<T>(
  world: World,
  work: (calls: SubscriptionCalls, context: RunContext) => Promise<T>,
): Promise<T> {
  return world.within((context) => withSubscriptionCalls(context, (calls) => work(calls, context)));
}

/** Asks for a subscription as a command does that is killed right then; returns the id of the process. */
export function startSubscription(
  world: World,
  url = HOOK,
  resources = ['PROCESS_STATUS', 'SHIPMENT'],
): Promise<string> {
  return calling(world, async (calls) => {
    const answer = await calls.create({ url, resources }, () => undefined);
    if (answer.kind !== 'started') throw new Error(answer.reason);
    return answer.process.id;
  });
}

/** A subscription whose process is over, and seen to be. Returns the id of the process. */
export async function subscribe(world: World, url = HOOK, resources?: string[]): Promise<string> {
  const id = await startSubscription(world, url, resources);
  pass(world, 10_000);
  await calling(world, (calls, { signal }) => calls.status(id, signal));
  return id;
}

/** Lays messages into the inbox, as the receiver does. */
export async function deliver(world: World, ...bodies: readonly string[]): Promise<void> {
  await layIn(
    world.home,
    world.clock,
    bodies.map((body) => deliveryAt(world.clock.now(), body)),
  );
}

export interface Link {
  readonly method: string;
  readonly href: string;
}

/** A message about a process. */
export function processMessage(id: string, links?: readonly Link[], type = 'SUCCESS'): string {
  return messageText({ resourceId: id, type, event: links ? { links } : {} });
}

/** A message about a shipment, with links. */
export function shipmentMessage(id: string, links: readonly Link[], timestamp = '2026-03-20T02:59:00+01:00'): string {
  return messageText({
    resource: 'SHIPMENT',
    type: 'UPDATE_TRANSPORT_EVENT',
    resourceId: id,
    timestamp,
    event: { links },
  });
}

export const get = (href: string): Link => ({ method: 'GET', href });

/** Delivers what the sandbox has to tell from message number `from` (0 is the first) on; returns how many there are then. */
export async function deliverPushes(world: World, from = 0): Promise<number> {
  const pushes = world.sandbox.pushes();
  await deliver(world, ...pushes.slice(from).map(({ body }) => body));
  return pushes.length;
}
