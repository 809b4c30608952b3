/** What the answer says, from its text: rows and exact sums a day. Decimal text is summed as BigInt and never is a number. */
import type { Day, DayRange } from '../../../../src/core/days.ts';
import { AMOUNTS, type Amount } from './peer.ts';
import { askOrders, askToken, type Service } from './service.ts';

export interface DayTruth {
  readonly rows: number;
  readonly sums: Readonly<Record<Amount, bigint>>;
  /** Of the first row in the answer. */
  readonly firstItem: string;
}

export type Truth = ReadonlyMap<string, DayTruth>;

/** Amounts are counted in units of 10⁻²⁰, which also tell how far a sum of doubles is off. */
const SCALE = 20;

const END = /\},?(?=\{"orderDate"|\])/;
const FIELD =
  /"(orderDate|orderItemId|quantity|priceExclVat|priceInclVat|commissionPercentage|commission)":"?([^",}]+)/g;

/** Of decimal text, an exponent included; what is below a unit is cut off. */
export function unitsOf(text: string): bigint {
  const parts = /^([+-]?)(\d+)(?:\.(\d*))?(?:e([+-]?\d+))?$/i.exec(text);
  if (!parts) throw new Error(`"${text.slice(0, 40)}" is no number`);
  const [, sign, whole = '', decimals = '', exponent = '0'] = parts;
  const digits = BigInt(`${whole}${decimals}`);
  const shift = SCALE + Number(exponent) - decimals.length;
  const units = shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
  return sign === '-' ? -units : units;
}

/** A difference, rounded to two digits, for people. */
export function shortOf(units: bigint): string {
  return Number(`${units}e-${SCALE}`).toPrecision(2);
}

export async function askTruth(service: Service, { from, to }: DayRange): Promise<Truth> {
  const days = new Map<string, { rows: number; sums: Record<Amount, bigint>; firstItem: string }>();
  const answer = await askOrders(service.env, await askToken(service.env), from, to);
  const take = (item: string) => {
    const fields = new Map(Array.from(item.matchAll(FIELD), ([, name, value]) => [name, value ?? '']));
    const day = fields.get('orderDate') ?? '';
    const none = Object.fromEntries(AMOUNTS.map((amount) => [amount, 0n])) as Record<Amount, bigint>;
    const found = days.get(day) ?? { rows: 0, sums: none, firstItem: fields.get('orderItemId') ?? '' };
    found.rows++;
    for (const amount of AMOUNTS) found.sums[amount] += unitsOf(fields.get(amount) ?? '');
    days.set(day, found);
  };
  let rest = '';
  for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
    const items = (rest + part).split(END);
    rest = items.pop() ?? '';
    for (const item of items) take(item);
  }
  return days;
}

/** All days together. */
export function totalOf(truth: Truth, amount: Amount): bigint {
  return [...truth.values()].reduce((sum, day) => sum + day.sums[amount], 0n);
}

export function without(truth: Truth, day: Day): Truth {
  return new Map([...truth].filter(([one]) => one !== day));
}
