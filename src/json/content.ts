/**
 * Proves the tokens that the state machine finds, and sends each to a sink.
 *
 *   LINE     a known field of the item, or the item between two fields
 *   EXTRA    an unknown field of the item
 *   NOWHERE  a member beside `items`, or the inside of a value that its field cannot take
 *   SKIP     a rejected item, of which only strings and brackets are still followed
 *
 * `out.at` stands behind the current line; a token that does not belong there is scanned to the same place and taken back.
 */
import { printable } from './byte-buffer.ts';
import { type DriftCounter, UnknownNames } from './drift.ts';
import { decodeText } from './escapes.ts';
import type { Input } from './input.ts';
import type { RejectReason, SplitOptions } from './interface.ts';
import { Item } from './item.ts';
import { hashOf, KeySets } from './key-sets.ts';
import { Fields } from './known-fields.ts';
import { LineWriter } from './line-writer.ts';
import { isWord, literalOf, TOKEN_BYTE } from './literals.ts';
import { CLOSED, OPEN, TextScanner } from './text-scanner.ts';

/** In what a token stands: the answer, its array, an item, anything deeper or beside `items`. Objects are even, arrays odd. */
export const TOP = 0;
export const ITEMS = 1;
export const ITEM = 2;
export const ARRAY = 3;
export const OBJECT = 4;

export const LINE = 0;
const EXTRA = 1;
const NOWHERE = 2;
const SKIP = 3;

const OPEN_BRACE = 0x7b;
const KINDS_OF_VALUE: Readonly<Record<number, string>> = {
  34: 'a text',
  91: 'an array',
  110: 'null',
  116: 'true',
  102: 'false',
};

export class Content {
  readonly lines: LineWriter;
  readonly item: Item;
  /** Members of the answer beside `items`. */
  readonly members = new UnknownNames();
  rejects = 0;
  sink = NOWHERE;
  /** The current member, or null when that is `items`. */
  member: DriftCounter | null = null;
  itemsSeen = false;
  private readonly input: Input;
  private readonly limits: SplitOptions['limits'];
  private readonly onReject: SplitOptions['onReject'];
  private readonly text: TextScanner;
  private readonly keys = new KeySets();
  /** The first fault of the current item. */
  private fault: { readonly reason: RejectReason; readonly detail: string } | null = null;
  private inItem = false;
  /** Bytes of earlier members, and where the current one began. */
  private memberBytes = 0;
  private memberFrom = 0;
  /** Where the current token begins in `out`. */
  private tokenAt = 0;

  constructor(input: Input, options: SplitOptions) {
    this.input = input;
    this.limits = options.limits;
    this.onReject = options.onReject;
    this.lines = new LineWriter(options.onLines);
    this.item = new Item(new Fields(options.fields), this.lines.out);
    this.text = new TextScanner(input, this.lines.out);
  }

  /** Room in `out` for what the rest of the slice can become: `"":1,` grows most, and one field may have begun already. */
  roomBytes(): number {
    return 2 * (this.input.sliceEnd - this.input.at) + 2 * this.item.fields.longestBytes + 64;
  }

  /** `input.at` stands behind an opening quote. */
  beginText(): void {
    this.tokenAt = this.lines.out.at;
    if (this.sink === SKIP) this.text.beginSkip();
    else this.text.begin();
  }

  /** `input.at` stands inside the text of the current known field. */
  resumeKnownText(): void {
    this.tokenAt = this.item.valueAt;
    this.text.begin();
  }

  /** Continues in a text; true when it has closed. */
  textClosed(): boolean {
    const { text } = this;
    const result = text.scan();
    if (result === OPEN || result === CLOSED) return result === CLOSED;
    this.rejectItem(text.reason, text.detail);
    text.skipRest();
    return false;
  }

  /** A key has closed in `within`. */
  endKey(within: number): void {
    if (this.sink === SKIP) return;
    const { text, tokenAt } = this;
    const { out } = this.lines;
    const rawEnd = out.at;
    let from = tokenAt;
    let to = rawEnd;
    if (text.escaped) {
      out.reserve(to - from);
      to = decodeText(out.bytes, from, rawEnd, out.bytes, rawEnd);
      from = rawEnd;
    }
    const hash = hashOf(out.bytes, from, to);
    let isNew: boolean;
    if (within === TOP) isNew = this.memberKey(from, to, hash);
    else if (within === ITEM) isNew = this.fieldKey(rawEnd, from, to, hash);
    else isNew = this.keys.add(out.bytes, from, to, hash);
    if (!isNew) {
      this.rejectItem(
        'duplicate_key',
        `key \`${printable(out.bytes, from, to)}\` for the second time`,
        this.input.at - 1,
      );
    } else if (this.sink === NOWHERE) {
      out.at = tokenAt;
    } else {
      if (within === OBJECT) this.item.moveKey(tokenAt, rawEnd);
      if (text.isRepaired) this.item.countKeyRepairs(text);
    }
  }

  private fieldKey(rawEnd: number, from: number, to: number, hash: number): boolean {
    const { item, tokenAt } = this;
    const { bytes } = this.lines.out;
    const known = item.fields.find(bytes, from, to, hash);
    if (known !== undefined) {
      if (known.seenIn === item.number) return false;
      item.openKnown(known, tokenAt);
      this.sink = LINE;
    } else {
      if (!this.keys.add(bytes, from, to, hash)) return false;
      item.openUnknown(tokenAt, rawEnd, from, to, hash);
      this.sink = EXTRA;
    }
    return true;
  }

  private memberKey(from: number, to: number, hash: number): boolean {
    const { bytes } = this.lines.out;
    if (!isWord(bytes, from, to, 'items')) {
      this.member = this.members.find(bytes, from, to, hash);
      return this.keys.add(bytes, from, to, hash);
    }
    if (this.itemsSeen) this.input.refuse('second_items', 'has a second member "items"', this.input.at - 1);
    this.itemsSeen = true;
    this.member = null;
    this.input.limit(Number.POSITIVE_INFINITY);
    return true;
  }

  /** A text that is a value has closed in `within`. */
  endText(within: number): void {
    const { text, item, tokenAt } = this;
    const { out } = this.lines;
    switch (this.sink) {
      case LINE:
        if (text.isRepaired) item.countRepairs(text, tokenAt, out.at);
        item.knownText(text.escaped);
        break;
      case EXTRA:
        if (text.isRepaired) item.countRepairs(text, tokenAt, out.at);
        item.moveText(tokenAt, out.at);
        break;
      case NOWHERE:
        this.takeBack(within);
    }
    this.endValue(within);
  }

  beginToken(): void {
    this.tokenAt = this.lines.out.at;
  }

  /** Continues in a bare token; true when it has ended, in `within`. */
  tokenEnded(within: number): boolean {
    const { input, sink } = this;
    const { out } = this.lines;
    const { chunk, end } = input;
    const { bytes } = out;
    let p = input.at;
    let o = out.at;
    for (; p < end && TOKEN_BYTE[chunk[p]!] === 1; p++) if (sink !== SKIP) bytes[o++] = chunk[p]!;
    input.at = p;
    out.at = o;
    if (p === end) return false;
    if (sink !== SKIP) this.endToken(within);
    this.endValue(within);
    return true;
  }

  private endToken(within: number): void {
    const { item, tokenAt, sink } = this;
    const { out } = this.lines;
    const literal = literalOf(out.bytes, tokenAt, out.at);
    if (literal === 'bad')
      this.rejectItem('bad_literal', `\`${printable(out.bytes, tokenAt, out.at)}\` is not a JSON value`);
    else if (sink === LINE) item.knownLiteral(literal);
    else if (sink === EXTRA) item.moveToken(tokenAt);
    else this.takeBack(within);
  }

  /** A single value whose sink is NOWHERE. */
  private takeBack(within: number): void {
    const { out } = this.lines;
    if (within === TOP) this.member?.count('unknown_member', 1, out.bytes, this.tokenAt, out.at);
    out.at = this.tokenAt;
  }

  /** The bracket under `input.at` opens an object or array of this kind in `within`, the `level`th of its item or member. */
  open(kind: number, within: number, level: number): void {
    const { input } = this;
    if (this.sink === LINE && kind !== ITEM) {
      this.item.refuse();
      this.sink = NOWHERE;
    }
    if (within === TOP) this.member?.count('unknown_member', 1, input.chunk, input.at, input.at + 1);
    if (level > this.limits.itemDepth && this.sink !== SKIP)
      this.rejectItem('too_deep', `more than ${this.limits.itemDepth} levels`);
    if (this.sink === SKIP) return;
    if ((kind & 1) === 0) this.keys.open();
    if (this.sink === EXTRA) this.item.extra.push(input.chunk[input.at]!);
  }

  /** The bracket before `input.at` closed one of this kind in `within`. */
  close(kind: number, bracket: number, within: number): void {
    if (this.sink !== SKIP && (kind & 1) === 0) this.keys.close();
    if (this.sink === EXTRA) this.item.extra.push(bracket);
    this.endValue(within);
  }

  /** A comma between two values or fields. */
  comma(): void {
    if (this.sink === EXTRA) this.item.extra.push(0x2c);
  }

  /** The quote under `input.at` begins the key of a member. */
  beginMember(): void {
    this.lines.out.reserve(this.roomBytes());
    this.memberFrom = this.input.offset();
    this.input.limit(this.memberFrom + this.limits.itemBytes - this.memberBytes);
  }

  /** The byte under `input.at` begins an item. */
  beginItem(byte: number): void {
    const { input, item } = this;
    const offset = input.offset();
    item.begin(offset);
    this.inItem = true;
    if (byte === OPEN_BRACE) {
      this.sink = LINE;
      this.lines.begin(item.number, offset, this.roomBytes());
      input.limit(offset + this.limits.itemBytes);
    } else {
      this.rejectItem('not_an_object', KINDS_OF_VALUE[byte] ?? 'a number or word');
    }
  }

  private endValue(within: number): void {
    if (within === ITEM && this.sink !== SKIP) {
      if (this.sink === EXTRA) this.item.unknownDone();
      this.sink = LINE;
    } else if (within === ITEMS) {
      this.endItem();
    } else if (within === TOP && this.member !== null) {
      this.memberBytes += this.input.offset() - this.memberFrom;
      this.input.limit(Number.POSITIVE_INFINITY);
    }
  }

  private endItem(): void {
    const { input, item, fault } = this;
    const length = input.offset() - item.offset;
    this.inItem = false;
    this.sink = NOWHERE;
    this.fault = null;
    input.limit(Number.POSITIVE_INFINITY);
    if (fault === null) {
      item.end();
      this.lines.finish(length, item.extra, item.wrong);
    } else {
      this.rejects++;
      this.onReject({ item: item.number, offset: item.offset, length, ...fault });
    }
  }

  /** The current item or member has not ended where it had to. */
  limitReached(): void {
    const { itemBytes } = this.limits;
    const at = this.input.at - 1;
    if (!this.inItem) this.input.refuse('malformed', `has more than ${itemBytes} bytes of members beside "items"`, at);
    this.rejectItem('item_too_large', `more than ${itemBytes} bytes`, at);
    this.text.skipRest();
  }

  /**
   * Rejects the current item for its first fault, which the byte at `at` of the chunk shows. Outside of items the answer is
   * refused instead.
   */
  private rejectItem(reason: RejectReason, found: string, at = this.input.at): void {
    const { input, item } = this;
    if (!this.inItem) input.refuse('malformed', `has a member that is not sound JSON: ${reason}, ${found}`, at);
    const field = item.field === '' ? '' : ` in or behind field \`${item.field}\``;
    this.fault = { reason, detail: `${found}${field} (byte ${input.base + at})` };
    this.sink = SKIP;
    this.lines.drop();
    this.keys.closeTo(1);
    input.limit(Number.POSITIVE_INFINITY);
  }
}
