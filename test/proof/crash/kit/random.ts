/** Numbers that look random and are the same for the same seed. */

export interface Random {
  /** A whole number from 0 up to but not including `limit`. */
  below(limit: number): number;
  /** From `low` up to `high`. */
  between(low: number, high: number): number;
  pick<T>(things: readonly T[]): T;
}

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  // mulberry32
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    below,
    between: (low, high) => low + next() * (high - low),
    pick: (things) => {
      const picked = things[below(things.length)];
      if (picked === undefined) throw new Error('nothing to pick from');
      return picked;
    },
  };
}
