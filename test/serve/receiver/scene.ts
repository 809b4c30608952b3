/** A receiver with an inbox of its own, a clock that stands still, and raw connections to it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { PushSettings } from '../../../src/config.ts';
import type { Log } from '../../../src/core/log.ts';
import type { SignatureKey } from '../../../src/extract/subscription-shapes.ts';
import { InboxWriter } from '../../../src/serve/receiver/inbox-writer.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../../../src/serve/receiver/receiver.ts';
import { RefusedMessages } from '../../../src/serve/refusals/refused-messages.ts';
import { SignatureKeys } from '../../../src/serve/signature/keys.ts';
import { openSqliteState } from '../../../src/store/sqlite/state.ts';
import type { StoredDelivery } from '../../../src/store/tables/inbox.ts';
import { FakeClock } from '../../support/clock.ts';
import { waitingIn } from '../../support/inbox.ts';
import { messageText, type SigningKey, signed, signingKey } from '../../support/push.ts';

/** The service's; making one takes a tenth of a second. */
export const KEY = signingKey('0');

export const PUSH: PushSettings = {
  enabled: true,
  host: '127.0.0.1',
  port: 0,
  path: '/push',
  tls: { certFile: null, keyFile: null },
  sourceAddresses: ['35.204.195.116'],
  alsoFrom: [],
  checkSource: 'auto',
  trustedProxies: [],
  bodyKiB: 64,
  oldestDays: 30,
  copiesKept: 100,
  keyRefreshSeconds: 60,
  inboxMiB: 16,
  refusedMiB: 16,
};

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export function collectingLog(lines: LogLine[]): Log {
  const at =
    (level: string) =>
    (message: string, fields: Record<string, unknown> = {}) =>
      void lines.push({ level, message, fields });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'etl-serve-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export interface SceneOptions {
  readonly settings?: Partial<PushSettings>;
  /** In the place of the real inbox. */
  readonly inbox?: ReceiverOptions['inbox'];
  /** What the service answers when it is asked for its keys. */
  readonly fetchKeys?: (signal: AbortSignal) => Promise<readonly SignatureKey[]>;
  readonly proofKey?: string;
}

export interface Scene {
  readonly receiver: Receiver;
  readonly port: number;
  readonly clock: FakeClock;
  readonly folder: string;
  readonly refused: RefusedMessages;
  readonly log: readonly LogLine[];
  /** Closes the receiver and the inbox; what then lies in it, in the order in which it came. */
  stored(): Promise<StoredDelivery[]>;
}

export async function openReceiver({ settings, inbox, fetchKeys, proofKey }: SceneOptions = {}): Promise<Scene> {
  const folder = await temporaryFolder();
  const clock = new FakeClock();
  const lines: LogLine[] = [];
  const log = collectingLog(lines);
  const push = { ...PUSH, ...settings };
  const state = await openSqliteState(path.join(folder, 'state.db'));
  const writer = await InboxWriter.open({ state, clock, mostBytes: push.inboxMiB * 1024 * 1024, log });
  const refused = await RefusedMessages.open({
    folder: path.join(folder, 'refused'),
    mostBytes: push.refusedMiB * 1024 * 1024,
    clock,
    log,
  });
  const keys = await SignatureKeys.open({
    state,
    clock,
    log,
    refreshSeconds: push.keyRefreshSeconds,
    fetchKeys: fetchKeys ?? (async () => [KEY.listed]),
  });
  const proving = proofKey === undefined ? {} : { proofKey };
  const receiver = await startReceiver({
    ...{ settings: push, inbox: inbox ?? writer, isTaking: () => writer.isTaking, keys, refused, clock, log },
    ...proving,
  });
  const closing = once(async () => {
    await receiver.close();
    await keys.close();
    await refused.settled();
    await writer.close();
  });
  onTestFinished(async () => {
    await closing();
    await state.close();
  });
  const stored = async () => {
    await closing();
    return waitingIn(state);
  };
  return { receiver, port: Number(new URL(receiver.url).port), clock, folder, refused, log: lines, stored };
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null;
  return () => {
    done ??= work();
    return done;
  };
}

/** Writes the bytes into a connection of its own and returns what came back until the receiver closed it. */
export function exchange(port: number, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    const parts: Buffer[] = [];
    socket.on('data', (part) => parts.push(part));
    socket.on('error', () => undefined); // whoever is refused may find the connection cut
    socket.on('close', () => resolve(Buffer.concat(parts).toString('latin1')));
  });
}

export interface RequestParts {
  readonly method?: string;
  readonly path?: string;
  /** Lines between the first and the blank one, besides Host and Content-Length. */
  readonly headers?: readonly string[];
  readonly body?: string | Uint8Array;
  /** The connection is to be closed behind the answer; true unless given. */
  readonly isLast?: boolean;
}

/** A request as bytes; characters of headers above U+00FF cannot be written. */
export function requestBytes({ method = 'POST', path: at = '/push', headers = [], body, isLast = true }: RequestParts) {
  const content = body === undefined ? null : Buffer.from(body);
  const lines = [
    `${method} ${at} HTTP/1.1`,
    'Host: receiver',
    ...(content ? [`Content-Length: ${content.length}`] : []),
    ...(isLast ? ['Connection: close'] : []),
    ...headers,
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), content ?? Buffer.alloc(0)]);
}

/** The request that the service would make to deliver the body. */
export function delivery(
  body: string | Uint8Array = messageText(),
  parts: Omit<RequestParts, 'body'> & { readonly key?: SigningKey } = {},
): Buffer {
  const { key = KEY, headers = [], ...rest } = parts;
  const all = ['Content-Type: application/json', `Signature: ${signed(body, key)}`, ...headers];
  return requestBytes({ ...rest, headers: all, body });
}

/** `204`, or `401 wrong_signature`: the status and the word of each answer, in their order. */
export function answersIn(received: string): string[] {
  return received
    .split(/(?=HTTP\/1\.1 \d{3})/)
    .filter((part) => part !== '')
    .map((part) => {
      const [head = '', body = ''] = part.split('\r\n\r\n', 2);
      const [line = ''] = head.split('\r\n', 1);
      const [, status = '', word = ''] = /^HTTP\/1\.1 (\d{3}) (.*)$/.exec(line) ?? [];
      return `${status} ${Number(status) < 400 ? body.trim() : `${word}${body}`}`.trim();
    });
}

/** The one answer to these bytes. */
export async function answerTo(port: number, bytes: string | Uint8Array): Promise<string> {
  return answersIn(await exchange(port, bytes)).join(' then ');
}
