/**
 * Messages that were refused, kept for those who want to know why: `<id>.<reason>.json` with the head and the body, the oldest
 * deleted first. What comes in can fill neither the disk nor the time of it:
 *
 *   anybody's      a few a second and reason, in one half of the room
 *   signed ones    the service's own: each body once, in the other half, so that forgeries cannot push them out
 *
 * Nothing waits for these files, and none is worth failing for: they are written one after the other, unsynced.
 */
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, isoTime } from '../../core/clock.ts';
import { asEtlError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Log } from '../../core/log.ts';
import { redact } from '../../core/redact.ts';
import { type BodyHash, Copies, hashOf } from '../receiver/copies.ts';
import { REFUSALS, type Refusal, ruleOf } from './refusals.ts';

export interface RefusedMessage {
  readonly reason: Refusal;
  /** What exactly is wrong, where more is known than the reason. */
  readonly detail?: string;
  readonly receivedAtMs: number;
  readonly sourceAddress: string;
  readonly method: string;
  /** Names and values in turn, as received. */
  readonly rawHeaders: readonly string[];
  /** Empty where it was not read. */
  readonly body: Uint8Array;
}

export interface RefusedMessagesOptions {
  readonly folder: string;
  /** Of all files together. */
  readonly mostBytes: number;
  readonly clock: Clock;
  readonly log: Log;
}

const MOST_A_SECOND = 2;
/** Bodies of signed messages that are remembered as kept. */
const MOST_REMEMBERED = 1000;
/** Messages whose files are not written yet. */
const MOST_WAITING = 32;
/** The least that a file takes on a disk. */
const BLOCK_BYTES = 4096;
const MOST_HEADERS = 64;
const HEADER_CHARACTERS = 2048;
const WARN_EVERY_MS = 60_000;
/** Headers that are credentials of somebody. */
const SECRET_HEADER = /^(?:proxy-)?authorization$|^cookie$/i;
const FILE_NAME = /^f[0-9a-z]{18}\.([a-z_]+)\.json$/;

type Half = 'some' | 'signed';

/** The files of one half, the oldest first. */
interface Shelf {
  readonly files: { readonly name: string; readonly bytes: number }[];
  bytes: number;
}

export class RefusedMessages {
  private readonly options: RefusedMessagesOptions;
  private readonly shelves: Readonly<Record<Half, Shelf>> = {
    some: { files: [], bytes: 0 },
    signed: { files: [], bytes: 0 },
  };
  private readonly keptLately = new Map<Refusal, { second: number; count: number }>();
  private readonly keptBodies = new Copies(MOST_REMEMBERED);
  private waiting = 0;
  private writing: Promise<void> = Promise.resolve();
  private warnedAtMs: number | null = null;

  private constructor(options: RefusedMessagesOptions) {
    this.options = options;
  }

  static async open(options: RefusedMessagesOptions): Promise<RefusedMessages> {
    const messages = new RefusedMessages(options);
    await mkdir(options.folder, { recursive: true });
    for (const name of (await readdir(options.folder)).sort()) {
      const reason = refusedReason(name);
      const rule = Object.entries(REFUSALS).find(([code]) => code === reason)?.[1];
      if (rule === undefined || rule.keeping === 'never') continue;
      const { size } = await stat(path.join(options.folder, name));
      shelve(messages.shelves[rule.keeping], name, size);
    }
    await messages.makeRoom('some');
    await messages.makeRoom('signed');
    return messages;
  }

  /** Keeps the message, if it is one that is kept and there were not too many lately. Returns at once and never throws. */
  keep(message: RefusedMessage): void {
    const { keeping } = ruleOf(message.reason);
    if (keeping === 'never' || this.options.mostBytes === 0 || this.waiting >= MOST_WAITING) return;
    if (keeping === 'signed' ? !this.isNew(hashOf(message.body)) : !this.isTime(message.reason)) return;
    this.waiting += 1;
    this.writing = this.writing
      .then(() => this.write(message, keeping))
      .finally(() => {
        this.waiting -= 1;
      });
  }

  /** Resolves when all that is kept so far is written. */
  async settled(): Promise<void> {
    await this.writing;
  }

  private isNew(hash: BodyHash): boolean {
    if (this.keptBodies.storedOf(hash) > 0) return false;
    this.keptBodies.add(hash);
    return true;
  }

  private isTime(reason: Refusal): boolean {
    const second = Math.floor(this.options.clock.now() / 1000);
    const lately = this.keptLately.get(reason);
    if (lately?.second !== second) this.keptLately.set(reason, { second, count: 1 });
    else if (lately.count >= MOST_A_SECOND) return false;
    else lately.count += 1;
    return true;
  }

  private async write(message: RefusedMessage, half: Half): Promise<void> {
    const { folder, clock, log } = this.options;
    const name = `${newId('f', clock)}.${message.reason}.json`;
    const text = asciiJson(documentOf(message));
    try {
      shelve(this.shelves[half], name, text.length);
      await writeFile(path.join(folder, name), text, { flag: 'wx', mode: 0o600 });
      await this.makeRoom(half);
    } catch (thrown) {
      if (this.warnedAtMs !== null && Math.abs(clock.now() - this.warnedAtMs) < WARN_EVERY_MS) return;
      this.warnedAtMs = clock.now();
      log.warn(`refused push messages cannot be kept: ${asEtlError(thrown).message}`, { folder });
    }
  }

  private async makeRoom(half: Half): Promise<void> {
    const shelf = this.shelves[half];
    while (shelf.bytes > this.options.mostBytes / 2) {
      const oldest = shelf.files.shift();
      if (!oldest) return;
      shelf.bytes -= oldest.bytes;
      await rm(path.join(this.options.folder, oldest.name), { force: true });
    }
  }
}

/** Why the message in the file of that name was refused; null for what is none of ours. */
export function refusedReason(fileName: string): string | null {
  return FILE_NAME.exec(fileName)?.[1] ?? null;
}

function shelve(shelf: Shelf, name: string, size: number): void {
  const bytes = Math.max(1, Math.ceil(size / BLOCK_BYTES)) * BLOCK_BYTES;
  shelf.files.push({ name, bytes });
  shelf.bytes += bytes;
}

function documentOf({
  reason,
  detail,
  receivedAtMs,
  sourceAddress,
  method,
  rawHeaders,
  body,
}: RefusedMessage): unknown {
  const headers: [string, string][] = [];
  for (let i = 0; i + 1 < rawHeaders.length && headers.length < MOST_HEADERS; i += 2) {
    const [name, value] = [rawHeaders[i]!, rawHeaders[i + 1]!];
    const shown = SECRET_HEADER.test(name) ? '[redacted]' : redact(value.slice(0, HEADER_CHARACTERS), []);
    headers.push([name.slice(0, HEADER_CHARACTERS), shown]);
  }
  return {
    reason,
    detail: detail ?? null,
    receivedAt: isoTime(receivedAtMs),
    sourceAddress,
    method,
    headers,
    bodyBytes: body.length,
    bodyBase64: Buffer.from(body.buffer, body.byteOffset, body.length).toString('base64'),
  };
}

/** As escapes they mean the same to what reads JSON, and nothing to a terminal. */
function asciiJson(value: unknown): string {
  const text = JSON.stringify(value, null, 1);
  return `${text.replaceAll(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;
}
