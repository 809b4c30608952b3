/**
 * The inbox: where messages lie from the moment they are answered until the pipeline takes them in.
 *
 * `append` resolves when the delivery is on the disk. Deliveries that come while a sync goes on wait, and go together with
 * the next write and sync: with 64 at once one sync serves them all. Measured with messages of 400 bytes on two cores that were
 * busy with other work, and a virtual disk that syncs in 0.6 ms: 250 to 1,000 a second one by one, 14,000 to 50,000 with 64 at
 * once (p99 6 to 44 ms).
 *
 * One segment is open at a time. It begins with the first delivery, and is made ready (renamed) after some seconds, when it is
 * large, or when asked to. States of a segment:
 *
 *   none ──first delivery──▶ open ──time, size, seal──▶ ready
 *                             └──write or sync fails──▶ abandoned ──what was synced is saved──▶ ready
 *                                                          └──it cannot be──▶ left in `open` for sealOrphans
 *
 * Invariants: what was answered was synced before. A file whose sync has failed is never synced again: the kernel may have
 * dropped its pages and call the next sync a success. Everything that touches the disk goes in turn, one after the other.
 */
import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../core/clock.ts';
import { asEtlError, EtlError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import { syncDir } from '../disk/atomic.ts';
import { type CreateSegmentFile, createSegmentFile, type SegmentFile } from './inbox-file.ts';
import { makeReady, openFile, openFolder, readyFolder, sealedSegments } from './inbox-folder.ts';
import { COPY } from './inbox-orphans.ts';
import { type Delivery, type Encoded, encode, framesOf } from './inbox-segment.ts';

export { hasDelivery, type Segment, sealedSegments } from './inbox-folder.ts';
export { sealOrphans } from './inbox-orphans.ts';
export { type Delivery, readSegment, type StoredDelivery } from './inbox-segment.ts';

const MiB = 1024 * 1024;
const SEGMENT_BYTES = 32 * MiB;
/** Deliveries that wait for the disk; beyond it they are refused, or a slow disk would fill the memory. */
const QUEUE_BYTES = 8 * MiB;
/** While the inbox is full, the folder is looked at again this often: the pipeline may have emptied it. */
const RELIST_MS = 1000;

export interface InboxOptions {
  readonly folder: string;
  readonly clock: Clock;
  /** Since the first delivery of a segment. */
  readonly sealAfterMs: number;
  readonly segmentBytes?: number;
  /** Of all segments together that the pipeline has not taken in. */
  readonly mostBytes: number;
  readonly log: Log;
  readonly createFile?: CreateSegmentFile;
}

interface Waiting {
  readonly encoded: Encoded;
  readonly done: () => void;
  readonly failed: (error: EtlError) => void;
}

interface OpenSegment {
  readonly id: string;
  readonly file: SegmentFile;
  /** Ends the waiting for its time. */
  readonly over: AbortController;
  syncedBytes: number;
  hasSyncFailed: boolean;
}

export class InboxWriter {
  private readonly folder: string;
  private readonly clock: Clock;
  private readonly sealAfterMs: number;
  private readonly segmentBytes: number;
  private readonly mostBytes: number;
  private readonly log: Log;
  private readonly createFile: CreateSegmentFile;

  private segment: OpenSegment | null = null;
  /** When the newest segment was begun. */
  private begunMs = 0;
  private waiting: Waiting[] = [];
  /** Of what waits and what is being written. */
  private queuedBytes = 0;
  private isRoundDue = false;
  /** Of segments that are ready, when the folder was last looked at. */
  private readyBytes = 0;
  private relistedMs = Number.NEGATIVE_INFINITY;
  /** What goes on with the disk, to its end; never rejects. */
  private turn: Promise<unknown> = Promise.resolve();
  private isFailing = false;
  private isClosed = false;

  private constructor(options: InboxOptions) {
    this.folder = options.folder;
    this.clock = options.clock;
    this.sealAfterMs = options.sealAfterMs;
    this.segmentBytes = options.segmentBytes ?? SEGMENT_BYTES;
    this.mostBytes = options.mostBytes;
    this.log = options.log;
    this.createFile = options.createFile ?? createSegmentFile;
  }

  /** One a process, under the lock of the receiver. Makes the folders; segments that were left open are for sealOrphans. */
  static async open(options: InboxOptions): Promise<InboxWriter> {
    const writer = new InboxWriter(options);
    await mkdir(openFolder(options.folder), { recursive: true });
    await mkdir(readyFolder(options.folder), { recursive: true });
    await syncDir(options.folder);
    await syncDir(path.dirname(options.folder));
    await writer.relist();
    return writer;
  }

  /**
   * Resolves when the delivery is on the disk; nobody changes its body before. Errors: `retry/inbox_full`, `retry/inbox_failed`;
   * then the delivery counts as not received.
   */
  async append(delivery: Delivery): Promise<void> {
    if (this.isClosed) throw new EtlError('retry', 'inbox_failed', 'the inbox is closed');
    const encoded = encode(delivery);
    this.demandRoom(encoded.bytes);
    this.queuedBytes += encoded.bytes;
    return new Promise((done, failed) => {
      this.waiting.push({ encoded, done, failed });
      if (!this.isRoundDue) this.queueRound();
    });
  }

  /** Of all segments that the pipeline has not taken in and what is on its way there, as far as known. */
  get waitingBytes(): number {
    return this.readyBytes + (this.segment?.syncedBytes ?? 0) + this.queuedBytes;
  }

  /** Makes ready what was appended so far. Errors: `retry/inbox_failed`; then it is done later. */
  async seal(): Promise<void> {
    await this.inTurn(() => this.sealSegment());
  }

  /** Seals as well; what is appended afterwards is refused. What cannot be sealed is left for sealOrphans, and told. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.inTurn(async () => {
      await this.sealSegment().catch((error) => this.tell('the inbox segment is left open', error));
      const { segment } = this;
      this.segment = null;
      segment?.over.abort();
      await segment?.file.close();
    });
  }

  private demandRoom(bytes: number): void {
    if (this.queuedBytes + bytes > QUEUE_BYTES)
      throw new EtlError('retry', 'inbox_full', `${this.queuedBytes} bytes wait for the disk of the inbox`);
    if (this.waitingBytes + bytes <= this.mostBytes) return;
    if (this.clock.now() - this.relistedMs >= RELIST_MS) {
      this.relistedMs = this.clock.now();
      this.inTurn(() => this.relist()).catch(() => undefined); // what was known before stays
    }
    throw new EtlError('retry', 'inbox_full', `the inbox holds ${this.waitingBytes} of ${this.mostBytes} bytes`, {
      hint: 'take it in with: partner-etl run push-messages, or raise push.inboxMiB',
    });
  }

  /** Carries the work out when everything before it is over. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.turn.then(work);
    this.turn = result.catch(() => undefined);
    return result;
  }

  private queueRound(): void {
    this.isRoundDue = true;
    this.inTurn(() => this.round()).catch((error) => this.tell('the inbox could not save what it had', error));
  }

  /** Writes and syncs everything that waits, and answers it. */
  private async round(): Promise<void> {
    this.isRoundDue = false;
    const { waiting } = this;
    this.waiting = [];
    const bytes = waiting.reduce((sum, { encoded }) => sum + encoded.bytes, 0);
    try {
      await this.write(waiting.map(({ encoded }) => encoded));
    } catch (cause) {
      this.queuedBytes -= bytes;
      const error = inboxFailed(cause);
      for (const { failed } of waiting) failed(error);
      this.tell('the inbox cannot write; messages are refused', cause);
      await this.abandon();
      return;
    }
    this.queuedBytes -= bytes;
    for (const { done } of waiting) done();
    if (this.isFailing) this.log.info('the inbox writes again');
    this.isFailing = false;
    if ((this.segment?.syncedBytes ?? 0) >= this.segmentBytes)
      await this.sealSegment().catch((error) => this.tell('the inbox segment cannot be made ready', error));
  }

  private async write(deliveries: readonly Encoded[]): Promise<void> {
    const isFirst = this.segment === null;
    this.segment ??= await this.begin();
    const { segment } = this;
    const bytes = framesOf(deliveries, isFirst);
    await segment.file.write(bytes);
    try {
      await segment.file.sync();
    } catch (error) {
      segment.hasSyncFailed = true;
      throw error;
    }
    // Only now may a name stand for it that a power cut does not forget.
    if (isFirst) await syncDir(openFolder(this.folder));
    segment.syncedBytes += bytes.length;
  }

  private async begin(): Promise<OpenSegment> {
    // Later than the one before, also where the clock stands still: segments sort by their ids.
    const beginMs = Math.max(this.clock.now(), this.begunMs + 1);
    this.begunMs = beginMs;
    const id = newId('f', { now: () => beginMs, sleep: this.clock.sleep });
    const file = await this.createFile(openFile(this.folder, id));
    const segment = { id, file, over: new AbortController(), syncedBytes: 0, hasSyncFailed: false };
    this.sealInTime(segment);
    return segment;
  }

  /** Seals the segment when its time has come and it is still the open one. */
  private sealInTime(segment: OpenSegment): void {
    const seal = () =>
      this.inTurn(async () => {
        if (this.segment === segment) await this.sealSegment();
      }).catch((error) => {
        this.tell('the inbox segment cannot be made ready', error);
        this.sealInTime(segment);
      });
    this.clock.sleep(this.sealAfterMs, segment.over.signal).then(seal, () => undefined);
  }

  /** Makes the open segment ready. Where that fails it stays as it is. */
  private async sealSegment(): Promise<void> {
    const { segment } = this;
    if (segment === null) return;
    try {
      await makeReady(this.folder, segment.id);
    } catch (cause) {
      throw inboxFailed(cause);
    }
    this.segment = null;
    segment.over.abort();
    this.readyBytes += segment.syncedBytes;
    await segment.file.close().catch(() => undefined); // its bytes are synced
    await this.relist().catch(() => undefined); // what was known before stays
  }

  /** Gives the open segment up after an error. What was answered of it is made ready where the disk allows it. */
  private async abandon(): Promise<void> {
    const { segment } = this;
    if (segment === null) return;
    this.segment = null;
    segment.over.abort();
    try {
      if (segment.syncedBytes === 0) await rm(openFile(this.folder, segment.id), { force: true });
      else if (segment.hasSyncFailed) await this.saveCopy(segment);
      else await this.saveBeginning(segment);
      this.readyBytes += segment.syncedBytes;
    } catch (cause) {
      this.log.error(`what the inbox segment ${segment.id} holds is left open until the receiver starts again`, {
        file: openFile(this.folder, segment.id),
        error: asEtlError(cause).message,
      });
    } finally {
      await segment.file.close().catch(() => undefined); // what it had to keep is safe or told
    }
  }

  private async saveBeginning({ id, file, syncedBytes }: OpenSegment): Promise<void> {
    await file.truncate(syncedBytes);
    await file.sync();
    await makeReady(this.folder, id);
  }

  /** What was synced before is still to be read, but the file itself cannot be trusted any more. */
  private async saveCopy({ id, syncedBytes }: OpenSegment): Promise<void> {
    const from = openFile(this.folder, id);
    const copy = `${from}${COPY}`;
    const file = await this.createFile(copy);
    try {
      for await (const chunk of createReadStream(from, { end: syncedBytes - 1 }) as AsyncIterable<Uint8Array>)
        await file.write(chunk);
      await file.sync();
    } finally {
      await file.close();
    }
    await makeReady(this.folder, id, copy);
    await rm(from, { force: true }).catch(() => undefined); // sealed once more, it would only deliver the same again
  }

  private async relist(): Promise<void> {
    const segments = await sealedSegments(this.folder);
    this.readyBytes = segments.reduce((sum, { bytes }) => sum + bytes, 0);
    this.relistedMs = this.clock.now();
  }

  /** Once, until it writes again: a broken disk fails many times a second. */
  private tell(message: string, thrown: unknown): void {
    if (!this.isFailing) this.log.error(message, { error: asEtlError(thrown).message });
    this.isFailing = true;
  }
}

function inboxFailed(cause: unknown): EtlError {
  return new EtlError('retry', 'inbox_failed', `the inbox cannot write: ${asEtlError(cause).message}`, {
    cause,
    hint: 'look whether its disk is full or damaged',
  });
}
