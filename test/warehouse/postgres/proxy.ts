/** A TCP relay in front of a server that breaks a connection at a chosen moment. */
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface Proxy {
  /** The address behind the relay. */
  readonly url: string;
  /** Breaks connections from now on, or lets them be. */
  setCut(cut: Cut | null): void;
  /** Breaks every connection that there is. */
  cutAll(): void;
  close(): Promise<void>;
}

/** Breaks a connection that has sent `after` when it sends `at`: before the server gets it, or after the server has carried it out. */
export interface Cut {
  readonly after: string;
  readonly at: string;
  readonly delivered: boolean;
}

export async function openProxy(url: string): Promise<Proxy> {
  const server = new URL(url);
  let cut: Cut | null = null;
  const sockets = new Set<Socket>();
  const listener: Server = createServer((client) => {
    const upstream = connect(Number(server.port), server.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    let sent = '';
    let armed = false;
    let swallow = false;
    const part = () => {
      client.destroy();
      upstream.destroy();
    };
    client.on('data', (bytes) => {
      sent = sent.slice(-1000) + bytes.toString('latin1');
      if (cut && !armed && sent.includes(cut.after)) {
        armed = true;
        sent = sent.slice(sent.indexOf(cut.after) + cut.after.length);
      }
      if (cut && armed && sent.includes(cut.at)) {
        if (!cut.delivered) return part();
        swallow = true;
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => (swallow ? part() : client.write(bytes)));
    client.on('close', part);
    upstream.on('close', part);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const relayed = new URL(url);
  relayed.port = String((listener.address() as { port: number }).port);
  return {
    url: relayed.href,
    setCut(next) {
      cut = next;
    },
    cutAll() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
