/**
 * A file of lines with fields, byte by byte: plain lines are copied as they are, each with its number in front as a field more, and
 * come out as bytes for DuckDB to read. All others come out as text, to be looked at one by one.
 *
 * A line is plain when nothing in it needs a thought: printable ASCII without blanks, quotes and backslashes, of as many fields as
 * are expected, and not longer than a reject's raw text. Blank lines are passed over, and have no number.
 */
import { EtlError } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';

/** What a byte is to a line. */
const [PLAIN, EXPONENT, DELIMITER, ODD, RETURN, END] = [0, 1, 2, 3, 4, 5];
const ZERO = 48;
const NINE = 57;
const CARRIAGE_RETURN = 13;
/** Marks that may stand between the fields of a plain line; with any other one no line is plain. */
const MARKS = /^[\t !#-/:-@[-`{-~]$/;
const BUFFER_BYTES = 256 * 1024;

export class PlainLines {
  /** As many fields as a plain line has; null: no line is plain. */
  width: number | null = null;
  /** Lines that are plain. */
  count = 0;
  /** Whether one of them has a letter `e`, as a number with an exponent has. */
  hasExponents = false;
  private readonly kinds: Uint8Array;
  private readonly mark: number;
  private readonly take: (text: string) => boolean;
  private readonly decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  /** Digits of the next line's number, and the delimiter. */
  private prefix: Uint8Array;
  private out = Buffer.allocUnsafe(BUFFER_BYTES);
  /** Where in `out` the line in hand begins, its text, and what comes next. */
  private start = 0;
  private text = 0;
  private at = 0;
  private delimiters = 0;
  private returns = 0;
  private isOdd = false;
  private hasExponent = false;
  private readonly full: Uint8Array[] = [];

  /** `take` is given each line that is not plain, without its end; what it returns is whether the line has a number. */
  constructor(delimiter: string, take: (text: string) => boolean) {
    this.take = take;
    this.mark = MARKS.test(delimiter) ? delimiter.charCodeAt(0) : -1;
    this.kinds = kindsOf(this.mark);
    this.prefix = Uint8Array.of(ZERO, this.mark);
    this.begin(0);
  }

  /** Takes the next bytes of the file. Errors: `failed/line_too_long`; those of `take`. */
  write(chunk: Uint8Array): void {
    const { kinds } = this;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]!;
      const kind = kinds[byte]!;
      if (kind === END) {
        this.endLine();
        continue;
      }
      if (this.at === this.out.length) this.makeRoom();
      this.out[this.at++] = byte;
      if (kind === PLAIN) continue;
      if (kind === DELIMITER) this.delimiters += 1;
      else if (kind === EXPONENT) this.hasExponent = true;
      else if (kind === RETURN) this.returns += 1;
      else this.isOdd = true;
    }
  }

  /** The plain lines that came since the last time; with `isEnd` also one without an end. Nobody changes these bytes afterwards. */
  flush(isEnd: boolean): Uint8Array[] {
    if (isEnd) this.endLine();
    this.hand();
    return this.full.splice(0);
  }

  private endLine(): void {
    if (this.at > this.text && this.out[this.at - 1] === CARRIAGE_RETURN) {
      this.at -= 1;
      this.returns -= 1;
    }
    const bytes = this.at - this.text;
    const isPlain =
      !this.isOdd &&
      this.returns === 0 &&
      this.width !== null &&
      this.mark !== -1 &&
      this.delimiters === this.width - 1 &&
      bytes <= LIMITS.rejectRawBytes;
    if (bytes === 0) this.begin(this.start);
    else if (isPlain) {
      this.count += 1;
      this.hasExponents ||= this.hasExponent;
      if (this.at === this.out.length) this.makeRoom();
      this.out[this.at++] = 10;
      this.next();
      this.begin(this.at);
    } else {
      const text = this.decoder.decode(this.out.subarray(this.text, this.at));
      if (this.take(text)) this.next();
      this.begin(this.start);
    }
  }

  /** The next line begins here. */
  private begin(start: number): void {
    this.start = start;
    this.at = start;
    this.delimiters = 0;
    this.returns = 0;
    this.isOdd = false;
    this.hasExponent = false;
    while (this.out.length - this.start < this.prefix.length) this.makeRoom();
    this.out.set(this.prefix, this.start);
    this.text = this.start + this.prefix.length;
    this.at = this.text;
  }

  /** Counts one on. */
  private next(): void {
    let i = this.prefix.length - 2;
    while (i >= 0 && this.prefix[i] === NINE) this.prefix[i--] = ZERO;
    if (i >= 0) this.prefix[i]! += 1;
    else this.prefix = Uint8Array.of(ZERO + 1, ...this.prefix);
  }

  /** Moves the line in hand to a buffer of its own, behind which there is room. */
  private makeRoom(): void {
    const bytes = this.at - this.start;
    if (bytes > LIMITS.itemBytes)
      throw new EtlError('failed', 'line_too_long', `the file has a line of more than ${LIMITS.itemBytes} bytes`, {
        hint: 'this is not what was asked for; what was loaded before stays',
      });
    this.hand(Math.max(BUFFER_BYTES, Math.min(2 * bytes, LIMITS.itemBytes + 1)));
  }

  private hand(room = BUFFER_BYTES): void {
    if (this.start > 0) this.full.push(this.out.subarray(0, this.start));
    const line = this.out.subarray(this.start, this.at);
    this.out = Buffer.allocUnsafe(Math.max(room, line.length));
    this.out.set(line);
    this.at -= this.start;
    this.text -= this.start;
    this.start = 0;
  }
}

function kindsOf(mark: number): Uint8Array {
  const kinds = new Uint8Array(256).fill(ODD);
  kinds.fill(PLAIN, 0x21, 0x7f);
  for (const letter of 'eE') kinds[letter.charCodeAt(0)] = EXPONENT;
  for (const letter of '"\\') kinds[letter.charCodeAt(0)] = ODD;
  if (mark !== -1) kinds[mark] = DELIMITER;
  kinds[CARRIAGE_RETURN] = RETURN;
  kinds[10] = END;
  return kinds;
}
