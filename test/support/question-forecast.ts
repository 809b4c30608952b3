/** What the forecast of payments must say: the rules of mart.payment_forecast again, in exact fractions. */
import { addDays, daysBetween } from '../../src/core/days.ts';
import { NEWEST } from './question-days.ts';
import { type Answer, itemsNow } from './question-histories.ts';
import type { Scene } from './question-scene.ts';
import { cents, type Item, sum } from './question-truth.ts';

/** numerator over denominator, which is above 0. */
type Fraction = readonly [bigint, bigint];

const less = ([a, b]: Fraction, [c, d]: Fraction) => a * d < c * b;
const minus = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d - c * b, b * d];
const greatest = (fractions: readonly Fraction[]) => fractions.reduce((a, b) => (less(a, b) ? b : a));

interface Age {
  readonly commission: bigint;
  readonly paid: bigint;
  readonly rejected: bigint;
  readonly unpaid: bigint;
}

const BILLION = 1_000_000_000n;
const AGES = 27;
const WEEKS = 13;

export function whatWillBePaid(scene: Scene): Answer {
  const ages = agesOf(itemsNow(scene));
  const rising = risingCurve(ages);
  const owed = sum(ages, ({ unpaid }) => unpaid);
  const monday = addDays(NEWEST, -((new Date(`${NEWEST}T00:00:00Z`).getUTCDay() + 6) % 7));
  let byThen = 0n;
  return Array.from({ length: WEEKS }, (_, i) => {
    const expected = expectedIn(ages, rising, i + 1);
    byThen += expected;
    return [addDays(monday, 7 * (i + 1)), cents(expected), cents(byThen), cents(owed)];
  });
}

function agesOf(items: readonly Item[]): Age[] {
  const inAge = (age: number) => items.filter(({ day }) => Math.floor(daysBetween(day, NEWEST) / 7) === age);
  const count = Math.min(AGES, Math.max(...items.map(({ day }) => Math.floor(daysBetween(day, NEWEST) / 7))) + 1);
  return Array.from({ length: count }, (_, age) => {
    const of = (is: (item: Item) => boolean) => sum(inAge(age).filter(is), (item) => item.commission);
    const isPaid = ({ group, isForPayment }: Item) => group === 'approved' && isForPayment;
    const isRejected = ({ group }: Item) => group === 'rejected';
    const unpaid = of((item) => !isPaid(item) && !isRejected(item));
    return { commission: of(() => true), paid: of(isPaid), rejected: of(isRejected), unpaid };
  });
}

/** The rising curve of paid shares that is nearest to the ages' own, weighed by commission: pools of adjacent ages that fall are one. */
function risingCurve(ages: readonly Age[]): Fraction[] {
  const share = (from: number, to: number): Fraction => {
    const span = ages.slice(from, to + 1);
    return [sum(span, (age) => age.paid), sum(span, (age) => age.commission)];
  };
  const pools: { from: number; to: number; share: Fraction }[] = [];
  for (const at of ages.keys()) {
    let pool = { from: at, to: at, share: share(at, at) };
    for (let last = pools.at(-1); last && !less(last.share, pool.share); last = pools.at(-1)) {
      pool = { from: last.from, to: at, share: share(last.from, at) };
      pools.pop();
    }
    pools.push(pool);
  }
  return pools.flatMap(({ from, to, share: of }) => Array.from({ length: to - from + 1 }, () => of));
}

function expectedIn(ages: readonly Age[], rising: readonly Fraction[], weeks: number): bigint {
  let billionths = 0n;
  for (const [age, { commission, rejected, unpaid }] of ages.entries()) {
    const [later, before] = [rising[age + weeks], rising[age + weeks - 1]];
    if (!later || !before) continue;
    const now = rising[age]!;
    const notLost: Fraction = minus(minus([1n, 1n], now), [rejected, commission]);
    const left = greatest([notLost, minus(greatest(rising), now)]);
    const [a, b] = minus(later, before);
    if (left[0] <= 0n) continue;
    billionths += unpaid * rounded(a * left[1] * BILLION, b * left[0]);
  }
  // Six decimals, halves away from zero, as the mart has them.
  return rounded(billionths, BILLION);
}

function rounded(numerator: bigint, denominator: bigint): bigint {
  return (numerator * 2n + denominator) / (denominator * 2n);
}
