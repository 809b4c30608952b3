import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Listener, makeListener } from '../../../src/serve/receiver/listener.ts';
import { hold } from '../../support/connections.ts';
import { exchange, requestBytes } from './scene.ts';

interface Place {
  readonly listener: Listener;
  readonly port: number;
  dropped(): number;
}

const answerAtOnce = (response: ServerResponse): unknown => response.end('here');

async function listening(isRefused: boolean, handle = answerAtOnce): Promise<Place> {
  let dropped = 0;
  const listener = makeListener({
    certificate: null,
    handle: (_, response) => handle(response),
    isRefused: () => isRefused,
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

const GET = requestBytes({ method: 'GET' });

test('a sender has ten seconds for a whole request, and Node looks after that every two', async () => {
  const { listener } = await listening(false);
  const { requestTimeout, headersTimeout } = listener;
  expect({ requestTimeout, headersTimeout }).toEqual({ requestTimeout: 10_000, headersTimeout: 10_000 });
  expect(listener).toMatchObject({ connectionsCheckingInterval: 2000, maxHeaderSize: 16 * 1024 });
});

describe.each([
  ['peers that are refused', true, 64],
  ['senders that may come', false, 512],
])('%s', (_, isRefused, most) => {
  test(`hold ${most} connections at the most: a further one takes the place of the one that was idle the longest`, async () => {
    const { port, dropped } = await listening(isRefused);
    const sockets = await hold(port, most);
    const closed = once(sockets[0]!, 'close');
    expect(await exchange(port, GET)).toContain('here');
    await closed;
    expect(dropped()).toBe(1);
    expect(sockets.slice(1).every((socket) => !socket.closed)).toBe(true);
  });

  test('never lose a connection on which an answer is under way', async () => {
    const waiting: ServerResponse[] = [];
    const { port, dropped } = await listening(isRefused, (response) => waiting.push(response));
    const sockets = await hold(port, most);
    for (const socket of sockets) socket.write(GET);
    await expect.poll(() => waiting.length).toBe(most);
    expect(await exchange(port, GET)).toBe('');
    expect(dropped()).toBe(1);
    for (const response of waiting) response.end('late');
    const [first] = (await once(sockets[0]!, 'data')) as [Buffer];
    expect(first.toString()).toContain('late');
  });
});
