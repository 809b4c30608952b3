/**
 * How many connections a server keeps. One more takes the place of the one that has said nothing for the longest time: connections that
 * somebody opens and leaves must not keep others out. Only where all are being answered is the new one refused.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionLimit {
  readonly most: number;
  /** Which connections are counted; all when absent. */
  readonly counts?: (peer: string | undefined) => boolean;
  /** A connection was closed for another one, or refused. */
  readonly onDropped?: () => void;
}

export function limitConnections(server: Server, { most, counts, onDropped }: ConnectionLimit): void {
  /** By their other end, since a TLS socket is another object than the one below it; those that were idle first stand in front. */
  const open = new Map<string, Socket>();
  const answering = new Map<string, number>();

  server.on('connection', (socket: Socket) => {
    if (counts && !counts(socket.remoteAddress)) return;
    if (open.size >= most) {
      onDropped?.();
      const idle = [...open.keys()].find((peer) => !answering.has(peer));
      if (idle === undefined) return void socket.destroy();
      open.get(idle)!.destroy();
      open.delete(idle);
    }
    const peer = peerOf(socket);
    open.set(peer, socket);
    socket.once('close', () => {
      if (open.get(peer) === socket) open.delete(peer);
    });
  });

  const answer = ({ socket }: IncomingMessage, response: ServerResponse) => {
    const peer = peerOf(socket);
    const connection = open.get(peer);
    if (connection === undefined) return;
    answering.set(peer, (answering.get(peer) ?? 0) + 1);
    response.once('close', () => {
      const others = answering.get(peer)! - 1;
      if (others > 0) return void answering.set(peer, others);
      answering.delete(peer);
      if (!open.delete(peer)) return;
      open.set(peer, connection);
    });
  };
  server.on('request', answer);
  server.on('checkExpectation', answer);
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
