/** A file on its way in: as it arrives it goes to the raw store as received, and decoded to a scratch file. Memory holds some chunks. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import { EtlError } from '../core/errors.ts';
import { FileSink } from '../disk/sink.ts';
import type { RawStore } from '../store/raw/raw.ts';
import { gunzip, type Incoming, inspected, isGzipEncoding } from './answer.ts';

export interface ReceivedFile {
  readonly sha256: string;
  readonly rawPath: string;
  readonly bytesDecoded: number;
  /** The first bytes of the decoded file. */
  readonly head: Buffer;
}

export interface FileDestination {
  readonly raw: RawStore;
  readonly pipeline: string;
  /** Scratch space. */
  readonly folder: string;
  /** What the stored file's name ends in. */
  readonly extension: 'csv' | 'txt';
  /** Where the decoded bytes go; null: nowhere. */
  readonly decodedFile: string | null;
  /** A longer one is refused. */
  readonly mostBytes: number;
}

/** Of the head that is kept. */
const HEAD_BYTES = 64 * 1024;

/** Takes a body in. Errors: `retry/…` when it came damaged, `failed/too_large`, `failed/content_encoding`. */
export async function receiveFile(
  { contentEncoding, body, inspect }: Incoming,
  { raw, pipeline, folder, extension, decodedFile, mostBytes }: FileDestination,
): Promise<ReceivedFile> {
  const isGzip = isGzipEncoding(contentEncoding);
  const stored = await raw.receive(pipeline, path.join(folder, 'body'), extension);
  const decoded = decodedFile === null ? null : await FileSink.open(decodedFile);
  const hash = createHash('sha256');
  const head: Uint8Array[] = [];
  let bytesDecoded = 0;
  async function* kept() {
    for await (const chunk of body) {
      await stored.write(chunk);
      yield chunk;
    }
  }
  try {
    for await (const chunk of inspected(isGzip ? gunzip(kept()) : kept(), inspect)) {
      hash.update(chunk);
      if (bytesDecoded < HEAD_BYTES) head.push(chunk.slice());
      bytesDecoded += chunk.length;
      if (bytesDecoded > mostBytes)
        throw new EtlError('failed', 'too_large', `the answer is longer than ${mostBytes} bytes`, {
          hint: 'this is not what was asked for; what was loaded before stays',
        });
      await decoded?.write(chunk.slice());
    }
    await decoded?.close();
    const sha256 = hash.digest('hex');
    const rawPath = await stored.keep(sha256, isGzip);
    return { sha256, rawPath, bytesDecoded, head: Buffer.concat(head).subarray(0, HEAD_BYTES) };
  } catch (error) {
    await decoded?.close().catch(() => undefined); // the first error is the one to tell
    await stored.discard().catch(() => undefined);
    throw error;
  }
}
