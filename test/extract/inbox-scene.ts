/** An inbox in a folder of its own, with a disk below it that can be slow, broken and counted. */
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { Log } from '../../src/core/log.ts';
import {
  type Delivery,
  InboxWriter,
  readSegment,
  type StoredDelivery,
  sealedSegments,
} from '../../src/extract/inbox.ts';
import { createSegmentFile, type SegmentFile } from '../../src/extract/inbox-file.ts';
import { encode, framesOf } from '../../src/extract/inbox-segment.ts';
import { FakeClock } from '../support/clock.ts';

export const SEAL_MS = 10_000;
const SINCE_MS = Date.parse('2026-03-20T02:00:00Z');

/** The operations on files in which a disk can fail. */
type Operation = 'create' | keyof SegmentFile;

/** Real files, of whose operations some fail. */
export class TroubledDisk {
  /** Every operation, in order. */
  readonly done: Operation[] = [];
  /** Asked before each operation: whether it fails. `count` is the number of this operation, from 1. */
  fails: (operation: Operation, count: number) => boolean = () => false;
  /** Waited for before each sync. */
  beforeSync: () => Promise<void> = async () => {};

  count(operation: Operation): number {
    return this.done.filter((one) => one === operation).length;
  }

  readonly createFile = async (file: string): Promise<SegmentFile> => {
    this.pass('create');
    const real = await createSegmentFile(file);
    return {
      write: async (bytes) => {
        // A full disk takes a part of what it is given.
        if (this.isBroken('write')) {
          await real.write(bytes.subarray(0, bytes.length / 2));
          throw broken('write');
        }
        await real.write(bytes);
      },
      sync: async () => {
        await this.beforeSync();
        this.pass('sync');
        await real.sync();
      },
      truncate: async (bytes) => {
        this.pass('truncate');
        await real.truncate(bytes);
      },
      close: () => real.close(),
    };
  };

  private pass(operation: Operation): void {
    if (this.isBroken(operation)) throw broken(operation);
  }

  private isBroken(operation: Operation): boolean {
    this.done.push(operation);
    return this.fails(operation, this.count(operation));
  }
}

function broken(operation: string): Error {
  return Object.assign(new Error(`ENOSPC: no space left on device, ${operation}`), { code: 'ENOSPC' });
}

export interface Scene {
  readonly folder: string;
  readonly clock: FakeClock;
  readonly disk: TroubledDisk;
  /** `level message`, in order. */
  readonly log: string[];
  writer(options?: { readonly segmentBytes?: number; readonly mostBytes?: number }): Promise<InboxWriter>;
  /** Names in a folder of the inbox, sorted. */
  names(folder: 'open' | 'ready'): Promise<string[]>;
  /** The numbers of all deliveries that are ready, segment by segment. */
  ready(): Promise<number[][]>;
  /** Lays a segment into `open`, as a receiver that died does. */
  leaveOpen(id: string, bytes: Uint8Array): Promise<void>;
}

export async function emptyInbox(): Promise<Scene> {
  const home = await mkdtemp(path.join(tmpdir(), 'etl-inbox-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const folder = path.join(home, 'inbox');
  const [clock, disk, log] = [new FakeClock(SINCE_MS), new TroubledDisk(), [] as string[]];
  return {
    folder,
    clock,
    disk,
    log,
    writer: async (options = {}) => {
      const settings = { folder, clock, sealAfterMs: SEAL_MS, mostBytes: 1e9, ...options };
      const writer = await InboxWriter.open({ ...settings, log: logInto(log), createFile: disk.createFile });
      onTestFinished(() => writer.close());
      return writer;
    },
    names: async (name) => (await readdir(path.join(folder, name))).sort(),
    ready: async () => {
      const all: number[][] = [];
      for (const { file } of await sealedSegments(folder)) all.push((await deliveriesIn(file)).map(numberOf));
      return all;
    },
    leaveOpen: async (id, bytes) => {
      await mkdir(path.join(folder, 'open'), { recursive: true });
      await mkdir(path.join(folder, 'ready'), { recursive: true });
      await writeFile(path.join(folder, 'open', `${id}.segment`), bytes);
    },
  };
}

export function logInto(lines: string[]): Log {
  const at = (level: string) => (message: string) => void lines.push(`${level} ${message}`);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** The delivery of a message with that number; `more` goes into its event. */
export function delivery(number: number, more = ''): Delivery {
  const event = `{"resource":"PROCESS_STATUS","type":"SUCCESS","resourceId":"${number}"${more}}`;
  return deliveryOf(`{"retailerId":1,"timestamp":"2026-03-20T03:00:00+01:00","event":${event}}`, number);
}

/** A delivery of that body, `second` seconds after two in the morning. */
export function deliveryOf(body: string | Uint8Array, second = 0): Delivery {
  return {
    receivedAtMs: SINCE_MS + second * 1000,
    sourceAddress: '35.204.195.116',
    keyId: '0',
    method: 'POST',
    body: Buffer.from(body),
  };
}

export function numberOf({ body }: Delivery): number {
  return Number(/"resourceId":"(\d+)"/.exec(Buffer.from(body).toString())?.[1]);
}

/** A segment with these deliveries, and where each of its frames begins. */
export function segmentOf(...deliveries: readonly Delivery[]): { bytes: Buffer; starts: number[] } {
  const encoded = deliveries.map(encode);
  const bytes = framesOf(encoded, true);
  const starts: number[] = [];
  let at = bytes.length;
  for (const { bytes: length } of [...encoded].reverse()) {
    at -= length;
    starts.unshift(at);
  }
  return { bytes, starts };
}

export async function deliveriesIn(file: string): Promise<StoredDelivery[]> {
  const all: StoredDelivery[] = [];
  for await (const one of readSegment(createReadStream(file), file)) all.push(one);
  return all;
}

/** The bytes of the files in `ready` that end in `.torn`, by the id of the segment. */
export async function tornIn({ folder }: Scene): Promise<ReadonlyMap<string, Buffer>> {
  const ready = path.join(folder, 'ready');
  const names = (await readdir(ready)).filter((name) => name.endsWith('.torn'));
  const entries = names.map(async (name) => [name.slice(0, -5), await readFile(path.join(ready, name))] as const);
  return new Map(await Promise.all(entries));
}
