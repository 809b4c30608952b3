/** A webhook on loopback that answers as it is asked to, and a sandbox that delivers to it by hand. */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { generate } from 'selfsigned';
import { onTestFinished } from 'vitest';
import type { PushMessage, SandboxOptions } from '../../../src/sandbox/sandbox.ts';
import { type Client, NOON, openSandbox, retailer } from './client.ts';

export const MINUTE_MS = 60_000;
/** What subscriptions of these tests are for, unless they say otherwise. */
export const HOOK = 'https://shop.example/hook';

export interface Received {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A status, now or later; or the connection is reset; or nothing is ever answered; or a head and then never an end. */
export type Reaction = number | Promise<number> | 'reset' | 'silence' | 'endless';

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** What the next ones are answered; 204 when there is nothing more. */
  readonly reactions: Reaction[];
  /** Resolves once so many have come, counted from the beginning. */
  arrived(count: number): Promise<void>;
  close(): void;
}

/** A certificate for localhost, made once. */
let certificate: ReturnType<typeof generate> | undefined;

async function listener(isTls: boolean, handle: RequestListener) {
  if (!isTls) return createServer(handle);
  certificate ??= generate([{ name: 'commonName', value: 'localhost' }], { keyType: 'ec' });
  const { private: key, cert } = await certificate;
  return createTlsServer({ key, cert }, handle);
}

export async function openReceiver({ isTls = false } = {}): Promise<Receiver> {
  const received: Received[] = [];
  const reactions: Reaction[] = [];
  let watchers: { count: number; done: () => void }[] = [];
  const server = await listener(isTls, async (request, response) => {
    const { method, url: path, headers } = request;
    const body = await text(request).catch(() => null);
    if (body === null) return;
    received.push({ method, path, headers, body });
    const reaction = reactions.shift() ?? 204;
    for (const { done } of watchers.filter(({ count }) => count <= received.length)) done();
    watchers = watchers.filter(({ count }) => count > received.length);
    if (reaction === 'reset') request.socket.destroy();
    else if (reaction === 'endless') response.writeHead(200).write('and so on');
    else if (reaction !== 'silence') response.writeHead(await reaction).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(close);
  const arrived = (count: number) =>
    new Promise<void>((done) => {
      if (received.length >= count) done();
      else watchers.push({ count, done });
    });
  const { port } = server.address() as AddressInfo;
  return { url: `${isTls ? 'https' : 'http'}://127.0.0.1:${port}/in`, received, reactions, arrived, close };
}

/** Creates a subscription, whose process ends at once. */
export async function subscribe(client: Client, resources: readonly string[], url = HOOK): Promise<void> {
  await retailer(client, '/retailer/subscriptions', { method: 'POST', body: JSON.stringify({ resources, url }) });
}

/** A sandbox with a subscription for shipments, whose pushes go to the receiver, and its clock. */
export async function openShop(options: Partial<SandboxOptions> = {}, receiver?: Receiver) {
  const hook = receiver ?? (await openReceiver());
  const pushRoutes = [{ from: HOOK, to: hook.url }];
  const client = await openSandbox({ processSeconds: 0, pushRoutes, ...options });
  await subscribe(client, ['SHIPMENT']);
  let now = NOON;
  const pass = (ms: number) => {
    now += ms;
    client.sandbox.setNow(now);
  };
  return { client, sandbox: client.sandbox, hook, pass };
}

export type Keys = ReadonlyMap<string, KeyObject>;

/** What endpoint 11 lists now. */
export async function listedKeys(client: Client): Promise<Keys> {
  const { text } = await retailer(client, '/retailer/subscriptions/signature-keys');
  const { signatureKeys } = JSON.parse(text) as { signatureKeys: { id: string; publicKey: string }[] };
  return new Map(
    signatureKeys.map(({ id, publicKey }) => [
      id,
      createPublicKey({ key: Buffer.from(publicKey, 'base64'), type: 'spki', format: 'der' }),
    ]),
  );
}

/** As a receiver checks it: the documented header, a listed key, the body's own signature. */
export function isGenuine({ headers, body }: Pick<PushMessage, 'headers' | 'body'>, keys: Keys): boolean {
  const header = /^keyId=([\w-]+), algorithm="rsa-sha256", signature=(\S+)$/.exec(headers.signature ?? '');
  const key = keys.get(header?.[1] ?? '');
  return key !== undefined && verify('RSA-SHA256', Buffer.from(body), key, Buffer.from(header?.[2] ?? '', 'base64'));
}

/** About which resources the messages were that arrived. */
export function arrivedIds({ received }: Receiver): string[] {
  return received.map(({ body }) => JSON.parse(body).event.resourceId as string);
}
