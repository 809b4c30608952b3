/** What somebody probably meant: the candidate that is a slip of the finger away, or null. */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  const wanted = fold(word);
  // One slip in a short word, three in a long one: more would be guessing.
  let best = Math.min(3, Math.floor(wanted.length / 3)) + 1;
  let found: string | null = null;
  for (const candidate of candidates) {
    const distance = slips(wanted, fold(candidate));
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

/** lookback_days, lookback-days and lookbackDays are one word. */
function fold(word: string): string {
  return word.toLowerCase().replaceAll(/[-_ ]/g, '');
}

/** Letters to insert, drop, replace or swap with their neighbour to make `a` into `b`. */
function slips(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min(row[j - 1]! + 1, above[j]! + 1, above[j - 1]! + same);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) least = Math.min(least, before[j - 2]! + 1);
      row.push(least);
    }
    before = above;
    above = row;
  }
  return above[b.length]!;
}
