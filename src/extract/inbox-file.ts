/** The one file that the inbox writes at a time. An interface, so that a test can put a failing disk below it. */
import { type FileHandle, open } from 'node:fs/promises';

export interface SegmentFile {
  /** Appends all of the bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves when everything written is on the disk. */
  sync(): Promise<void>;
  truncate(bytes: number): Promise<void>;
  close(): Promise<void>;
}

/** Makes a file that must not be there yet. */
export type CreateSegmentFile = (file: string) => Promise<SegmentFile>;

export const createSegmentFile: CreateSegmentFile = async (file) => new DiskFile(await open(file, 'wx'));

class DiskFile implements SegmentFile {
  private readonly handle: FileHandle;
  private end = 0;

  constructor(handle: FileHandle) {
    this.handle = handle;
  }

  async write(bytes: Uint8Array): Promise<void> {
    // A write may take fewer bytes than it was given, as when a disk is nearly full.
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.handle.write(bytes, at, bytes.length - at, this.end);
      at += bytesWritten;
      this.end += bytesWritten;
    }
  }

  /** The size is synced as well, times are not. */
  async sync(): Promise<void> {
    await this.handle.datasync();
  }

  async truncate(bytes: number): Promise<void> {
    await this.handle.truncate(bytes);
    this.end = bytes;
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}
