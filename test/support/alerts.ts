/** Where alerts arrive: an HTTP server and a mail server on loopback, and a world whose alerts go there. */
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { z } from 'zod';
import type { AlertSettings } from '../../src/config/alerts.ts';
import { loadConfig } from '../../src/config.ts';
import { homePaths } from '../../src/core/home.ts';
import { sendAlerts } from '../../src/run/alerts/alerts.ts';
import type { AlertDocument } from '../../src/run/alerts/message.ts';
import type { Unstarted } from '../../src/run/alerts/run-causes.ts';
import { openSqliteState } from '../../src/store/sqlite/state.ts';
import { readMemo } from '../../src/store/tables/memo.ts';
import { packageRoot, type World } from './nights.ts';

export interface Webhook {
  readonly url: string;
  /** Bodies as they came, newest last; those that were refused are not among them. */
  readonly bodies: readonly string[];
  /** What it answers; null: the connection is cut. */
  status: number | null;
  /** How often it was asked. */
  readonly asked: number;
  close(): Promise<void>;
}

export async function openWebhook(): Promise<Webhook> {
  const bodies: string[] = [];
  const sent = { status: 200 as number | null, asked: 0 };
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      sent.asked += 1;
      if (sent.status === null) return request.socket.destroy();
      if (sent.status === 200) bodies.push(body);
      return response.writeHead(sent.status).end('ok');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/services/T000/B000/very-secret-part`,
    bodies,
    get status() {
      return sent.status;
    },
    set status(status) {
      sent.status = status;
    },
    get asked() {
      return sent.asked;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

export interface MailServer {
  readonly port: number;
  /** Each as it came, head and body. */
  readonly mails: readonly string[];
  /** Every command that was said, in order. */
  readonly said: readonly string[];
  /** Whether it takes mail. */
  isOpen: boolean;
  close(): Promise<void>;
}

/** As much of SMTP as a sender needs that logs in with PLAIN. */
export async function openMailServer(): Promise<MailServer> {
  const mails: string[] = [];
  const said: string[] = [];
  const sent = { isOpen: true };
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    const say = (line: string) => void socket.write(`${line}\r\n`);
    let text = '';
    let isData = false;
    socket.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      for (;;) {
        const end = isData ? text.indexOf('\r\n.\r\n') : text.indexOf('\r\n');
        if (end < 0) return;
        const part = text.slice(0, end);
        text = text.slice(end + (isData ? 5 : 2));
        if (isData) {
          mails.push(part);
          isData = false;
          say('250 taken');
          continue;
        }
        said.push(part);
        const word = part.slice(0, 4).toUpperCase();
        if (word === 'EHLO') say('250-here\r\n250 AUTH PLAIN');
        else if (word === 'AUTH') say('235 welcome');
        else if (word === 'DATA') {
          isData = true;
          say('354 go on');
        } else if (word === 'QUIT') socket.end('221 bye\r\n');
        else say(sent.isOpen ? '250 fine' : '451 try again later');
      }
    });
    say('220 here');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    mails,
    said,
    get isOpen() {
      return sent.isOpen;
    },
    set isOpen(isOpen) {
      sent.isOpen = isOpen;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The settings of the world with these variables. */
export async function alertsOf(world: World, env: Readonly<Record<string, string>>): Promise<AlertSettings> {
  const all = { ...world.env, ...env };
  return (await loadConfig({ env: all, cwd: world.home, packageRoot })).alerts;
}

/** Only the pause between two looks at a lock passes by itself while is said; a channel's time limit is longer. */
const LOCK_POLL_MS = 200;
const NIGHT_PAUSE_MS = 100_000;

/** Tells as the end of a run does, each time in an app of its own; several at once as several processes would. */
export async function tell(
  world: World,
  settings: AlertSettings,
  { times = 1, unstarted = [] }: { readonly times?: number; readonly unstarted?: readonly Unstarted[] } = {},
): Promise<void> {
  world.clock.passUpTo(LOCK_POLL_MS);
  try {
    const one = () => world.within((context) => sendAlerts(context, settings, unstarted));
    await Promise.all(Array.from({ length: times }, one));
  } finally {
    world.clock.passUpTo(NIGHT_PAUSE_MS);
  }
}

/** What a generic webhook was sent, as `status key:state …`. */
export function sent({ bodies }: Webhook): string[] {
  return bodies.map((body) => {
    const { status, causes } = JSON.parse(body) as AlertDocument;
    return [status, ...causes.map(({ key, state }) => `${key}:${state}`)].join(' ');
  });
}

/** What the state keeps of alerts, as text; null: nothing. */
export async function remembered(home: string): Promise<string | null> {
  const state = await openSqliteState(homePaths(home).database);
  try {
    const shape = z.unknown().transform((value) => JSON.stringify(value));
    return await readMemo(state.db, 'alerts', shape);
  } finally {
    await state.close();
  }
}
