/**
 * JSON (RFC 8259) with every number as the text that was sent: no digit is lost, however many there are.
 *
 * For documents that are held in memory as a whole. Objects become maps, so that no member name means anything to the
 * language. What Postgres or UTF-8 cannot hold is fixed and counted: a lone surrogate becomes U+FFFD, a NUL is removed. Of
 * members of one name the last is taken, and counted.
 *
 * Bulk commission answers pass at some 70 MB/s of one core. README.md says why this is not the package lossless-json.
 */
import { isHugeNumber } from './literals.ts';

/** A number as its JSON text. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type ExactObject = ReadonlyMap<string, ExactJson>;
export type ExactJson = string | boolean | null | ExactNumber | readonly ExactJson[] | ExactObject;

export type FixKind = 'lone_surrogate' | 'nul_removed' | 'duplicate_key';

/** Something that was fixed while parsing. */
export interface Fix {
  readonly kind: FixKind;
  /** Name of the innermost member in which it was found; '' outside of any. */
  readonly name: string;
  readonly count: number;
}

/** A document with what was fixed in it. */
export interface ExactDocument {
  readonly value: ExactJson;
  readonly fixes: readonly Fix[];
  /** The text of a value as it was sent, for objects and arrays down to the third level; `exactText` of any other. */
  sentText(value: ExactJson): string;
}

/** Whether the value is an object. */
export function isExactObject(value: ExactJson | undefined): value is ExactObject {
  return value instanceof Map;
}

/** Whether the value is an array. */
export function isExactArray(value: ExactJson | undefined): value is readonly ExactJson[] {
  return Array.isArray(value);
}

/** Parses a JSON text. Throws a SyntaxError that names the place, also where it nests deeper than MOST_LEVELS. */
export function parseExact(text: string): ExactJson {
  return new Parser(text).document();
}

/** The same with what was fixed, and the sent text of values. */
export function parseDocument(text: string): ExactDocument {
  const parser = new Parser(text);
  const value = parser.document();
  return {
    value,
    fixes: parser.fixed(),
    sentText: (part) => {
      const span = typeof part === 'object' && part !== null ? parser.spans.get(part) : undefined;
      return span ? parser.text.slice(span[0], span[1]) : exactText(part);
    },
  };
}

/** Compact JSON text with members sorted by name (UTF-16 order): equal values have equal texts, if their numbers are written alike. */
export function exactText(value: ExactJson): string {
  if (value instanceof ExactNumber) return value.text;
  if (isExactArray(value)) return `[${value.map(exactText).join(',')}]`;
  if (!isExactObject(value)) return JSON.stringify(value);
  const members = [...value.keys()].sort().map((name) => `${JSON.stringify(name)}:${exactText(value.get(name)!)}`);
  return `{${members.join(',')}}`;
}

/** Levels of nesting at the most, the document being 1: each takes room on the stack. */
export const MOST_LEVELS = 64;
/** Members of one object at the most: names that are numbers can be made to collide in a map, which would take for ever. */
const MOST_MEMBERS = 1000;
/** Objects and arrays so deep, the document being 1, have their place in the text kept. */
const SPAN_DEPTH = 3;

const TAB = 0x09;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

const LONE_SURROGATE = /\p{Surrogate}/gu;

class Parser {
  readonly text: string;
  readonly spans = new Map<object, readonly [from: number, to: number]>();
  private at = 0;
  private depth = 0;
  /** The innermost member whose value is being read. */
  private name = '';
  private readonly fixes = new Map<string, { kind: FixKind; name: string; count: number }>();

  constructor(text: string) {
    this.text = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }

  document(): ExactJson {
    const value = this.value();
    this.next();
    if (this.at < this.text.length) this.fail('something stands behind the end');
    return value;
  }

  fixed(): Fix[] {
    return [...this.fixes.values()];
  }

  /** The next character that is no white space, which stays where it is; NaN at the end. */
  private next(): number {
    const { text } = this;
    let code = text.charCodeAt(this.at);
    while (code <= SPACE && (code === SPACE || code === LINE_FEED || code === RETURN || code === TAB))
      code = text.charCodeAt(++this.at);
    return code;
  }

  private value(): ExactJson {
    const code = this.next();
    if (code === QUOTE) return this.string();
    if (code === MINUS || (code >= ZERO && code <= NINE)) return this.number();
    if (code === OPEN_BRACE) return this.nested(() => this.object());
    if (code === OPEN_BRACKET) return this.nested(() => this.array());
    if (this.word('true')) return true;
    if (this.word('false')) return false;
    if (this.word('null')) return null;
    return this.fail('a value is expected');
  }

  private word(word: string): boolean {
    if (!this.text.startsWith(word, this.at)) return false;
    this.at += word.length;
    return true;
  }

  private nested<T extends object>(read: () => T): T {
    const from = this.at++;
    const { name } = this;
    if (++this.depth > MOST_LEVELS) this.fail(`it nests deeper than ${MOST_LEVELS}`);
    const value = read();
    if (this.depth-- <= SPAN_DEPTH) this.spans.set(value, [from, this.at]);
    this.name = name;
    return value;
  }

  private object(): ExactObject {
    const members = new Map<string, ExactJson>();
    const { name: around } = this;
    if (this.next() === CLOSE_BRACE) {
      this.at++;
      return members;
    }
    for (;;) {
      if (this.next() !== QUOTE) this.fail('the name of a member is expected');
      this.name = around;
      const name = this.string();
      if (this.next() !== COLON) this.fail('a colon is expected');
      this.at++;
      this.name = name;
      const size = members.size;
      members.set(name, this.value());
      if (members.size === size) this.fix('duplicate_key', 1);
      if (members.size > MOST_MEMBERS) this.fail(`an object has more than ${MOST_MEMBERS} members`);
      const code = this.next();
      this.at++;
      if (code === CLOSE_BRACE) return members;
      if (code !== COMMA) this.failBefore('a comma or the end of the object is expected');
    }
  }

  private array(): ExactJson[] {
    const elements: ExactJson[] = [];
    if (this.next() === CLOSE_BRACKET) {
      this.at++;
      return elements;
    }
    for (;;) {
      elements.push(this.value());
      const code = this.next();
      this.at++;
      if (code === CLOSE_BRACKET) return elements;
      if (code !== COMMA) this.failBefore('a comma or the end of the array is expected');
    }
  }

  private number(): ExactNumber {
    const { text } = this;
    const from = this.at;
    if (text.charCodeAt(from) === MINUS) this.at++;
    if (text.charCodeAt(this.at) === ZERO) this.at++;
    else this.digits();
    if (text.charCodeAt(this.at) === POINT) {
      this.at++;
      this.digits();
    }
    if ((text.charCodeAt(this.at) | 0x20) === 0x65) {
      const sign = text.charCodeAt(++this.at);
      if (sign === PLUS || sign === MINUS) this.at++;
      this.digits();
    }
    return new ExactNumber(text.slice(from, this.at));
  }

  /** One digit or more. */
  private digits(): void {
    const { text } = this;
    const from = this.at;
    let code = text.charCodeAt(this.at);
    while (code >= ZERO && code <= NINE) code = text.charCodeAt(++this.at);
    if (this.at === from) this.fail('a digit is expected');
  }

  private string(): string {
    const { text } = this;
    const from = ++this.at;
    let at = from;
    let odd = 0;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) break;
      if (code === BACKSLASH) return this.escaped(from, at);
      if (!(code >= SPACE))
        this.failAt(at, code < SPACE ? 'a control character stands in a text' : 'a text has no end');
      odd |= code;
      at++;
    }
    this.at = at + 1;
    const value = text.slice(from, at);
    // Codes from 0xd800 on have these bits; so have others, but few texts do.
    return (odd & 0xd800) === 0xd800 ? this.sound(value) : value;
  }

  /** A text with escapes, the first of which stands at `at`. */
  private escaped(from: number, at: number): string {
    const { text } = this;
    let value = '';
    let plainFrom = from;
    this.at = at;
    for (;;) {
      const code = text.charCodeAt(this.at);
      if (code === QUOTE) break;
      if (!(code >= SPACE)) this.fail(code < SPACE ? 'a control character stands in a text' : 'a text has no end');
      if (code !== BACKSLASH) {
        this.at++;
        continue;
      }
      value += text.slice(plainFrom, this.at) + this.escape();
      plainFrom = this.at;
    }
    value += text.slice(plainFrom, this.at);
    this.at++;
    return this.sound(value);
  }

  private escape(): string {
    const letter = this.text[this.at + 1] ?? '';
    const short = SHORT_ESCAPES[letter];
    if (short !== undefined) {
      this.at += 2;
      return short;
    }
    const hex = this.text.slice(this.at + 2, this.at + 6);
    if (letter !== 'u' || !/^[0-9a-fA-F]{4}$/.test(hex)) this.fail('an escape is unknown');
    this.at += 6;
    return String.fromCharCode(Number.parseInt(hex, 16));
  }

  private sound(value: string): string {
    let sound = value;
    let lone = 0;
    if (/\p{Surrogate}/u.test(sound))
      sound = sound.replace(LONE_SURROGATE, () => {
        lone++;
        return '\ufffd';
      });
    if (lone > 0) this.fix('lone_surrogate', lone);
    if (!sound.includes('\0')) return sound;
    const clean = sound.replaceAll('\0', '');
    this.fix('nul_removed', sound.length - clean.length);
    return clean;
  }

  private fix(kind: FixKind, count: number): void {
    const { name, fixes } = this;
    const key = `${kind} ${name}`;
    const before = fixes.get(key);
    if (before) before.count += count;
    else fixes.set(key, { kind, name, count });
  }

  private fail(what: string): never {
    return this.failAt(this.at, what);
  }

  private failBefore(what: string): never {
    return this.failAt(this.at - 1, what);
  }

  private failAt(at: number, what: string): never {
    throw new SyntaxError(`${what} at character ${at}`);
  }
}

/** JSON text that every warehouse can hold: a huge number stands in it as text, and is given to `onHuge`. */
export function storableText(value: ExactJson, onHuge: (number: string) => void): string {
  const bounded = (part: ExactJson): ExactJson => {
    if (isExactArray(part)) return part.map(bounded);
    if (isExactObject(part)) return new Map([...part].map(([name, member]) => [name, bounded(member)]));
    if (!(part instanceof ExactNumber) || !isHugeNumber(part.text)) return part;
    onHuge(part.text);
    return part.text;
  };
  return exactText(bounded(value));
}
