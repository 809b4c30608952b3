/** Stored bodies whose erased values are replaced: the file beside its place, and what its record has to say of it. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { moveIntoPlace } from '../disk/atomic.ts';
import type { StoredDelivery } from '../store/inbox.ts';
import type { Masker } from './masker.ts';
import { deliveryLine, readDeliveries } from './stored-deliveries.ts';

const READ_BYTES = 1024 * 1024;

/** What is in a file: a body of JSON, or one that is packed. */
export type BodyKind = 'json' | 'gzip';

export interface MaskedBody {
  /** Decoded. */
  readonly bytes: number;
  /** Of the decoded body, lower-case hex. */
  readonly sha256: string;
}

/** The decoded bytes of the file, masked. Errors: of a file that is no such body. */
export function maskedBytes(file: string, kind: BodyKind, masker: Masker): AsyncIterable<Uint8Array> {
  const stored = createReadStream(file, { highWaterMark: READ_BYTES });
  if (kind === 'json') return masker.through(stored);
  const decoded = createGunzip({ chunkSize: READ_BYTES });
  stored.on('error', (error) => decoded.destroy(error));
  decoded.on('close', () => stored.destroy());
  return masker.through(stored.pipe(decoded));
}

/** The decoded bytes of an object of deliveries, with their bodies masked. Errors: `failed/damaged_answer`. */
export async function* maskedDeliveries(
  source: AsyncIterable<Uint8Array>,
  name: string,
  masker: Masker,
): AsyncGenerator<Uint8Array> {
  for await (const delivery of readDeliveries(source, name))
    yield Buffer.from(deliveryLine(maskedDelivery(delivery, masker)));
}

/** The delivery itself where nothing in it is to be replaced. */
export function maskedDelivery(delivery: StoredDelivery, masker: Masker): StoredDelivery {
  const body = masker.mask(delivery.body);
  if (body === delivery.body) return delivery;
  return { ...delivery, body, bodySha256: createHash('sha256').update(body).digest('hex') };
}

/** Whether anything in the file is to be replaced. Errors: of a file that is no such body. */
export async function holdsErased(file: string, kind: BodyKind, masker: Masker): Promise<boolean> {
  const looking = masker.again();
  for await (const _ of maskedBytes(file, kind, looking)) if (looking.found > 0) return true;
  return false;
}

/** Writes the body masked to `to`, in the same form. Not synced: it is to be moved into its place. */
export async function writeMasked(file: string, to: string, kind: BodyKind, masker: Masker): Promise<MaskedBody> {
  const hash = createHash('sha256');
  let bytes = 0;
  async function* hashed() {
    for await (const chunk of maskedBytes(file, kind, masker.again())) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  }
  const source = Readable.from(hashed(), { objectMode: false });
  const out = createWriteStream(to, { mode: 0o600 });
  if (kind !== 'json') await pipeline(source, createGzip(), out);
  else await pipeline(source, out);
  return { bytes, sha256: hash.digest('hex') };
}

/** The same in the file's own place; false where nothing was to be replaced. `scratch`: on the same file system. */
export async function maskInPlace(file: string, scratch: string, kind: BodyKind, masker: Masker): Promise<boolean> {
  if (!(await holdsErased(file, kind, masker))) return false;
  try {
    await writeMasked(file, scratch, kind, masker);
    await moveIntoPlace(scratch, file);
  } finally {
    await rm(scratch, { force: true });
  }
  return true;
}
