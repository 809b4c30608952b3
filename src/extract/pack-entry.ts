/** Entries of packs, read again: found by their `vault_path`, taken apart, and proved by the sha256 of the fetch. */
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { gunzipSync, inflateRawSync } from 'node:zlib';
import { LIMITS } from '../core/limits.ts';
import type { FetchRecord } from '../core/records.ts';

/** Where a run's pack and its fetch records lie. */
export interface PackFiles {
  readonly packFile: string;
  readonly recordsFile: string;
  /** The pack relative to the home directory. */
  readonly packPath: string;
}

/** Where an entry lies. */
export interface PackPlace {
  /** As in `vault_path`: relative to the home directory. */
  readonly pack: string;
  readonly offset: number;
  readonly length: number;
  readonly isGzip: boolean;
}

/** An entry taken apart. */
export interface PackEntry {
  readonly asked: unknown;
  /** Decoded. */
  readonly body: Buffer;
}

/** Questions unpack to no more than this: 100 of them are some 8 KB. */
const ASKED = { maxOutputLength: 1024 * 1024 };

/** The place in a pack that a `vault_path` names; null when it names a file of its own. */
export function packPlace(vaultPath: string): PackPlace | null {
  const parts = /^(.+\.pack)@([0-9]{1,15})\+([0-9]{1,10})(\.gz)?$/.exec(vaultPath);
  if (!parts) return null;
  return { pack: parts[1]!, offset: Number(parts[2]), length: Number(parts[3]), isGzip: parts[4] !== undefined };
}

/** Takes the bytes of an entry apart. Throws when they are none. */
export function entryOf(bytes: Buffer, { length, isGzip }: PackPlace): PackEntry {
  if (bytes.length !== length) throw new RangeError(`${bytes.length} bytes are there, not ${length}`);
  const bodyAt = 4 + bytes.readUInt32BE(0);
  if (bodyAt > length) throw new RangeError(`the questions reach beyond the entry`);
  const stored = bytes.subarray(bodyAt);
  return {
    asked: JSON.parse(askedIn(bytes.subarray(4, bodyAt)).toString('utf8')) as unknown,
    body: isGzip ? gunzipSync(stored, { maxOutputLength: LIMITS.lookupAnswerBytes }) : stored,
  };
}

/** Questions of before there were checksums are deflated only, which never begins with these two bytes. */
function askedIn(bytes: Buffer): Buffer {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  return isGzip ? gunzipSync(bytes, ASKED) : inflateRawSync(bytes, ASKED);
}

export function isBodyOf(fetch: FetchRecord, body: Uint8Array): boolean {
  return createHash('sha256').update(body).digest('hex') === fetch.sha256;
}

/** The bytes of one entry; fewer where the pack ends before. */
export async function readEntry(file: string, { offset, length }: PackPlace): Promise<Buffer> {
  const handle = await open(file, 'r');
  try {
    return await readAt(handle, offset, length);
  } finally {
    await handle.close();
  }
}

/** Entries that are read at once, and how much of the pack. */
const GROUP_ENTRIES = 512;
const GROUP_BYTES = 4 * 1024 * 1024;

/** A fetch with where its answer lies. */
export interface Placed {
  readonly fetch: FetchRecord;
  readonly place: PackPlace;
}

/** Neighbours of one pack, in the order in which they come, as many as are well read at once. */
export class PlacedGroup {
  readonly entries: Placed[] = [];
  private from = 0;
  private to = 0;
  private entryBytes = 0;

  /** Whether the entry lies so near to the others that one read fetches them all. */
  fits({ place }: Placed): boolean {
    if (this.entries.length === 0) return true;
    const [from, to] = this.with(place);
    const isNear =
      to - from <= Math.max(GROUP_BYTES, place.length) && to - from <= 4 * (this.entryBytes + place.length);
    return this.entries[0]!.place.pack === place.pack && this.entries.length < GROUP_ENTRIES && isNear;
  }

  add(placed: Placed): void {
    [this.from, this.to] = this.with(placed.place);
    this.entryBytes += placed.place.length;
    this.entries.push(placed);
  }

  /** The bytes of each entry, in order; fewer than it has where the pack ends before. */
  async read(file: string): Promise<Buffer[]> {
    const handle = await open(file, 'r');
    try {
      const { size } = await handle.stat();
      const bytes = await readAt(handle, this.from, Math.max(0, Math.min(this.to, size) - this.from));
      return this.entries.map(({ place: { offset, length } }) =>
        bytes.subarray(offset - this.from, offset - this.from + length),
      );
    } finally {
      await handle.close();
    }
  }

  private with({ offset, length }: PackPlace): [from: number, to: number] {
    if (this.entries.length === 0) return [offset, offset + length];
    return [Math.min(this.from, offset), Math.max(this.to, offset + length)];
  }
}

async function readAt(handle: FileHandle, offset: number, length: number): Promise<Buffer> {
  const size = (await handle.stat()).size;
  const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, size - offset)));
  let at = 0;
  while (at < bytes.length) {
    const { bytesRead } = await handle.read(bytes, at, bytes.length - at, offset + at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return bytes.subarray(0, at);
}
