/**
 * One item on its way into a line: the current field, and where its value goes.
 *
 * The value's text has been proved and lies at the end of `out` when one of the methods is called; a known field's value
 * stays there, an unknown one's moves to `extra`. Positions in `out` stay valid until the line ends.
 */
import { ByteBuffer } from './byte-buffer.ts';
import { type DriftCounter, UnknownNames } from './drift.ts';
import { decodeText } from './escapes.ts';
import type { DriftKind } from './interface.ts';
import type { Fields, KnownField } from './known-fields.ts';
import { isHuge, isNumber, isWithExponent, isWord, type Literal } from './literals.ts';
import type { TextScanner } from './text-scanner.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

export class Item {
  readonly fields: Fields;
  readonly unknown = new UnknownNames();
  /** Text of the unknown fields so far, without the last brace. */
  readonly extra = new ByteBuffer(4096);
  /** Number in the answer, from 0. */
  number = -1;
  /** Byte of the answer where it begins. */
  offset = 0;
  /** The last known field of this item; its `next` is the guess for the one to come. */
  last: KnownField;
  /** What `_b` says: the first known field with a value of the wrong type. */
  wrong: Uint8Array | null = null;
  /** Whether a number of a known field, of this item or one before it, has an exponent. The fast path stops at those. */
  hasExponents = false;
  /** Where the current known field begins in `out`. */
  fieldAt = 0;
  /** Where its value's text begins, behind the quote. */
  valueAt = 0;
  private readonly out: ByteBuffer;
  /** The current field, for drift. */
  private name: DriftCounter;
  /** Where the value of the current unknown field begins in `extra`. */
  private extraAt = 0;

  constructor(fields: Fields, out: ByteBuffer) {
    this.fields = fields;
    this.out = out;
    this.last = fields.head;
    this.name = fields.head;
  }

  begin(offset: number): void {
    this.number++;
    this.offset = offset;
    this.last = this.fields.head;
    this.name = this.fields.head;
    this.wrong = null;
    this.extra.at = 0;
  }

  end(): void {
    if (this.extra.at > 0) this.extra.push(CLOSE_BRACE);
  }

  /** The fast path has brought the line up to this field, or into it. */
  resume(known: KnownField, fieldAt: number, valueAt: number): void {
    this.last = known;
    this.name = known;
    this.fieldAt = fieldAt;
    this.valueAt = valueAt;
  }

  /** Opens a known field whose key, read to `out` from `at` on, gives way to what stands before a value in the line. */
  openKnown(known: KnownField, at: number): void {
    const { out } = this;
    known.seenIn = this.number;
    this.last.next = known;
    out.at = at;
    out.append(known.opening, 0, known.opening.length);
    this.resume(known, at, out.at);
  }

  /** Opens an unknown field, whose key stands in `out` raw from `at` to `rawEnd` and decoded from `from` to `to`. */
  openUnknown(at: number, rawEnd: number, from: number, to: number, hash: number): void {
    const { out, extra } = this;
    this.name = this.unknown.find(out.bytes, from, to, hash);
    extra.push(extra.at === 0 ? OPEN_BRACE : COMMA);
    this.moveKey(at, rawEnd);
    this.extraAt = extra.at;
  }

  /** Moves a proved text from `out` into `extra`, with its quotes. */
  moveText(from: number, to: number): void {
    const { out, extra } = this;
    extra.push(QUOTE);
    extra.append(out.bytes, from, to);
    extra.push(QUOTE);
    out.at = from;
  }

  /** Moves a key inside an unknown field's value from `out` into `extra`. */
  moveKey(from: number, to: number): void {
    this.moveText(from, to);
    this.extra.push(COLON);
  }

  /** Moves a bare token from `out` into `extra`; a number that no warehouse can hold becomes a text. */
  moveToken(from: number): void {
    const { out, extra } = this;
    if (isHuge(out.bytes, from, out.at)) {
      this.name.count('huge_number', 1, out.bytes, from, out.at);
      this.moveText(from, out.at);
      return;
    }
    extra.append(out.bytes, from, out.at);
    out.at = from;
  }

  /** The value of an unknown field of the item has ended. */
  unknownDone(): void {
    this.name.count('unknown_field', 1, this.extra.bytes, this.extraAt, this.extra.at);
  }

  /** Counts what was replaced or removed in a text of the current field; the text lies in `out` from `from` to `to`. */
  countRepairs(text: TextScanner, from: number, to: number): void {
    const { bytes } = this.out;
    if (text.surrogatesReplaced > 0) this.name.count('lone_surrogate', text.surrogatesReplaced, bytes, from, to);
    if (text.nulsRemoved > 0) this.name.count('nul_removed', text.nulsRemoved, bytes, from, to);
  }

  /** The same for a key. */
  countKeyRepairs(text: TextScanner): void {
    const name = new TextEncoder().encode(this.name.name);
    if (text.surrogatesReplaced > 0) this.name.count('lone_surrogate', text.surrogatesReplaced, name, 0, name.length);
    if (text.nulsRemoved > 0) this.name.count('nul_removed', text.nulsRemoved, name, 0, name.length);
  }

  /** Name of the current field; empty before the first. */
  get field(): string {
    return this.name === this.fields.head ? '' : this.name.name;
  }

  /** The current known field got a text, which lies in `out` from `valueAt` on. */
  knownText(escaped: boolean): void {
    const { expect } = this.last;
    if (expect === 'text') {
      this.closeQuote();
      return;
    }
    if (escaped) this.unescape();
    const { out, valueAt } = this;
    const isNumberText = expect === 'number' && isNumber(out.bytes, valueAt, out.at);
    const isBooleanText =
      expect === 'boolean' &&
      (isWord(out.bytes, valueAt, out.at, 'true') || isWord(out.bytes, valueAt, out.at, 'false'));
    if (isNumberText) {
      this.lookForExponent();
      this.pass('number_as_text');
    } else if (isBooleanText) this.pass('boolean_as_text');
    else this.refuse();
  }

  /** The current known field got a bare token, which lies in `out` from `valueAt` on. */
  knownLiteral(literal: Literal): void {
    const { expect } = this.last;
    const type = literal === 'number' ? 'number' : 'boolean';
    if (literal === 'number') this.lookForExponent();
    if (literal === 'null') this.setNull();
    else if (expect === type) this.closeQuote();
    else if (expect !== 'text') this.refuse();
    else this.pass(type === 'number' ? 'text_as_number' : 'boolean_as_text'); // a number came where text is expected
  }

  private lookForExponent(): void {
    this.hasExponents ||= isWithExponent(this.out.bytes, this.valueAt, this.out.at);
  }

  private closeQuote(): void {
    this.out.bytes[this.out.at++] = QUOTE;
  }

  /** Accepts a value of another type, and counts it. */
  private pass(kind: DriftKind): void {
    this.last.count(kind, 1, this.out.bytes, this.valueAt, this.out.at);
    this.closeQuote();
  }

  /** The current known field has a value that its type cannot take: null, and the first such is named in `_b`. */
  refuse(): void {
    this.wrong ??= this.last.fault;
    this.setNull();
  }

  private setNull(): void {
    const { nulled } = this.last;
    this.out.at = this.fieldAt;
    this.out.append(nulled, 0, nulled.length);
  }

  private unescape(): void {
    const { out, valueAt } = this;
    out.reserve(out.at - valueAt);
    const end = decodeText(out.bytes, valueAt, out.at, out.bytes, out.at);
    out.bytes.copyWithin(valueAt, out.at, end);
    out.at = valueAt + (end - out.at);
  }
}
