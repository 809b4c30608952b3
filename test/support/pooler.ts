/**
 * A pooler in transaction mode, as PgBouncer is by default in many set-ups: a client has a session of the server only from its first statement
 * to the end of the transaction, and the session that was used last is given out first. Startup options are passed over.
 */
import { once } from 'node:events';
import { createServer, type Server, Socket } from 'node:net';
import pg from 'pg';

const SSL_REQUEST = 80_877_103;
const READY = 'Z'.charCodeAt(0);
const IDLE = 'I'.charCodeAt(0);
const TERMINATE = 'X'.charCodeAt(0);

export interface Pooler {
  /** The address of the server, by way of the pooler. */
  readonly url: string;
  close(): Promise<void>;
}

export async function startPooler(serverUrl: string): Promise<Pooler> {
  const idle: Socket[] = [];
  const all: Socket[] = [];
  const clients: Socket[] = [];
  const take = async (): Promise<Socket> => {
    const free = idle.pop();
    if (free) return free;
    const session = await openSession(serverUrl);
    all.push(session);
    return session;
  };
  const server = createServer((client) => {
    clients.push(client);
    client.on('error', () => undefined);
    serve(client, take, (session) => idle.push(session));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: addressOf(server, serverUrl),
    async close() {
      for (const client of clients) client.destroy();
      for (const socket of all) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A session of the server: the socket that it is spoken to by. */
async function openSession(url: string): Promise<Socket> {
  const socket = new Socket();
  const client = new pg.Client({ connectionString: url, stream: () => socket });
  client.on('error', () => undefined);
  await client.connect();
  socket.removeAllListeners('data');
  socket.on('error', () => undefined);
  return socket;
}

function serve(client: Socket, take: () => Promise<Socket>, giveBack: (session: Socket) => void): void {
  let waiting = Buffer.alloc(0);
  let isStarted = false;
  let session: Promise<Socket> | null = null;
  const attach = async (): Promise<Socket> => {
    const taken = await take();
    const forward = (bytes: Buffer) => {
      client.write(bytes);
      // The end of what is sent last: 'Z', its length, and whether a transaction is open.
      if (bytes.at(-6) !== READY || bytes.at(-1) !== IDLE) return;
      taken.off('data', forward);
      session = null;
      giveBack(taken);
    };
    taken.on('data', forward);
    return taken;
  };
  client.on('data', (bytes: Buffer) => {
    if (isStarted) {
      if (bytes[0] === TERMINATE) return;
      session ??= attach();
      void session.then((socket) => socket.write(bytes));
      return;
    }
    waiting = Buffer.concat([waiting, bytes]);
    if (waiting.length < 8 || waiting.length < waiting.readInt32BE(0)) return;
    const isSsl = waiting.readInt32BE(4) === SSL_REQUEST;
    waiting = Buffer.alloc(0);
    if (isSsl) return void client.write('N');
    isStarted = true;
    client.write(Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1'));
  });
}

function addressOf(server: Server, serverUrl: string): string {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the pooler has no port');
  const url = new URL(serverUrl);
  url.hostname = '127.0.0.1';
  url.port = String(address.port);
  return url.href;
}
