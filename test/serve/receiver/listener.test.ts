import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type Listener, makeListener } from '../../../src/serve/receiver/listener.ts';
import { exchange, requestBytes } from './scene.ts';

interface Place {
  readonly listener: Listener;
  readonly port: number;
  dropped(): number;
}

async function listening(isStranger: boolean): Promise<Place> {
  let dropped = 0;
  const listener = makeListener({
    certificate: null,
    handle: (_, response) => response.end('here'),
    isStranger: () => isStranger,
    onDropped: () => {
      dropped += 1;
    },
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(() => {
    listener.close();
    listener.closeAllConnections();
  });
  return { listener, port: (listener.address() as AddressInfo).port, dropped: () => dropped };
}

/** Connections that say nothing and are kept until the test is over. */
async function hold(port: number, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(
    sockets.map((socket) =>
      once(
        socket.on('error', () => undefined),
        'connect',
      ),
    ),
  );
  return sockets;
}

const GET = requestBytes({ method: 'GET' });

test('a sender has ten seconds for a whole request, and Node looks after that every two', async () => {
  const { listener } = await listening(false);
  const { requestTimeout, headersTimeout, maxConnections } = listener;
  expect({ requestTimeout, headersTimeout, maxConnections }).toEqual({
    requestTimeout: 10_000,
    headersTimeout: 10_000,
    maxConnections: 512,
  });
  expect(listener).toMatchObject({ connectionsCheckingInterval: 2000, maxHeaderSize: 16 * 1024 });
});

test('strangers may hold 64 connections and no more, so that others find some', async () => {
  const { port, dropped } = await listening(true);
  const [first] = await hold(port, 64);
  expect(await exchange(port, GET)).toBe('');
  expect(dropped()).toBe(1);
  first!.write(GET);
  await once(first!.resume(), 'close');
  expect(await exchange(port, GET)).toContain('here');
});

test('senders that may come hold as many as there are', async () => {
  const { port, dropped } = await listening(false);
  await hold(port, 512);
  expect(await exchange(port, GET)).toBe('');
  expect(dropped()).toBe(1);
});
