/**
 * The strings, names and literals of JSON, or of what was meant to be some, with the places where they stand. Nothing is proved: what is
 * no sound JSON has tokens too. Members of the contract that hold nothing to look for, most of an answer, are passed over
 * without being taken apart: an item of 500 bytes takes some 20 µs, its HMACs included.
 */

export interface Token {
  /** Of a string what it says, with the fixes that a loaded value has: no NUL, no lone surrogate. */
  readonly content: string;
  /** Where it stands, with its quotes. */
  readonly at: number;
  readonly end: number;
  readonly isString: boolean;
  /** A member's name. */
  readonly isName: boolean;
  /** The member whose value it is, or in whose value it stands; null outside of any. */
  readonly member: string | null;
  /** Number of the innermost object in which it stands. */
  readonly object: number;
}

const [QUOTE, BACKSLASH, COLON, OPEN, CLOSE] = [0x22, 0x5c, 0x3a, 0x7b, 0x7d];
/** Literals that are no value. */
const WORDS: ReadonlySet<string> = new Set(['null', 'true', 'false']);

/** `members`: those of the contract, null for one whose value is to be passed over; their names are too. */
export function tokensOf(text: string, members: ReadonlyMap<string, unknown>): Token[] {
  const tokens: Token[] = [];
  const open = [0];
  let objects = 0;
  let member: string | null = null;
  let isPassed = false;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      const isName = isBeforeColon(text, end);
      if (isName || !isPassed) {
        const content = contentOf(text.slice(at, end));
        if (isName) member = content;
        const isKnown = isName && members.has(content);
        if (isName) isPassed = isKnown && members.get(content) === null;
        if (!isKnown) tokens.push({ content, at, end, isString: true, isName, member, object: open.at(-1)! });
      }
      at = end;
    } else if (isLiteral(code)) {
      let end = at + 1;
      while (end < text.length && isLiteral(text.charCodeAt(end))) end++;
      const content = isPassed ? '' : text.slice(at, end);
      if (!isPassed && !WORDS.has(content))
        tokens.push({ content, at, end, isString: false, isName: false, member, object: open.at(-1)! });
      at = end;
    } else {
      if (code === OPEN) open.push(++objects);
      if (code === CLOSE && open.length > 1) open.pop();
      at += 1;
    }
  }
  return tokens;
}

/** Behind the closing quote; where there is none, behind the end of the text. */
function endOfString(text: string, from: number): number {
  for (let quote = text.indexOf('"', from + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0;
    while (text.charCodeAt(quote - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return quote + 1;
  }
  return text.length;
}

function isBeforeColon(text: string, from: number): boolean {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++;
  return text.charCodeAt(at) === COLON;
}

/** Not white space, and none of `"`, `,`, `:`, brackets and braces. */
function isLiteral(code: number): boolean {
  return (
    code > 0x20 &&
    code !== QUOTE &&
    code !== 0x2c &&
    code !== COLON &&
    code !== 0x5b &&
    code !== 0x5d &&
    code !== OPEN &&
    code !== CLOSE
  );
}

function contentOf(token: string): string {
  const inside = token.endsWith('"') && token.length > 1 ? token.slice(1, -1) : token.slice(1);
  if (!inside.includes('\\')) return inside;
  try {
    return (JSON.parse(`"${inside}"`) as string).replaceAll('\u0000', '').toWellFormed();
  } catch {
    return inside;
  }
}
