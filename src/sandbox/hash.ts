/**
 * The sandbox's randomness: a 32-bit mixing hash of the seed and a position, so that any item can be made alone,
 * in any order, without state. It has nothing to do with secrecy.
 */

/** Spreads every bit of a 32-bit integer over all others (the finaliser of MurmurHash3). */
export function mix(value: number): number {
  let h = value ^ (value >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
}

export function hash2(seed: number, a: number): number {
  return mix(Math.imul(seed, 0x9e3779b1) ^ mix(a + 0x7f4a7c15));
}

export function hash3(seed: number, a: number, b: number): number {
  return mix(hash2(seed, a) + Math.imul(b, 0x85157af5));
}

/** A number from 0 to `count` - 1. */
export function below(hash: number, count: number): number {
  return (hash >>> 0) % count;
}

export function pick<T>(values: readonly T[], hash: number): T {
  return values[below(hash, values.length)]!;
}

/** A text in the form of a UUID, made from the seed: for ids that must only look real. */
export function uuidLike(seed: number, salt: number): string {
  const hex = [0, 1, 2, 3].map((i) => (hash3(seed, salt, i) >>> 0).toString(16).padStart(8, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20)].join('-');
}
