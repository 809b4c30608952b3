/**
 * Writes what the receiver has accepted into the inbox, many messages in one transaction: what comes in within some milliseconds, and
 * while one is being synced, shares the next. A message counts as received once its transaction is committed, which is when `append` resolves.
 */
import type { Clock } from '../../core/clock.ts';
import { asEtlError, EtlError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { State } from '../../store/state.ts';
import { type InboxSize, inboxSize, type NewDelivery, ROW_BYTES, storeDeliveries } from '../../store/tables/inbox.ts';

/** Deliveries that wait for the disk; beyond it they are refused, or a slow disk would fill the memory. */
const QUEUE_BYTES = 8 * 1024 * 1024;
/** What comes within it shares a transaction, which takes 1 ms of CPU alone and 20 µs a message of many. Nobody's clock is asked. */
const GATHER_MS = 4;
/** While the inbox is full or cannot write it is looked at again this often: the pipeline may have emptied it, or somebody made room. */
const RELOOK_MS = 1000;

export interface InboxOptions {
  readonly state: State;
  readonly clock: Clock;
  /** Of all that the pipeline has not taken in. */
  readonly mostBytes: number;
  readonly log: Log;
}

interface Waiting {
  readonly delivery: NewDelivery;
  readonly bytes: number;
  readonly done: () => void;
  readonly failed: (error: EtlError) => void;
}

export class InboxWriter {
  private readonly options: InboxOptions;
  /** When it was last seen. */
  private size: InboxSize;
  private lookedMs = Number.NEGATIVE_INFINITY;
  private waiting: Waiting[] = [];
  /** Of what waits and what is being written. */
  private queuedBytes = 0;
  /** Goes on until nothing waits; never rejects. */
  private writing: Promise<void> | null = null;
  private isFailing = false;
  private isClosed = false;

  private constructor(options: InboxOptions, size: InboxSize) {
    this.options = options;
    this.size = size;
  }

  static async open(options: InboxOptions): Promise<InboxWriter> {
    return new InboxWriter(options, await inboxSize(options.state.db));
  }

  /** Resolves when the delivery is on the disk. Errors: `retry/inbox_full`, `retry/inbox_failed`; then it counts as not received. */
  async append(delivery: NewDelivery): Promise<void> {
    if (this.isClosed) throw new EtlError('retry', 'inbox_failed', 'the inbox is closed');
    const bytes = delivery.body.length + ROW_BYTES;
    this.demandRoom(bytes);
    this.queuedBytes += bytes;
    return new Promise((done, failed) => {
      this.waiting.push({ delivery, bytes, done, failed });
      this.writing ??= this.writeAll();
    });
  }

  /** Whether what comes now can be stored, as far as was seen last; where it could not, this looks again. */
  get isTaking(): boolean {
    const isFull = this.size.bytes + ROW_BYTES > this.options.mostBytes;
    if (isFull) this.lookAgain();
    else if (this.isFailing && this.mayLook()) this.writing ??= this.writeAll();
    return !isFull && !this.isFailing && !this.isClosed;
  }

  /** Resolves when all that was appended is answered; what comes afterwards is refused. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.writing;
  }

  private demandRoom(bytes: number): void {
    if (this.queuedBytes + bytes > QUEUE_BYTES)
      throw new EtlError('retry', 'inbox_full', `${this.queuedBytes} bytes wait for the disk of the inbox`);
    const held = this.size.bytes + this.queuedBytes;
    const { mostBytes } = this.options;
    if (held + bytes <= mostBytes) return;
    this.lookAgain();
    throw new EtlError('retry', 'inbox_full', `the inbox holds ${held} of ${mostBytes} bytes`, {
      hint: 'take it in with: partner-etl run push-messages, or raise push.inboxMiB',
    });
  }

  private mayLook(): boolean {
    const nowMs = this.options.clock.now();
    if (nowMs - this.lookedMs < RELOOK_MS) return false;
    this.lookedMs = nowMs;
    return true;
  }

  private lookAgain(): void {
    if (!this.mayLook()) return;
    const look = async () => {
      this.size = await inboxSize(this.options.state.db);
    };
    look().catch(() => undefined); // what was known before stays
  }

  /** Writes also when nothing waits: a transaction of its own, which shows whether one is possible. */
  private async writeAll(): Promise<void> {
    do {
      await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      const { waiting } = this;
      this.waiting = [];
      await this.write(waiting);
    } while (this.waiting.length > 0);
    this.writing = null;
  }

  private async write(waiting: readonly Waiting[]): Promise<void> {
    const { state, clock, log } = this.options;
    const bytes = waiting.reduce((sum, one) => sum + one.bytes, 0);
    try {
      const deliveries = waiting.map(({ delivery }) => delivery);
      this.size = await storeDeliveries(state, deliveries, clock);
    } catch (cause) {
      this.queuedBytes -= bytes;
      const error = inboxFailed(cause);
      for (const { failed } of waiting) failed(error);
      // Once, until it writes again: a full disk fails many times a second.
      if (!this.isFailing)
        log.error('the inbox cannot write; messages are refused', { error: asEtlError(cause).message });
      this.isFailing = true;
      return;
    }
    this.queuedBytes -= bytes;
    for (const { done } of waiting) done();
    if (this.isFailing) log.info('the inbox writes again');
    this.isFailing = false;
  }
}

function inboxFailed(cause: unknown): EtlError {
  return new EtlError('retry', 'inbox_failed', `the inbox cannot write: ${asEtlError(cause).message}`, {
    cause,
    hint: 'look whether its disk is full or damaged',
  });
}
