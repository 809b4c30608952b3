/** Escapes in the text of a JSON string (RFC 8259, section 7). */

const BACKSLASH = 0x5c;

/**
 * Writes what the escapes of a proved text mean: `source` from `from` to `to` into `target` at `at`, as UTF-8.
 * Returns the end of what was written; that is never longer than the text was.
 */
export function decodeText(source: Uint8Array, from: number, to: number, target: Uint8Array, at: number): number {
  let o = at;
  for (let p = from; p < to; p++) {
    const byte = source[p]!;
    if (byte !== BACKSLASH) {
      target[o++] = byte;
      continue;
    }
    const letter = source[++p]!;
    if (letter !== 0x75) {
      target[o++] = SIMPLE_MEANING[letter] ?? letter;
      continue;
    }
    let point = hexUnit(source, p + 1);
    p += 4;
    if (point >= 0xd800 && point <= 0xdbff) {
      point = 0x10000 + ((point - 0xd800) << 10) + (hexUnit(source, p + 3) - 0xdc00);
      p += 6;
    }
    o = putPoint(target, o, point);
  }
  return o;
}

const SIMPLE_MEANING: Readonly<Record<number, number>> = { 98: 0x08, 102: 0x0c, 110: 0x0a, 114: 0x0d, 116: 0x09 };

function putPoint(target: Uint8Array, at: number, point: number): number {
  let o = at;
  if (point < 0x80) {
    target[o++] = point;
    return o;
  }
  if (point < 0x800) {
    target[o++] = 0xc0 | (point >> 6);
  } else {
    if (point < 0x10000) {
      target[o++] = 0xe0 | (point >> 12);
    } else {
      target[o++] = 0xf0 | (point >> 18);
      target[o++] = 0x80 | ((point >> 12) & 0x3f);
    }
    target[o++] = 0x80 | ((point >> 6) & 0x3f);
  }
  target[o++] = 0x80 | (point & 0x3f);
  return o;
}

function hexUnit(source: Uint8Array, at: number): number {
  let unit = 0;
  for (let i = at; i < at + 4; i++) unit = unit * 16 + hexValue(source[i]!);
  return unit;
}

/** What a hex digit stands for; -1 for any other byte. */
export function hexValue(digit: number): number {
  if (digit >= 0x30 && digit <= 0x39) return digit - 0x30;
  const letter = digit | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
