/** Answers and numbers by their text, in no way that the product goes: for the scripts that look at its work from outside. */
import { Buffer, isUtf8 } from 'node:buffer';

/** Sizes beyond which an item is set aside. */
const MOST = { itemBytes: 4 * 1024 * 1024, depth: 64 };

/**
 * The members of an answer, by its bytes: numbers stay as they are written, objects are Maps. Of the lists in it an item that is no
 * object or not sound (a key twice, no UTF-8, a stray token) is null.
 */
export function membersIn(bytes) {
  // One character a byte: the signs of JSON are ASCII, and texts are decoded one by one.
  const text = bytes.toString('latin1');
  let at = bytes.subarray(0, 3).toString('hex') === 'efbbbf' ? 3 : 0;
  let level = 0;
  let isSound = true;
  const blank = () => {
    while (' \t\r\n'.includes(text[at] ?? 'x')) at++;
  };
  const value = () => {
    blank();
    const start = at;
    if (text[at] === '"') return string();
    if (text[at] === '{' || text[at] === '[') {
      level++;
      if (level > MOST.depth + 2) isSound = false;
      const found = text[at] === '{' ? object() : list();
      level--;
      return found;
    }
    while (at < text.length && !',]} \t\r\n'.includes(text[at])) at++;
    const token = text.slice(start, at);
    if (token === 'null' || token === 'true' || token === 'false') return JSON.parse(token);
    if (!NUMBER.test(token)) isSound = false;
    return { number: token };
  };
  const string = () => {
    const start = at++;
    while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    const own = Buffer.from(text.slice(start, ++at), 'latin1');
    if (!isUtf8(own)) isSound = false;
    try {
      // A lone surrogate and NUL are fixed on the way, as in the warehouse.
      return JSON.parse(own.toString('utf8')).toWellFormed().replaceAll('\0', '');
    } catch {
      isSound = false;
      return '';
    }
  };
  const list = () => {
    const found = [];
    for (at++, blank(); text[at] !== ']'; blank()) {
      const start = at;
      if (level === 2) isSound = true;
      const one = value();
      const isItem = one instanceof Map && isSound && at - start <= MOST.itemBytes;
      found.push(level === 2 && !isItem ? null : one);
      blank();
      if (text[at] === ',') at++;
    }
    at++;
    return found;
  };
  const object = () => {
    const found = new Map();
    for (at++, blank(); text[at] !== '}'; blank()) {
      const name = string();
      blank();
      at++;
      const one = value();
      if (found.has(name)) isSound = false;
      found.set(name, one);
      blank();
      if (text[at] === ',') at++;
    }
    at++;
    return found;
  };
  return value();
}

const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([-+]?\d{1,4}))?$/;

/** In units of 10^-places, half away from zero; undefined for what is no number, is too large, or (places 0) is not whole. */
export function units(text, places) {
  const [, sign, whole, fraction = '', power = '0'] = NUMBER.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const shift = Number(power) - fraction.length + places;
  const digits = BigInt(whole + fraction);
  const unit = 10n ** BigInt(Math.max(0, -shift));
  if (places === 0 && digits % unit !== 0n) return undefined;
  const size = shift >= 0 ? digits * 10n ** BigInt(shift) : (2n * digits + unit) / (2n * unit);
  const most = places === 0 ? 2n ** 63n - 1n : 10n ** 18n - 1n;
  return size > most ? undefined : sign ? -size : size;
}

/** A value as the warehouse has it; undefined where it makes the row a reject. */
export function typed(kind, value) {
  if (value === null || value === undefined) return null;
  if (value instanceof Map || Array.isArray(value)) return undefined;
  const text = typeof value === 'object' ? value.number : String(value);
  if (kind === 't') return text;
  if (kind === 'b') return text === 'true' || text === 'false' ? text : undefined;
  if (kind === 'd') return /^\d{4}-\d{2}-\d{2}([T ]|$)/.test(text) ? text.slice(0, 10) : undefined;
  if (typeof value === 'boolean' || !NUMBER.test(text)) return undefined;
  return kind === 'r' ? Number(text) : units(text, kind === 'm' ? 6 : 0);
}

/** Whole numbers and Maps as JSON. */
export function spelled(value) {
  return JSON.stringify(value, (_, one) =>
    typeof one === 'bigint' ? String(one) : one instanceof Map ? [...one] : one,
  );
}

/** Millionths, or a count, as a warehouse spells them. */
export function decimals(value, kind) {
  if (value === null || value === undefined) return null;
  if (kind === 'c') return String(value);
  const size = String(value < 0n ? -value : value).padStart(7, '0');
  return `${value < 0n ? '-' : ''}${size.slice(0, -6)}.${size.slice(-6)}`;
}
