import { type ErrorKind, EtlError } from '../core/errors.ts';
import { printable } from './split-buffer.ts';
import { wordsOf } from './split-words.ts';

/** Codes of a refused answer, with what to do about each. */
const HINTS = {
  not_json: 'a proxy or an error page may have answered: look at the raw answer in the vault',
  not_an_object: 'the service may have a new version: look at the raw answer in the vault',
  no_items: 'the service may have a new version: look at the raw answer in the vault',
  second_items: 'the answer contradicts itself: look at it in the vault and report it to the service',
  malformed: 'the answer was damaged on its way or made wrongly: fetch it again, then report it to the service',
  cut: 'the connection ended early: fetch it again',
  after_end: 'two answers may have been joined: fetch it again, then report it to the service',
  answer_too_large: 'ask for fewer days in one request (windowDays)',
} as const;

export type RefusalCode = keyof typeof HINTS;

const EXCERPT_BYTES = 32;

const NOTHING: Uint8Array = new Uint8Array(0);
const NO_WORDS = wordsOf(NOTHING);

/** The piece of the answer in hand, and where it lies in the whole. */
export class Input {
  chunk = NOTHING;
  words = NO_WORDS;
  /** Next byte of `chunk` to be looked at. */
  at = 0;
  /** The scanners stop before this byte of `chunk`: the end of the slice in hand, or what it is allowed if that is less. */
  end = 0;
  sliceEnd = 0;
  /** By this byte of the answer what is in hand must have ended. */
  allowedTo = Number.POSITIVE_INFINITY;
  /** Bytes of the answer before `chunk`. */
  base = 0;
  /** The last bytes before `chunk`, for excerpts that do not depend on where chunks end. */
  private readonly tail = new Uint8Array(EXCERPT_BYTES);
  private tailLength = 0;

  open(chunk: Uint8Array): void {
    this.chunk = chunk;
    this.words = chunk === NOTHING ? NO_WORDS : wordsOf(chunk);
    this.at = 0;
    this.end = 0;
  }

  /** Scanners may go on up to here. */
  slice(to: number): void {
    this.sliceEnd = to;
    this.allow(this.allowedTo);
  }

  allow(allowedTo: number): void {
    this.allowedTo = allowedTo;
    this.end = Math.min(this.sliceEnd, allowedTo - this.base);
  }

  /** Passes white space; false when the slice ends with it. */
  passSpace(): boolean {
    const { chunk, end } = this;
    let p = this.at;
    while (p < end && (chunk[p] === 0x20 || chunk[p] === 0x0a || chunk[p] === 0x0d || chunk[p] === 0x09)) p++;
    this.at = p;
    return p < end;
  }

  close(): void {
    const seen = this.before(this.at);
    this.tail.set(seen);
    this.tailLength = seen.length;
    this.base += this.at;
    this.open(NOTHING);
  }

  /** Byte of the answer that `at` stands on. */
  offset(): number {
    return this.base + this.at;
  }

  /** Refuses the whole answer for the byte of the chunk that stands at `at`. */
  refuse(code: RefusalCode, what: string, at = this.at): never {
    const excerpt = this.before(Math.min(at + 1, this.chunk.length));
    const near = excerpt.length === 0 ? '' : `, after \`${printable(excerpt, 0, excerpt.length)}\``;
    const kind: ErrorKind = code === 'cut' ? 'retry' : 'failed';
    throw new EtlError(kind, code, `the answer ${what} (byte ${this.base + at}${near})`, { hint: HINTS[code] });
  }

  /** The last bytes of the answer before position `to` of the chunk. */
  private before(to: number): Uint8Array {
    if (to >= EXCERPT_BYTES) return this.chunk.slice(to - EXCERPT_BYTES, to);
    const kept = this.tail.subarray(0, this.tailLength);
    const joined = new Uint8Array(kept.length + to);
    joined.set(kept);
    joined.set(this.chunk.subarray(0, to), kept.length);
    return joined.slice(-EXCERPT_BYTES);
  }
}
