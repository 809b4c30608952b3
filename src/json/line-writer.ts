import assert from 'node:assert/strict';
import { ByteBuffer } from './byte-buffer.ts';

/** Finished lines are handed over when there are so many bytes of them. */
const FLUSH_BYTES = 256 * 1024;

/** Room for the frame around the fields of a line: its own keys with three numbers of at most 16 digits. */
const FRAME_BYTES = 128;

const encoder = new TextEncoder();
const ITEM = encoder.encode('{"_i":"');
const OFFSET = encoder.encode('","_o":"');
const LENGTH = encoder.encode('","_l":"');
const EXTRA = encoder.encode(',"_x":"');
const FAULT = encoder.encode(',"_b":"');

/**
 * Writes the lines: `{"_i":"0","_o":"10","_l":"480",` fields `,"_x":"…","_b":"…"}`.
 *
 * The scanners write fields into `out` directly. Behind the current line, `out` also takes keys, and values that do not go
 * into the line, for a moment; their users set `out.at` back.
 */
export class LineWriter {
  readonly out = new ByteBuffer(2 * FLUSH_BYTES);
  lines = 0;
  longestBytes = 0;
  private readonly onLines: (lines: Uint8Array) => void;
  /** Where the current line begins; before it lie finished lines. */
  private start = 0;
  /** Where the digits of `_l` stand, and how many: the length is guessed to have as many as the one before. */
  private lengthAt = 0;
  private lengthDigits = 3;

  constructor(onLines: (lines: Uint8Array) => void) {
    this.onLines = onLines;
  }

  /** Begins the line of an item; reserves `roomBytes` for fields. */
  begin(item: number, offset: number, roomBytes: number): void {
    const { out } = this;
    if (this.start >= FLUSH_BYTES) this.flush();
    out.reserve(roomBytes + FRAME_BYTES);
    const { bytes } = out;
    let o = putDecimal(bytes, put(bytes, out.at, ITEM), item);
    o = putDecimal(bytes, put(bytes, o, OFFSET), offset);
    o = put(bytes, o, LENGTH);
    this.lengthAt = o;
    o += this.lengthDigits;
    bytes[o++] = 0x22;
    out.at = o;
  }

  /** Ends the line. `extra` holds the text of the unknown fields, `fault` what `_b` says; both may be empty. */
  finish(length: number, extra: ByteBuffer, fault: Uint8Array | null): void {
    const { out } = this;
    assert(out.at <= out.bytes.length, 'a line outgrew the room that was made for it');
    out.reserve(FRAME_BYTES + 2 * extra.at + (fault?.length ?? 0));
    this.putLength(length);
    if (extra.at > 0) {
      out.at = put(out.bytes, out.at, EXTRA);
      out.appendEscaped(extra.bytes, 0, extra.at);
      out.bytes[out.at++] = 0x22;
    }
    if (fault !== null) {
      out.at = put(out.bytes, out.at, FAULT);
      out.at = put(out.bytes, out.at, fault);
      out.bytes[out.at++] = 0x22;
    }
    out.bytes[out.at++] = 0x7d;
    out.bytes[out.at++] = 0x0a;
    const lineBytes = out.at - this.start;
    if (lineBytes > this.longestBytes) this.longestBytes = lineBytes;
    this.start = out.at;
    this.lines++;
  }

  /** Forgets the current line. */
  drop(): void {
    this.out.at = this.start;
  }

  /** Hands the finished lines over. No line may be unfinished. */
  flush(): void {
    if (this.start > 0) this.onLines(this.out.bytes.subarray(0, this.start));
    this.start = 0;
    this.out.at = 0;
  }

  private putLength(length: number): void {
    const { bytes } = this.out;
    const digits = digitsOf(length);
    if (digits !== this.lengthDigits) {
      bytes.copyWithin(this.lengthAt + digits, this.lengthAt + this.lengthDigits, this.out.at);
      this.out.at += digits - this.lengthDigits;
      this.lengthDigits = digits;
    }
    putDecimal(bytes, this.lengthAt, length);
  }
}

function put(bytes: Uint8Array, at: number, text: Uint8Array): number {
  for (let i = 0, o = at; i < text.length; i++, o++) bytes[o] = text[i]!;
  return at + text.length;
}

const HALF = 1e9;

/** Writes a whole number from 0 to 2^53; returns the end. */
function putDecimal(bytes: Uint8Array, at: number, value: number): number {
  if (value < HALF) return putDigits(bytes, at, value, digitsOf(value));
  const high = Math.floor(value / HALF);
  return putDigits(bytes, putDigits(bytes, at, high, digitsOf(high)), value - high * HALF, 9);
}

function putDigits(bytes: Uint8Array, at: number, value: number, digits: number): number {
  let rest = value | 0;
  for (let o = at + digits - 1; o >= at; o--) {
    const tenth = (rest / 10) | 0;
    bytes[o] = 0x30 + rest - tenth * 10;
    rest = tenth;
  }
  return at + digits;
}

function digitsOf(value: number): number {
  let digits = 1;
  for (let limit = 10; value >= limit; limit *= 10) digits++;
  return digits;
}
