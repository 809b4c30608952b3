import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Connections that say nothing and are kept until the test is over. */
export async function hold(port: number, count: number): Promise<Socket[]> {
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
