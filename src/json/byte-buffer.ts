import { type Words, wordsOf } from './words.ts';

/** Bytes that grow at the end. The fast paths write into `bytes` at `at` themselves, after `reserve`. */
export class ByteBuffer {
  bytes: Uint8Array;
  words: Words;
  /** Where the next byte goes. */
  at = 0;

  constructor(capacityBytes: number) {
    this.bytes = new Uint8Array(capacityBytes);
    this.words = wordsOf(this.bytes);
  }

  /** Makes sure that so many more bytes fit. Positions stay, `bytes` may be another array afterwards. */
  reserve(extraBytes: number): void {
    if (this.bytes.length - this.at >= extraBytes) return;
    const grown = new Uint8Array(Math.max(this.bytes.length * 2, this.at + extraBytes));
    grown.set(this.bytes.subarray(0, this.at));
    this.bytes = grown;
    this.words = wordsOf(grown);
  }

  push(byte: number): void {
    this.reserve(1);
    this.bytes[this.at++] = byte;
  }

  append(source: Uint8Array, from: number, to: number): void {
    this.reserve(to - from);
    if (to - from > 128) {
      this.bytes.set(source.subarray(from, to), this.at); // faster from some hundred bytes on: the view costs 50 ns
    } else {
      const { bytes, at } = this;
      for (let i = from, o = at; i < to; i++, o++) bytes[o] = source[i]!;
    }
    this.at += to - from;
  }

  /** Appends the bytes as the inside of a JSON string. They must hold no control character. */
  appendEscaped(source: Uint8Array, from: number, to: number): void {
    this.reserve(2 * (to - from));
    const bytes = this.bytes;
    let o = this.at;
    for (let i = from; i < to; i++) {
      const byte = source[i]!;
      if (byte === 0x22 || byte === 0x5c) bytes[o++] = 0x5c;
      bytes[o++] = byte;
    }
    this.at = o;
  }
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** At most `max` characters of the bytes for people to read: control characters and invalid bytes shown as `?`. */
export function printable(bytes: Uint8Array, from: number, to: number, max = 40): string {
  const text = decoder.decode(bytes.subarray(from, Math.min(to, from + max * 4)));
  const clean = text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\ufffd]/gu, '?');
  const letters = Array.from(clean);
  return letters.length > max || to - from > max * 4 ? `${letters.slice(0, max - 1).join('')}…` : clean;
}
