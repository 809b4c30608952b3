/**
 * The inside of a JSON string, from behind its opening quote to behind its closing one, proved byte by byte.
 *
 * Sound bytes are copied to the end of `out` as they are; an escaped lone surrogate becomes U+FFFD, an escaped NUL
 * is removed. A chunk may end anywhere; `scan` continues where it stopped. States:
 *
 *   PLAIN ─lead byte▶ UTF8 ─last byte▶ PLAIN
 *   PLAIN ─\▶ ESCAPE ─letter▶ PLAIN      ESCAPE ─u▶ HEX ─4 digits▶ PLAIN
 *   SKIP ─\▶ SKIP_ESCAPE ─any▶ SKIP      of strings in rejected items: nothing is proved or copied
 *
 * `high` ≥ 0: the last six bytes of `out`, from there on, are an escaped high surrogate whose partner is awaited.
 */
import type { ByteBuffer } from './byte-buffer.ts';
import { hexValue } from './escapes.ts';
import type { Input } from './input.ts';
import type { RejectReason } from './interface.ts';
import { copyPlain } from './words.ts';

const PLAIN = 0;
const UTF8 = 1;
const ESCAPE = 2;
const HEX = 3;
const SKIP = 4;
const SKIP_ESCAPE = 5;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** What `scan` returns: the chunk is used up; the closing quote was passed; `reason` holds the fault at `input.at`. */
export const OPEN = 0;
export const CLOSED = 1;
const FAULT = 2;

const SIMPLE_ESCAPES = new Set(Array.from('"\\/bfnrt', (letter) => letter.charCodeAt(0)));

export class TextScanner {
  private readonly input: Input;
  private readonly out: ByteBuffer;
  private state = PLAIN;
  /** UTF8: continuation bytes still to come, and the range in which the next one must lie. */
  private due = 0;
  private low = 0x80;
  private top = 0xbf;
  /** HEX: digits still to come, their value so far. */
  private digits = 0;
  private unit = 0;
  private high = -1;

  /** Whether the text in `out` holds an escape. */
  escaped = false;
  nulsRemoved = 0;
  surrogatesReplaced = 0;
  reason: RejectReason = 'bad_escape';
  /** The fault in words. */
  detail = '';

  constructor(input: Input, out: ByteBuffer) {
    this.input = input;
    this.out = out;
  }

  get isRepaired(): boolean {
    return this.nulsRemoved + this.surrogatesReplaced > 0;
  }

  /** Begins behind an opening quote. */
  begin(): void {
    this.state = PLAIN;
    this.high = -1;
    this.escaped = false;
    this.nulsRemoved = 0;
    this.surrogatesReplaced = 0;
  }

  /** The same for a string that is only skipped. */
  beginSkip(): void {
    this.state = SKIP;
  }

  /** From here on the rest of the string is only skipped. */
  skipRest(): void {
    this.state = this.state === ESCAPE ? SKIP_ESCAPE : SKIP;
  }

  /** Continues until the string closes, shows a fault, or the chunk ends. `out` must have room for the rest of the chunk. */
  scan(): number {
    const { input } = this;
    while (input.at < input.end) {
      let result: number;
      switch (this.state) {
        case PLAIN:
          result = this.plain();
          break;
        case UTF8:
          result = this.continuation();
          break;
        case ESCAPE:
          result = this.escape();
          break;
        case HEX:
          result = this.hex();
          break;
        default:
          result = this.skip();
      }
      if (result !== OPEN) return result;
    }
    return OPEN;
  }

  private plain(): number {
    const { input } = this;
    const { chunk, end } = input;
    if (this.high >= 0 && chunk[input.at] !== BACKSLASH) this.replaceHigh();
    const p = copyPlain(input.words, input.at, end, this.out.words, this.out.at);
    this.out.at += p - input.at;
    input.at = p;
    if (p === end) return OPEN;
    const byte = chunk[p]!;
    if (byte === QUOTE) {
      input.at = p + 1;
      return CLOSED;
    }
    if (byte === BACKSLASH) {
      this.escaped = true;
      this.state = ESCAPE;
      input.at = p + 1;
      return OPEN;
    }
    if (byte < 0x20) return this.fault('control_character', `raw control character ${hexOf(byte)} in a string`);
    return this.lead(byte);
  }

  /** The first byte of a sequence of two to four (RFC 3629, section 4). */
  private lead(byte: number): number {
    if (byte < 0xc2 || byte > 0xf4) return this.fault('invalid_utf8', `${hexOf(byte)} begins no UTF-8 sequence`);
    this.due = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    this.low = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
    this.top = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf;
    this.out.bytes[this.out.at++] = byte;
    this.input.at++;
    this.state = UTF8;
    return OPEN;
  }

  private continuation(): number {
    const { input, out } = this;
    const byte = input.chunk[input.at]!;
    if (byte < this.low || byte > this.top)
      return this.fault('invalid_utf8', `${hexOf(byte)} does not continue the UTF-8 sequence before it`);
    out.bytes[out.at++] = byte;
    input.at++;
    this.low = 0x80;
    this.top = 0xbf;
    if (--this.due === 0) this.state = PLAIN;
    return OPEN;
  }

  private escape(): number {
    const { input, out } = this;
    const letter = input.chunk[input.at]!;
    if (letter === 0x75) {
      this.digits = 4;
      this.unit = 0;
      this.state = HEX;
    } else {
      if (!SIMPLE_ESCAPES.has(letter)) return this.fault('bad_escape', `backslash before ${charOf(letter)}`);
      this.replaceHigh();
      this.state = PLAIN;
    }
    out.bytes[out.at++] = BACKSLASH;
    out.bytes[out.at++] = letter;
    input.at++;
    return OPEN;
  }

  private hex(): number {
    const { input, out } = this;
    const digit = input.chunk[input.at]!;
    const value = hexValue(digit);
    if (value < 0) return this.fault('bad_escape', `${charOf(digit)} is not a hex digit of \\u`);
    out.bytes[out.at++] = digit;
    input.at++;
    this.unit = this.unit * 16 + value;
    if (--this.digits === 0) {
      this.state = PLAIN;
      this.endUnit(this.unit);
    }
    return OPEN;
  }

  /** The last six bytes of `out` are the escape of this UTF-16 unit: keeps, replaces or removes it. */
  private endUnit(unit: number): void {
    const { out } = this;
    if (this.high >= 0 && unit >= 0xdc00 && unit <= 0xdfff) {
      this.high = -1;
      return;
    }
    if (this.high >= 0) {
      const { high } = this;
      const here = out.at - 6;
      out.at = high;
      this.putReplacement();
      out.bytes.copyWithin(out.at, here, here + 6);
      out.at += 6;
    }
    if (unit >= 0xd800 && unit <= 0xdbff) {
      this.high = out.at - 6;
    } else if (unit >= 0xdc00 && unit <= 0xdfff) {
      out.at -= 6;
      this.putReplacement();
    } else if (unit === 0) {
      out.at -= 6;
      this.nulsRemoved++;
    }
  }

  /** The awaited partner did not come. */
  private replaceHigh(): void {
    if (this.high < 0) return;
    this.out.at = this.high;
    this.putReplacement();
  }

  /** Writes U+FFFD in place of a lone surrogate. */
  private putReplacement(): void {
    const { out } = this;
    out.bytes[out.at++] = 0xef;
    out.bytes[out.at++] = 0xbf;
    out.bytes[out.at++] = 0xbd;
    this.high = -1;
    this.surrogatesReplaced++;
  }

  private skip(): number {
    const { input } = this;
    const { chunk, end } = input;
    let p = input.at;
    if (this.state === SKIP_ESCAPE) {
      p++;
      this.state = SKIP;
    }
    while (p < end && chunk[p] !== QUOTE && chunk[p] !== BACKSLASH) p++;
    input.at = p;
    if (p === end) return OPEN;
    input.at = p + 1;
    if (chunk[p] === QUOTE) return CLOSED;
    this.state = SKIP_ESCAPE;
    return OPEN;
  }

  private fault(reason: RejectReason, detail: string): number {
    this.reason = reason;
    this.detail = detail;
    return FAULT;
  }
}

function hexOf(byte: number): string {
  return `0x${byte.toString(16).padStart(2, '0')}`;
}

function charOf(byte: number): string {
  return byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : hexOf(byte);
}
