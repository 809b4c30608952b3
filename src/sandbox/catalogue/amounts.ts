/**
 * Money in the sandbox: whole cents, and percentages in hundredths of a percent. Both stay far below 2^53 (a million
 * items a day of 2,000 euro are 2·10^11 cents), so sums of them are exact. Text is made from the integers alone.
 */

export interface Rate {
  readonly fixedCents: number;
  /** Hundredths of a percent. */
  readonly percentage: number;
}

/** Amounts in cents, days as day numbers, both inclusive. */
export interface Reduction {
  readonly maximumCents: number;
  readonly costCents: number;
  readonly startDay: number;
  readonly endDay: number;
}

/** 1210 → `12.1`, 1200 → `12`, -5 → `-0.05`: as the service writes amounts, without trailing zeros. */
export function centsText(cents: number): string {
  const positive = Math.abs(cents);
  const whole = Math.floor(positive / 100);
  const rest = positive - whole * 100;
  const sign = cents < 0 ? '-' : '';
  if (rest === 0) return `${sign}${whole}`;
  if (rest % 10 === 0) return `${sign}${whole}.${rest / 10}`;
  return `${sign}${whole}.${rest < 10 ? '0' : ''}${rest}`;
}

/** Whole cents (or hundredths of a percent) of a decimal text with at most two digits after the point; undefined when it is none. */
export function centsOf(text: string): number | undefined {
  const parts = /^(-?)(\d{1,12})(?:\.(\d{1,2}))?$/.exec(text);
  if (!parts) return undefined;
  const cents = Number(parts[2]) * 100 + Number((parts[3] ?? '').padEnd(2, '0'));
  return parts[1] === '-' && cents !== 0 ? -cents : cents;
}

/** Commission in cents on `exclCents` a piece, rounded half up. */
export function commissionOf(exclCents: number, quantity: number, percentageHundredths: number): number {
  return Math.floor((exclCents * quantity * percentageHundredths + 5000) / 10_000);
}

/** Price without VAT in cents, rounded half up. */
export function withoutVat(inclCents: number, vatPercent: number): number {
  return Math.floor((inclCents * 200 + 100 + vatPercent) / (2 * (100 + vatPercent)));
}

/** A ratio with at most six digits after the point, never in the form `1e-7`; undefined over nothing. */
export function ratio(numerator: number, denominator: number): number | undefined {
  return denominator === 0 ? undefined : Math.round((numerator * 1_000_000) / denominator) / 1_000_000;
}
