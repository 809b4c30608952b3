/**
 * The fast path: the fields of an item as nearly all of them come, known, in the order of the item before, plain text where
 * text is expected and plain numbers where numbers are. Anything else is left to the state machine, at a place where that
 * can continue; so is everything near the end of a chunk. Leaving early is always right, only slower.
 */
import type { ByteBuffer } from './byte-buffer.ts';
import type { Input } from './input.ts';
import type { Item } from './item.ts';
import type { KnownField } from './known-fields.ts';
import { copyPlain } from './words.ts';

/** Where `input.at` stands on return. */
export const AT_KEY = 0; // where a key, or white space before it, must begin
export const AT_VALUE = 1; // where the value of the current field must begin, or white space before it
export const IN_TEXT = 2; // inside the text of the current field
const BEHIND_VALUE = 3;

const QUOTE = 0x22;
const COMMA = 0x2c;

/** Scans fields from where a key must begin. `out` must have room for the rest of the chunk. */
export function scanFields(input: Input, out: ByteBuffer, item: Item): number {
  const { words: source, end } = input;
  const { words: target } = out;
  const chunk = source.bytes;
  const { bytes } = target;
  const { number } = item;
  let last = item.last;
  let p = input.at;
  let o = out.at;
  let fieldAt = o;
  let valueAt = o;
  let place = AT_KEY;
  for (;;) {
    let q = p;
    while (q < end && (chunk[q] === 0x20 || chunk[q] === 0x0a || chunk[q] === 0x0d)) q++;
    let known = last.next;
    if (!copyKey(source.view, q, end, known, target.view, o)) {
      known = known.next; // one field may be absent here
      if (!copyKey(source.view, q, end, known, target.view, o)) break;
    }
    if (known.seenIn === number) break;
    known.seenIn = number;
    last = known;
    fieldAt = o;
    o += known.opening.length;
    valueAt = o;
    p = q + known.quoted.length;
    if (chunk[p] === 0x20) p++;
    if (known.isText) {
      if (chunk[p] !== QUOTE) {
        place = AT_VALUE;
        break;
      }
      const behind = copyPlain(source, p + 1, end, target, o);
      o += behind - p - 1;
      p = behind;
      if (p === end || chunk[p] !== QUOTE) {
        place = IN_TEXT;
        break;
      }
      p++;
    } else {
      const behind = known.isNumber ? behindNumber(chunk, p, end) : behindBoolean(source.view, p, end);
      if (behind < 0) {
        place = AT_VALUE;
        break;
      }
      while (p < behind) bytes[o++] = chunk[p++]!;
    }
    bytes[o++] = QUOTE;
    if (p === end || chunk[p] !== COMMA) {
      place = BEHIND_VALUE;
      break;
    }
    p++;
  }
  input.at = p;
  out.at = o;
  if (last !== item.last) item.resume(last, fieldAt, valueAt);
  return place;
}

/** Writes the opening of a field if its key and colon stand at `at`, with enough behind them to be looked at. */
function copyKey(view: DataView, at: number, end: number, known: KnownField, target: DataView, to: number): boolean {
  const { keyWords, keyMask, openingWords } = known;
  const lastWord = keyWords.length - 1;
  if (at + 4 * keyWords.length + 2 > end || lastWord < 0) return false;
  for (let i = 0; i < lastWord; i++) if (view.getInt32(at + 4 * i, true) !== keyWords[i]) return false;
  if ((view.getInt32(at + 4 * lastWord, true) & keyMask) !== keyWords[lastWord]) return false;
  for (let i = 0; i < openingWords.length; i++) target.setInt32(to + 4 * i, openingWords[i]!, true);
  return true;
}

/** Position behind the number literal without exponent that begins here, or -1 when there may be none. */
function behindNumber(chunk: Uint8Array, from: number, end: number): number {
  let p = from;
  if (chunk[p] === 0x2d) p++;
  const whole = p;
  while (p < end && chunk[p]! >= 0x30 && chunk[p]! <= 0x39) p++;
  if (p === whole || (chunk[whole] === 0x30 && p > whole + 1)) return -1;
  if (p < end && chunk[p] === 0x2e) {
    const fraction = ++p;
    while (p < end && chunk[p]! >= 0x30 && chunk[p]! <= 0x39) p++;
    if (p === fraction) return -1;
  }
  return p < end && isBehindToken(chunk[p]!) ? p : -1;
}

/** The same for `true` and `false`. */
function behindBoolean(view: DataView, from: number, end: number): number {
  if (from + 6 > end) return -1;
  const word = view.getInt32(from, true);
  if (word === 0x65757274) return isBehindToken(view.getUint8(from + 4)) ? from + 4 : -1;
  if (word !== 0x736c6166 || view.getUint8(from + 4) !== 0x65) return -1;
  return isBehindToken(view.getUint8(from + 5)) ? from + 5 : -1;
}

/** Whether a bare token certainly ends before this byte. */
function isBehindToken(byte: number): boolean {
  return byte === COMMA || byte === 0x7d || byte <= 0x20;
}
