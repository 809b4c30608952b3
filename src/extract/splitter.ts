/**
 * Turns the decoded bytes of an answer `{"items":[…]}` into one JSON text a line, and proves on the way that every item is
 * sound JSON (RFC 8259): DuckDB's reader fails as a whole, or keeps silent, where it is not.
 *
 * A line is compact:
 *
 *   {"_i":"<number of the item, from 0>","_o":"<its first byte in the answer>","_l":"<its bytes>",
 *    <known fields, in the order in which they came>,
 *    "_x":"<JSON object of the unknown fields>","_b":"<bad_number, bad_boolean or bad_text>:<field>"}
 *
 * Every value is text or null. Numbers are quoted with every digit as received, because the reader takes bare ones through a
 * double; true and false are quoted too; texts keep their escapes. `_x` is there when the item has fields that the contract
 * does not know, their tokens as received; `_b` when a known field has a value that its type cannot take: it names the first
 * such, and each such is null. Mended and counted as drift: an escaped lone surrogate becomes U+FFFD, an escaped NUL goes.
 *
 * One pass over bytes, in chunks of any size, and the same lines, rejects and errors whatever the chunks are. Order items of
 * 508 bytes pass at 410 MB/s of one core, with every field unknown at 48 (test/proof/bench/splitter.ts). Memory: a megabyte as a
 * rule; an item made of hundreds of thousands of unknown keys takes some fifteen times its bytes, and buffers that grew stay.
 */
import { assert } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import type { SplitLimits, SplitOptions, SplitResult } from './split-contract.ts';
import { Machine } from './split-machine.ts';

export type {
  Expect,
  SplitField,
  SplitLimits,
  SplitOptions,
  SplitReject,
  SplitResult,
} from './split-contract.ts';

/** Room for lines is made for so many bytes of a chunk at a time. */
const SLICE_BYTES = 64 * 1024;

export class Splitter {
  private readonly limits: SplitLimits;
  private readonly machine: Machine;
  private ended = false;
  private failed = false;
  private failure: unknown;

  /** Fields must differ from each other and from the line's own keys. */
  constructor(options: SplitOptions) {
    this.limits = options.limits ?? LIMITS;
    this.machine = new Machine(options, this.limits);
  }

  /**
   * Takes the next bytes of the answer; the chunk is not kept. Throws an EtlError when the answer as a whole cannot be
   * used; lines that went out before must then be thrown away. Codes: `not_json`, `not_an_object`, `no_items`,
   * `second_items`, `malformed`, `after_end`, `answer_too_large`.
   */
  write(chunk: Uint8Array): void {
    assert(!this.ended, 'the splitter was written to after its end');
    this.guarded(() => this.take(chunk));
  }

  /** The answer is complete. Throws like `write`, also `cut` (to be tried again) when it ends in the middle. */
  end(): SplitResult {
    assert(!this.ended, 'the splitter was ended twice');
    this.guarded(() => this.machine.end());
    this.ended = true;
    const { content, input } = this.machine;
    const { item, lines, members, rejects } = content;
    return {
      items: item.number + 1,
      lines: lines.lines,
      rejects,
      bytes: input.base,
      longestLineBytes: lines.longestBytes,
      hasExponents: item.hasExponents,
      drift: [...item.fields.all.flatMap((known) => known.report()), ...item.unknown.report(), ...members.report()],
    };
  }

  private take(chunk: Uint8Array): void {
    const { input } = this.machine;
    const left = this.limits.answerBytes - input.base;
    const length = Math.min(chunk.length, left);
    input.open(chunk);
    while (input.at < length) this.machine.scan(Math.min(input.at + SLICE_BYTES, length));
    if (chunk.length > left) input.refuse('answer_too_large', `is larger than ${this.limits.answerBytes} bytes`);
    input.close();
  }

  /** After an error there is no going on: the same error comes again. */
  private guarded(work: () => void): void {
    if (this.failed) throw this.failure;
    try {
      work();
    } catch (error) {
      this.failed = true;
      this.failure = error;
      throw error;
    }
  }
}
