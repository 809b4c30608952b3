/**
 * Turns the decoded bytes of an answer `{"items":[…]}` into one JSON text a line, and proves on the way that every item is
 * sound JSON (RFC 8259). README.md describes the lines, the limits and the errors.
 *
 * One pass over bytes, in chunks of any size; lines, rejects and errors are the same whatever the chunks are. Memory: a
 * megabyte as a rule; an item of hundreds of thousands of unknown keys takes some fifteen times its bytes, and buffers that
 * grew do not shrink.
 */
import assert from 'node:assert/strict';
import type { SplitLimits, SplitOptions, SplitResult } from './interface.ts';
import { Machine } from './machine.ts';

/** Room for lines is reserved for so many bytes of a chunk at a time. */
const SLICE_BYTES = 64 * 1024;

export class Splitter {
  private readonly limits: SplitLimits;
  private readonly machine: Machine;
  private ended = false;
  private failed = false;
  private failure: unknown;

  /** Fields must differ from each other and from the line's own keys. */
  constructor(options: SplitOptions) {
    this.limits = options.limits;
    this.machine = new Machine(options);
  }

  /**
   * Takes the next bytes of the answer; the chunk is not kept. Throws a RefusedAnswer when the answer as a whole cannot be
   * used; lines that were handed over before must then be thrown away. Any code but `cut`.
   */
  write(chunk: Uint8Array): void {
    assert(!this.ended, 'the splitter was written to after its end');
    this.guarded(() => this.take(chunk));
  }

  /** The answer is complete. Throws like `write`, also `cut` when it ends in the middle. */
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

  /** After an error the splitter is unusable: it throws the same error again. */
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
