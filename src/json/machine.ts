/**
 * What may stand where in an answer. States, each between two tokens or inside one:
 *
 *   BEFORE ─{▶ FIRST_KEY ─"▶ KEY_TEXT ─"▶ COLON ─:▶ VALUE ─"▶ VALUE_TEXT ─"▶ AFTER
 *   VALUE ─[▶ FIRST_VALUE      VALUE ─{▶ FIRST_KEY      VALUE ─letter, digit, …▶ TOKEN ─▶ AFTER
 *   AFTER ─,▶ KEY or VALUE     AFTER, FIRST_VALUE ─]▶ AFTER     AFTER, FIRST_KEY ─}▶ AFTER, or DONE behind the last one
 *
 * A chunk may end anywhere; this state and the text scanner's say where to continue.
 */
import { printable } from './byte-buffer.ts';
import { ARRAY, Content, ITEM, ITEMS, LINE, OBJECT, TOP } from './content.ts';
import { AT_KEY, AT_VALUE, IN_TEXT, scanFields } from './fast-path.ts';
import { Head } from './head.ts';
import { Input } from './input.ts';
import type { SplitOptions } from './interface.ts';
import { TOKEN_BYTE } from './literals.ts';

const BEFORE = 0;
const FIRST_KEY = 1;
const KEY = 2;
const KEY_TEXT = 3;
const COLON = 4;
const FIRST_VALUE = 5;
const VALUE = 6;
const VALUE_TEXT = 7;
const TOKEN = 8;
const AFTER = 9;
const DONE = 10;

const QUOTE_BYTE = 0x22;
const COMMA_BYTE = 0x2c;
const COLON_BYTE = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Levels that are followed in an item that is already too deep, one byte each; past them the answer is refused. */
const FOLLOWED_LEVELS = 1024 * 1024;

export class Machine {
  readonly input = new Input();
  readonly content: Content;
  private readonly head = new Head(this.input);
  private state = BEFORE;
  /** What is open, outermost first; `within` is the innermost. */
  private stack = new Uint8Array(128);
  private depth = -1;
  private within = TOP;

  constructor(options: SplitOptions) {
    this.content = new Content(this.input, options);
  }

  /** Scans the current chunk from `input.at` up to `to`. */
  scan(to: number): void {
    const { input, content } = this;
    input.slice(to);
    content.lines.out.reserve(content.roomBytes());
    while (input.at < to) {
      this.run();
      if (input.offset() >= input.limitAt) content.limitReached();
    }
  }

  /** The answer ends here. */
  end(): void {
    if (this.state === BEFORE) this.head.end();
    if (this.state !== DONE) this.input.refuse('cut', 'ends in the middle');
    this.content.lines.flush();
  }

  private run(): void {
    const { input, content } = this;
    while (input.at < input.end) {
      switch (this.state) {
        case BEFORE:
          if (this.head.scan()) this.state = this.open(TOP);
          break;
        case FIRST_KEY:
        case KEY:
          this.state = content.sink === LINE ? this.knownFields() : this.key(this.state);
          break;
        case KEY_TEXT:
          if (content.textClosed()) {
            content.endKey(this.within);
            this.state = COLON;
          }
          break;
        case VALUE_TEXT:
          if (content.textClosed()) {
            content.endText(this.within);
            this.state = AFTER;
          }
          break;
        case TOKEN:
          if (content.tokenEnded(this.within)) this.state = AFTER;
          break;
        default:
          if (input.skipSpace()) this.state = this.between(input.chunk[input.at]!);
      }
    }
  }

  // Each of the following looks at the byte at `input.at`, moves behind it and returns the next state.

  private between(byte: number): number {
    const { input } = this;
    switch (this.state) {
      case COLON:
        if (byte !== COLON_BYTE) this.malformed(byte, 'a colon');
        input.at++;
        return VALUE;
      case FIRST_VALUE:
        return byte === CLOSE_BRACKET ? this.close(byte) : this.value(byte);
      case VALUE:
        return this.value(byte);
      case AFTER:
        if (byte !== COMMA_BYTE) return this.close(byte);
        input.at++;
        this.content.comma();
        return (this.within & 1) === 0 ? KEY : VALUE;
      default:
        return input.refuse('after_end', 'continues behind its end');
    }
  }

  /** Between the fields of an item, where a known one is likely to come. */
  private knownFields(): number {
    const { input, content } = this;
    const before = input.at;
    switch (scanFields(input, content.lines.out, content.item)) {
      case AT_KEY:
        return this.key(input.at === before ? this.state : KEY);
      case AT_VALUE:
        return VALUE;
      case IN_TEXT:
        content.resumeKnownText();
        return VALUE_TEXT;
      default:
        return AFTER;
    }
  }

  private key(state: number): number {
    const { input, content } = this;
    if (!input.skipSpace()) return state;
    const byte = input.chunk[input.at]!;
    if (byte === CLOSE_BRACE && state === FIRST_KEY) return this.close(byte);
    if (byte !== QUOTE_BYTE) this.malformed(byte, 'a key');
    if (this.within === TOP) content.beginMember();
    input.at++;
    content.beginText();
    return KEY_TEXT;
  }

  private value(byte: number): number {
    const { input, content, within } = this;
    const isToken = TOKEN_BYTE[byte] === 1;
    if (!isToken && byte !== QUOTE_BYTE && byte !== OPEN_BRACE && byte !== OPEN_BRACKET)
      this.malformed(byte, 'a value');
    if (within === TOP && content.member === null) {
      if (byte !== OPEN_BRACKET) input.refuse('no_items', 'has a member "items" that is not an array');
      return this.open(ITEMS);
    }
    if (within === ITEMS) content.beginItem(byte);
    if (byte === OPEN_BRACE) return this.open(within === ITEMS ? ITEM : OBJECT);
    if (byte === OPEN_BRACKET) return this.open(ARRAY);
    if (isToken) {
      content.beginToken();
      return TOKEN;
    }
    input.at++;
    content.beginText();
    return VALUE_TEXT;
  }

  private open(kind: number): number {
    const { input, content, stack } = this;
    this.depth++;
    if (this.depth === stack.length) {
      if (this.depth === FOLLOWED_LEVELS) input.refuse('malformed', `nests more than ${FOLLOWED_LEVELS} levels`);
      this.stack = new Uint8Array(2 * stack.length);
      this.stack.set(stack);
    }
    this.stack[this.depth] = kind;
    const isInItems = this.depth > 0 && this.stack[1] === ITEMS;
    content.open(kind, this.within, isInItems ? this.depth - 1 : this.depth);
    this.within = kind;
    input.at++;
    return (kind & 1) === 0 ? FIRST_KEY : FIRST_VALUE;
  }

  private close(byte: number): number {
    const { input, content, within } = this;
    const isObject = (within & 1) === 0;
    if (byte !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET))
      this.malformed(byte, isObject ? 'a comma or closing brace' : 'a comma or closing bracket');
    if (within === TOP && !content.itemsSeen) input.refuse('no_items', 'ends without a member "items"');
    input.at++;
    this.depth--;
    if (within === TOP) return DONE;
    this.within = this.stack[this.depth]!;
    content.close(within, byte, this.within);
    return AFTER;
  }

  private malformed(byte: number, expected: string): never {
    const found = printable(Uint8Array.of(byte), 0, 1);
    return this.input.refuse('malformed', `has \`${found}\` where ${expected} must stand`);
  }
}
