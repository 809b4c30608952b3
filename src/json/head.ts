/** The first bytes of an answer: skips a byte order mark and white space, refuses what is not a JSON object. */
import { Buffer } from 'node:buffer';
import { printable } from './byte-buffer.ts';
import type { Input } from './input.ts';

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** Bytes of a wrong beginning that are gathered before it is named, so that the same answer is always named the same. */
const GATHERED_BYTES = 64;

const SCALAR = /^(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)$/;

export class Head {
  private readonly input: Input;
  private markBytes = 0;
  private readonly wrong: number[] = [];

  constructor(input: Input) {
    this.input = input;
  }

  /** Continues until `input.at` stands on the opening brace (true) or the chunk ends (false). */
  scan(): boolean {
    const { input } = this;
    for (; input.at < input.end; input.at++) {
      const byte = input.chunk[input.at]!;
      if (this.wrong.length > 0) this.gather(byte);
      else if (input.offset() === this.markBytes && byte === BYTE_ORDER_MARK[this.markBytes]) this.markBytes++;
      else if (this.markBytes === 1 || this.markBytes === 2) this.gather(byte);
      else if (byte === 0x7b) return true;
      else if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) this.gather(byte);
    }
    return false;
  }

  /** The answer ended here. */
  end(): never {
    const { input, wrong } = this;
    if (wrong.length > 0) this.refuse();
    return input.refuse('not_json', input.offset() === 0 ? 'is empty' : 'holds white space only');
  }

  private gather(byte: number): void {
    this.wrong.push(byte);
    if (this.wrong.length === GATHERED_BYTES) this.refuse();
  }

  private refuse(): never {
    const text = Buffer.from(this.wrong).toString('latin1').trim();
    if (text.startsWith('[')) this.input.refuse('not_an_object', 'is an array, not an object');
    if (text.startsWith('"') || SCALAR.test(text))
      this.input.refuse('not_an_object', 'is a single value, not an object');
    return this.input.refuse(
      'not_json',
      `is not JSON: it begins with \`${printable(Uint8Array.from(this.wrong), 0, 40)}\``,
    );
  }
}
