import { printable } from './byte-buffer.ts';
import { type RefusalCode, RefusedAnswer } from './interface.ts';
import { wordsOf } from './words.ts';

const EXCERPT_BYTES = 32;

const NOTHING: Uint8Array = new Uint8Array(0);
const NO_WORDS = wordsOf(NOTHING);

/** The current chunk, and where it lies in the answer. */
export class Input {
  chunk = NOTHING;
  words = NO_WORDS;
  /** Next byte of `chunk` to be looked at. */
  at = 0;
  /** The scanners stop before this byte of `chunk`: the end of the slice or, if that comes first, `limitAt`. */
  end = 0;
  sliceEnd = 0;
  /** By this byte of the answer the current item or member must have ended. */
  limitAt = Number.POSITIVE_INFINITY;
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

  /** Scanners may continue up to here. */
  slice(to: number): void {
    this.sliceEnd = to;
    this.limit(this.limitAt);
  }

  limit(limitAt: number): void {
    this.limitAt = limitAt;
    this.end = Math.min(this.sliceEnd, limitAt - this.base);
  }

  /** Skips white space; false when the slice ends with it. */
  skipSpace(): boolean {
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
    throw new RefusedAnswer(code, `the answer ${what} (byte ${this.base + at}${near})`);
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
