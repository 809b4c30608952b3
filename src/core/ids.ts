/**
 * Ids that sort by time: 48 bits of milliseconds and 40 random bits, in Crockford's base 32, behind a letter that says
 * what they name (`r` run, `f` fetch, `c` caller, `d` delivery, `i` installation). Sorting as text is sorting by birth, so "newer than" needs no second column.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from './clock.ts';
import { LIMITS } from './limits.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** When the id was born, in epoch milliseconds; NaN for what is no id. */
export function bornMs(id: string): number {
  let time = id.length > 10 ? 0 : Number.NaN;
  for (const letter of id.slice(1, 11)) {
    const digit = ALPHABET.indexOf(letter);
    time = digit < 0 ? Number.NaN : time * 32 + digit;
  }
  return time;
}

export function newId(prefix: 'r' | 'f' | 'c' | 'd' | 'i', clock: Clock): string {
  let text = earliestId(prefix, clock.now());
  for (const byte of randomBytes(8)) text += ALPHABET[byte % 32];
  return text;
}

/** What every id begins with that is born at this epoch millisecond: sorts before them, and behind all that were born earlier. */
export function earliestId(prefix: 'r' | 'f' | 'c' | 'd' | 'i', ms: number): string {
  let time = Math.max(0, ms);
  let text = '';
  for (let i = 0; i < 10; i++) {
    text = ALPHABET[time % 32] + text;
    time = Math.floor(time / 32);
  }
  return `${prefix}${text}`;
}

/**
 * Whether an id of the service can be part of a path: not empty, at most LIMITS.pushNameChars, and nothing that an address would take for
 * something else than a name. Any other character is encoded.
 */
export function isPathId(id: string): boolean {
  return id !== '' && id.length <= LIMITS.pushNameChars && id !== '.' && id !== '..' && id.isWellFormed();
}
