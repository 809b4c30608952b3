/** How figures read: amounts with every digit they have, thousands apart, times to the minute. Nothing here goes through a double. */

const amount = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 12 });

/** `-1234.5` → `-1,234.50`: exact decimal text with two decimals, or as many as it needs. Other text stays as it is. */
export function amountText(text: string): string {
  // The formatter takes decimal text digit by digit; only a number would lose some.
  return /^-?\d+(?:\.\d+)?$/.test(text) ? amount.format(text as Intl.StringNumericLiteral) : text;
}

/** A sum of money or of counts: only what has decimals in the text gets decimals. */
export function sumText(text: string): string {
  return /^-?\d+$/.test(text) ? BigInt(text).toLocaleString('en-US') : amountText(text);
}

export function countText(count: number): string {
  return count.toLocaleString('en-US');
}

/** `1 slice`, `2,000 slices`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

/** As many as fit into exact decimals of this length, which is more than DECIMAL(18,6) has. */
const SCALE = 12;

/** The exact sum of decimal texts; what is no decimal counts as nothing. */
export function exactSum(texts: readonly string[]): string {
  const sum = texts.reduce((total, text) => total + scaled(text), 0n);
  const digits = (sum < 0n ? -sum : sum).toString().padStart(SCALE + 1, '0');
  return `${sum < 0n ? '-' : ''}${digits.slice(0, -SCALE)}.${digits.slice(-SCALE)}`;
}

function scaled(text: string): bigint {
  const [, sign, whole = '0', decimals = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const value = BigInt(whole + decimals.slice(0, SCALE).padEnd(SCALE, '0'));
  return sign === '-' ? -value : value;
}

/** `2026-03-01T04:30:12.000Z` → `2026-03-01 04:30`; the page says once that times are UTC. */
export function minuteText(iso: string): string {
  return iso.slice(0, 16).replace('T', ' ');
}

/** `850 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`. */
export function durationText(durationMs: number): string {
  if (durationMs < 1000) return `${durationMs} ms`;
  const seconds = Math.round(durationMs / 1000);
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const parts =
    hours > 0 ? [`${hours} h`, minutes && `${minutes} min`] : [minutes && `${minutes} min`, rest && `${rest} s`];
  return parts.filter(Boolean).join(' ');
}

/** `set_aside` → `set aside` */
export function wordsOf(code: string): string {
  return code.replaceAll('_', ' ');
}

/** The values by a word of theirs, in the order in which the words come first. */
export function partedBy<T>(values: readonly T[], wordOf: (value: T) => string): Map<string, T[]> {
  const parts = new Map<string, T[]>();
  for (const value of values) {
    const word = wordOf(value);
    const part = parts.get(word);
    if (part) part.push(value);
    else parts.set(word, [value]);
  }
  return parts;
}
