/** Bare tokens of JSON: numbers, true, false, null (RFC 8259, sections 3 and 6). */

export type Literal = 'number' | 'true' | 'false' | 'null' | 'bad';

/** 1 for the bytes that a bare token is made of; wider than JSON, so that `NaN` or `0x1` is one bad token. */
export const TOKEN_BYTE = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[-+.0-9A-Za-z]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

export function literalOf(bytes: Uint8Array, from: number, to: number): Literal {
  switch (bytes[from]) {
    case 0x74:
      return isWord(bytes, from, to, 'true') ? 'true' : 'bad';
    case 0x66:
      return isWord(bytes, from, to, 'false') ? 'false' : 'bad';
    case 0x6e:
      return isWord(bytes, from, to, 'null') ? 'null' : 'bad';
    default:
      return isNumber(bytes, from, to) ? 'number' : 'bad';
  }
}

export function isWord(bytes: Uint8Array, from: number, to: number, word: string): boolean {
  if (to - from !== word.length) return false;
  for (let i = 0; i < word.length; i++) if (bytes[from + i] !== word.charCodeAt(i)) return false;
  return true;
}

/** Whether the bytes are exactly one number literal: no white space, no plus sign, no leading zero, no bare point. */
export function isNumber(bytes: Uint8Array, from: number, to: number): boolean {
  let p = from;
  if (p < to && bytes[p] === 0x2d) p++;
  const whole = p;
  p = digitsFrom(bytes, p, to);
  if (p === whole || (bytes[whole] === 0x30 && p > whole + 1)) return false;
  if (p < to && bytes[p] === 0x2e) {
    const fraction = p + 1;
    p = digitsFrom(bytes, fraction, to);
    if (p === fraction) return false;
  }
  if (p < to && (bytes[p]! | 0x20) === 0x65) {
    p++;
    if (p < to && (bytes[p] === 0x2b || bytes[p] === 0x2d)) p++;
    const exponent = p;
    p = digitsFrom(bytes, exponent, to);
    if (p === exponent) return false;
  }
  return p === to;
}

/** Whether the number literal has an exponent. */
export function isWithExponent(bytes: Uint8Array, from: number, to: number): boolean {
  for (let p = from; p < to; p++) if ((bytes[p]! | 0x20) === 0x65) return true;
  return false;
}

/** Bytes of a number and size of its exponent that every database surely holds: Postgres' jsonb fails beyond 131,072 digits. */
const NUMBER_BYTES = 1000;
/** The shortest number that can be huge is `1e1001`; `true` and most prices are shorter, and need no look. */
const HUGE_FROM_BYTES = 6;

/** Whether a literal is a number that is larger, or written longer, than every database can hold. */
export function isHuge(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from < HUGE_FROM_BYTES) return false;
  return isHugeNumber(Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1'));
}

/** The same of a text. */
export function isHugeNumber(number: string): boolean {
  if (number.length > NUMBER_BYTES) return true;
  return Math.abs(Number(/e(.+)$/i.exec(number)?.[1] ?? 0)) > NUMBER_BYTES;
}

function digitsFrom(bytes: Uint8Array, from: number, to: number): number {
  let p = from;
  while (p < to && bytes[p]! >= 0x30 && bytes[p]! <= 0x39) p++;
  return p;
}
