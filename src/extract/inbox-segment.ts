/**
 * A segment of the inbox: deliveries one behind the other, as they were received.
 *
 *   segment   FORMAT_LINE frame*
 *   frame     u32 length of the rest, u32 CRC-32 of the rest, rest
 *   rest      u32 length of the head, head, body
 *   head      JSON {at: epoch milliseconds, from: source address, key: id of the key, method}
 *
 * Numbers are big-endian. A length is never believed before the bytes are there: what is held in memory is what was read.
 */
import { crc32 } from 'node:zlib';
import { EtlError } from '../core/errors.ts';

/** One delivery of a message, accepted. Nobody changes the body afterwards. */
export interface Delivery {
  readonly receivedAtMs: number;
  readonly sourceAddress: string;
  readonly keyId: string;
  readonly method: string;
  readonly body: Uint8Array;
}

export interface StoredDelivery extends Delivery {
  /** Place in the segment: 0, 1, 2 … */
  readonly position: number;
}

export const FORMAT_LINE = Buffer.from('partner-etl inbox segment 1\n');
/** A longer frame is damage. Bodies are limited to 1 MiB by the settings, heads are some 100 bytes. */
export const FRAME_BYTES = 2 * 1024 * 1024;

/** Length and CRC. */
export const PREFIX_BYTES = 8;
const HEAD_LENGTH_BYTES = 4;

/** A delivery with its head as it is written. */
export interface Encoded {
  readonly head: Uint8Array;
  readonly body: Uint8Array;
  /** Of the whole frame. */
  readonly bytes: number;
}

/** Errors: `failed/delivery_too_large`. */
export function encode({ receivedAtMs, sourceAddress, keyId, method, body }: Delivery): Encoded {
  const head = Buffer.from(JSON.stringify({ at: receivedAtMs, from: sourceAddress, key: keyId, method }));
  const bytes = PREFIX_BYTES + HEAD_LENGTH_BYTES + head.length + body.length;
  if (bytes > FRAME_BYTES)
    throw new EtlError('failed', 'delivery_too_large', `a delivery takes ${bytes} bytes, more than ${FRAME_BYTES}`);
  return { head, body, bytes };
}

/** The bytes of frames, to be written at once; behind a format line where they are the first ones. */
export function framesOf(deliveries: readonly Encoded[], isFirst: boolean): Buffer {
  const start = isFirst ? FORMAT_LINE.length : 0;
  const all = Buffer.allocUnsafe(deliveries.reduce((sum, { bytes }) => sum + bytes, start));
  if (isFirst) all.set(FORMAT_LINE);
  let at = start;
  for (const { head, body, bytes } of deliveries) {
    all.writeUInt32BE(bytes - PREFIX_BYTES, at);
    all.writeUInt32BE(head.length, at + PREFIX_BYTES);
    all.set(head, at + PREFIX_BYTES + HEAD_LENGTH_BYTES);
    all.set(body, at + PREFIX_BYTES + HEAD_LENGTH_BYTES + head.length);
    all.writeUInt32BE(crc32(all.subarray(at + PREFIX_BYTES, at + bytes)), at + 4);
    at += bytes;
  }
  return all;
}

/** A frame whose CRC is right. */
export interface Frame {
  readonly position: number;
  readonly body: Buffer;
  /** Where the next one begins, in bytes from the segment's beginning. */
  readonly end: number;
  /** Its delivery; null where the head is none of ours. */
  delivery(): StoredDelivery | null;
}

/** How a segment ends. */
interface SegmentEnd {
  /** Bytes that are sound, from the beginning; 0 where even the format line is not there. */
  readonly soundBytes: number;
  /** What is wrong with what comes behind them; null where nothing comes. */
  readonly fault: string | null;
}

/**
 * The sound frames from the beginning on, up to the end or the first that is not sound; the generator's return value says
 * where that is. Holds one frame and one chunk. 60,000 deliveries of 400 bytes take some 0.25 s of one core.
 */
export async function* soundFrames(source: AsyncIterable<Uint8Array>): AsyncGenerator<Frame, SegmentEnd> {
  const input = new Input(source);
  try {
    const hasLine = await input.has(FORMAT_LINE.length);
    if (!hasLine || !input.take(FORMAT_LINE.length).equals(FORMAT_LINE))
      return { soundBytes: 0, fault: 'it does not begin as an inbox segment' };
    let end = FORMAT_LINE.length;
    for (let position = 0; ; position++) {
      if (!(await input.has(PREFIX_BYTES))) return { soundBytes: end, fault: input.isEmpty ? null : CUT };
      const prefix = input.take(PREFIX_BYTES);
      const length = prefix.readUInt32BE(0);
      if (!isFrameLength(length)) return { soundBytes: end, fault: `its length of ${length} bytes is impossible` };
      if (!(await input.has(length))) return { soundBytes: end, fault: CUT };
      const rest = input.take(length);
      if (!isRest(rest, prefix.readUInt32BE(4))) return { soundBytes: end, fault: 'its bytes are not those written' };
      end += PREFIX_BYTES + length;
      yield frameOf(rest, position, end);
    }
  } finally {
    await input.close();
  }
}

const CUT = 'the segment ends in the middle of it';

/** Whether the rest of a frame can have this length. */
export function isFrameLength(length: number): boolean {
  return length >= HEAD_LENGTH_BYTES && length <= FRAME_BYTES - PREFIX_BYTES;
}

/** Whether these are the bytes of a frame's rest, all of them. */
export function isRest(rest: Buffer, crc: number): boolean {
  if (rest.length < HEAD_LENGTH_BYTES || crc32(rest) !== crc) return false;
  return HEAD_LENGTH_BYTES + rest.readUInt32BE(0) <= rest.length;
}

function frameOf(rest: Buffer, position: number, end: number): Frame {
  const bodyAt = HEAD_LENGTH_BYTES + rest.readUInt32BE(0);
  const body = rest.subarray(bodyAt);
  return { position, body, end, delivery: () => deliveryOf(rest.subarray(HEAD_LENGTH_BYTES, bodyAt), body, position) };
}

/** The deliveries of a segment; `name` is what errors call it. Errors: `failed/damaged_segment`. */
export async function* readSegment(source: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<StoredDelivery> {
  const frames = soundFrames(source);
  try {
    for (let position = 0; ; position++) {
      const { done, value } = await frames.next();
      if (done && value.fault === null) return;
      if (done) throw damaged(name, position, value.soundBytes, value.fault);
      const delivery = value.delivery();
      if (delivery === null) throw damaged(name, position, value.end, 'its head is none of ours');
      yield delivery;
    }
  } finally {
    await frames.return({ soundBytes: 0, fault: null });
  }
}

function damaged(name: string, position: number, byte: number, fault: string | null): EtlError {
  return new EtlError(
    'failed',
    'damaged_segment',
    `${name} is damaged at delivery ${position}, byte ${byte}: ${fault}`,
    {
      concern: { file: name },
      hint: `restore ${name} from a backup; or move it away to go on without it: the deliveries before it are sound`,
    },
  );
}

/** The last instant whose day has four digits in every zone. */
const LATEST_MS = Date.UTC(9999, 11, 30);

function deliveryOf(head: Buffer, body: Buffer, position: number): StoredDelivery | null {
  const { at, from, key, method } = objectIn(head);
  const isInstant = Number.isSafeInteger(at) && (at as number) >= 0 && (at as number) <= LATEST_MS;
  if (!isInstant || typeof from !== 'string' || typeof key !== 'string' || typeof method !== 'string') return null;
  return { position, receivedAtMs: at as number, sourceAddress: from, keyId: key, method, body };
}

function objectIn(head: Buffer): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(head.toString('utf8')) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Chunks as they come, taken in pieces of the length that is wanted. */
class Input {
  private readonly source: AsyncIterator<Uint8Array>;
  private chunks: Buffer[] = [];
  private bytes = 0;
  private isOver = false;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.source = source[Symbol.asyncIterator]();
  }

  /** Nothing is left. */
  get isEmpty(): boolean {
    return this.isOver && this.bytes === 0;
  }

  /** Reads until so many bytes are there; false where the source ends before. */
  async has(length: number): Promise<boolean> {
    while (this.bytes < length) {
      if (this.isOver) return false;
      const { done, value } = await this.source.next();
      if (done) this.isOver = true;
      else if (value.length > 0) {
        // The source may use its memory again.
        this.chunks.push(Buffer.from(value));
        this.bytes += value.length;
      }
    }
    return true;
  }

  /** Lets go of the source. */
  async close(): Promise<void> {
    if (!this.isOver) await this.source.return?.();
  }

  /** The next bytes, which are there. */
  take(length: number): Buffer {
    const [first] = this.chunks;
    const all = first && first.length >= length ? first : Buffer.concat(this.chunks);
    if (all !== first) this.chunks = [all];
    this.chunks[0] = all.subarray(length);
    if (this.chunks[0].length === 0) this.chunks.shift();
    this.bytes -= length;
    return all.subarray(0, length);
  }
}
