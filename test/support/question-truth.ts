/** What the sandbox's rows say, as order items with exact amounts: whole millionths as bigint. And how answers spell it. */
import type { Day } from '../../src/core/days.ts';
import type { TruthRow } from '../../src/sandbox/sandbox.ts';

export type Group = 'open' | 'approved' | 'rejected';

export interface Item {
  readonly day: Day;
  readonly orderId: string;
  readonly orderItemId: string;
  readonly title: string;
  readonly productId: string;
  readonly chunkName: string | null;
  readonly siteCode: string;
  readonly siteName: string;
  readonly frameType: string;
  readonly name: string | null;
  readonly subId: string | null;
  readonly status: string;
  readonly group: Group;
  readonly quantity: bigint;
  readonly excl: bigint;
  readonly incl: bigint;
  readonly percentage: bigint;
  readonly commission: bigint;
  readonly isFinal: boolean;
  readonly isForPayment: boolean;
}

export function itemOf(row: TruthRow): Item {
  const status = String(row.status);
  return {
    day: String(row.orderDate) as Day,
    orderId: String(row.orderId),
    orderItemId: String(row.orderItemId),
    title: String(row.productTitle),
    productId: String(row.productId),
    chunkName: textOf(row.chunkName),
    siteCode: String(row.siteCode),
    siteName: String(row.siteName),
    frameType: String(row.frameType),
    name: textOf(row.name),
    subId: textOf(row.subId),
    status,
    group: status === 'Geaccepteerd' ? 'approved' : status.startsWith('Geweigerd') ? 'rejected' : 'open',
    quantity: BigInt(String(row.quantity)),
    excl: millionths(row.priceExclVat),
    incl: millionths(row.priceInclVat),
    percentage: millionths(row.commissionPercentage),
    commission: millionths(row.commission),
    isFinal: row.statusFinal === true,
    isForPayment: row.approvedForPayment === true,
  };
}

export function textOf(value: unknown): string | null {
  return value === undefined ? null : String(value);
}

/** Of a decimal text, which may be absent: 0. */
export function millionths(text: unknown): bigint {
  const [, sign, whole = '0', decimals = ''] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(String(text ?? '0')) ?? [];
  const amount = BigInt(whole) * 1_000_000n + BigInt(decimals.padEnd(6, '0'));
  return sign === '-' ? -amount : amount;
}

/** `numerator / denominator` with so many decimals, halves away from zero; null over nothing. */
export function decimal(numerator: bigint, denominator: bigint, decimals: number): string | null {
  if (denominator === 0n) return null;
  const scaled = numerator * 10n ** BigInt(decimals) * 2n;
  const size = (scaled < 0n ? -scaled : scaled) + denominator;
  const rounded = size / (denominator * 2n);
  const digits = String(rounded).padStart(decimals + 1, '0');
  const text = decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
  return numerator < 0n && rounded !== 0n ? `-${text}` : text;
}

/** An amount in cents, as decimal(38,2) spells it. */
export const cents = (amount: bigint): string => decimal(amount, 1_000_000n, 2)!;

export const percent = (part: bigint, whole: bigint, decimals = 1): string | null =>
  decimal(part * 100n, whole, decimals);

export function sum<T>(rows: Iterable<T>, amount: (row: T) => bigint): bigint {
  let total = 0n;
  for (const row of rows) total += amount(row);
  return total;
}

export function groupBy<T>(rows: Iterable<T>, key: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const name = key(row);
    const group = groups.get(name);
    if (group) group.push(row);
    else groups.set(name, [row]);
  }
  return groups;
}

type Sortable = string | bigint | number | null;

/** Compares by each of these in turn, ascending; null is last. */
export function by<T>(...keys: readonly ((row: T) => Sortable)[]): (a: T, b: T) => number {
  return (a, b) => {
    for (const key of keys) {
      const [x, y] = [key(a), key(b)];
      if (x === y) continue;
      if (x === null) return 1;
      if (y === null) return -1;
      return x < y ? -1 : 1;
    }
    return 0;
  };
}
