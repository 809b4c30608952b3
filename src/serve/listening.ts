/** Making a server listen where the settings say, alike for the receiver and for the server beside it. */
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { EtlError } from '../core/errors.ts';

export interface ListeningPlace {
  readonly host: string;
  readonly port: number;
  /** As a message calls the server. */
  readonly name: string;
  /** Section of the settings in which `host` and `port` stand. */
  readonly section: string;
  readonly scheme: 'http' | 'https';
}

/** The address without a path. A server that cannot listen is closed. Errors: `usage/port_taken`, `usage/cannot_listen`. */
export async function listenAt(app: FastifyInstance, place: ListeningPlace): Promise<string> {
  const { host, port, name, section, scheme } = place;
  try {
    await app.listen({ host, port });
  } catch (cause) {
    await app.close();
    const isTaken = (cause as NodeJS.ErrnoException).code === 'EADDRINUSE';
    const code = isTaken ? 'port_taken' : 'cannot_listen';
    throw new EtlError('usage', code, `${name} cannot listen on ${host}, port ${port}`, {
      cause,
      hint: isTaken
        ? `end what listens there, or set ${section}.port to another one`
        : `set ${section}.host and ${section}.port`,
    });
  }
  const { address, family, port: taken } = app.server.address() as AddressInfo;
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${taken}`;
}
