/** Answers to the questions about rates and reductions, from what the sandbox held to be true at each night. */
import { addDays, type Day } from '../../src/core/days.ts';
import { LAST_MONTH, NEWEST } from './question-days.ts';
import { type Answer, itemsNow, lastDays } from './question-histories.ts';
import type { Rate, Scene, Sight } from './question-scene.ts';
import { by, cents, decimal, groupBy, type Item, millionths, sum } from './question-truth.ts';

interface Boundary {
  readonly ean: string;
  readonly maximum: bigint;
  readonly cost: bigint;
  readonly start: string;
  readonly end: string;
}

interface Rated {
  readonly fixed: bigint;
  readonly percentage: bigint;
}

/** The last look before the end of a day. */
const known = ({ sights }: Scene, day: Day): Sight | undefined => sights.findLast(({ night }) => night <= day);

const rated = (rate: Rate): Rated => ({ fixed: millionths(rate.fixedAmount), percentage: millionths(rate.percentage) });

/** What the service asks for a piece at a price, without any reduction, rounded to cents. */
function asked({ fixed, percentage }: Rated, price: bigint): bigint {
  return millionths(decimal(fixed * 100_000_000n + percentage * price, 100_000_000_000_000n, 2));
}

function fileOf(sight: Sight): Boundary[] {
  return sight.reductions.map((line) => {
    const [ean = '', maximum, cost, start = '', end = ''] = line.split(',');
    return { ean, maximum: millionths(maximum), cost: millionths(cost), start, end };
  });
}

function insideOf(sight: Sight): Boundary[] {
  return [...sight.rates].flatMap(([ean, { reductions = [] }]) =>
    reductions.map(({ maximumPrice, costReduction, startDate, endDate }) => ({
      ...{ ean, maximum: millionths(maximumPrice), cost: millionths(costReduction), start: startDate, end: endDate },
    })),
  );
}

const inForce = (boundaries: readonly Boundary[], day: Day) =>
  boundaries.filter(({ start, end }) => start <= day && end >= day);

const highest = (amounts: readonly bigint[]) => amounts.reduce((a, b) => (a < b ? b : a), 0n);

function eansByProduct({ eans }: Scene): Map<string, string> {
  return new Map([...eans].map(([ean, { productId }]) => [productId, ean]));
}

export function belowTheirRate(scene: Scene): Answer {
  const eans = eansByProduct(scene);
  const found = itemsNow(scene, LAST_MONTH).flatMap((item) => {
    const ean = eans.get(item.productId);
    const sight = known(scene, item.day);
    const rate = ean && sight?.rates.get(ean);
    if (item.group === 'rejected' || !ean || !sight || !rate) return [];
    const fitting = inForce([...fileOf(sight), ...insideOf(sight)], item.day).filter(
      (line) => line.ean === ean && line.maximum >= item.incl,
    );
    const reduction = fitting.length === 0 ? null : highest(fitting.map(({ cost }) => cost));
    const expected = item.quantity * highest([asked(rated(rate), item.incl) - (reduction ?? 0n)]);
    const shortfall = expected - item.commission;
    return shortfall > item.quantity * 10_000n ? [{ item, ean, rate, reduction, expected, shortfall }] : [];
  });
  return found
    .sort(
      by(
        (f) => -f.shortfall,
        (f) => f.item.day,
        (f) => f.item.orderId,
        (f) => f.item.orderItemId,
      ),
    )
    .slice(0, 25)
    .map(({ item, ean, rate, reduction, expected, shortfall }) => [
      ...[item.day, item.orderId, item.orderItemId, ean, String(item.quantity), cents(item.incl)],
      ...[cents(millionths(rate.fixedAmount)), cents(millionths(rate.percentage))],
      ...[reduction === null ? null : cents(reduction), ...[expected, item.commission, shortfall].map(cents)],
      cents(byReport(item) - item.commission),
    ]);
}

function byReport({ excl, quantity, percentage }: Item): bigint {
  return millionths(decimal(excl * quantity * percentage, 100_000_000_000_000n, 2));
}

export function rateChanges(scene: Scene): Answer {
  const changes = scene.sights.flatMap((later, i) => {
    const earlier = scene.sights[i - 1];
    return [...(earlier?.rates ?? [])].flatMap(([ean, rate]) => {
      const after = later.rates.get(ean);
      return after && !same(rated(rate), rated(after))
        ? [{ on: later.night, ean, before: rated(rate), after: rated(after) }]
        : [];
    });
  });
  return changes
    .filter(({ on }) => on > addDays(NEWEST, -90))
    .map((change) => ({ ...change, ...effectOf(scene, change) }))
    .sort(
      by(
        ({ effect }) => (effect < 0n ? effect : -effect),
        ({ on }) => -Date.parse(on),
        ({ ean }) => ean,
      ),
    )
    .slice(0, 30)
    .map(({ on, ean, before, after, price, perPiece, sold, effect }) => [
      ...[
        on,
        ean,
        scene.eans.get(ean)!.title,
        ...[before.fixed, after.fixed, before.percentage, after.percentage].map(cents),
      ],
      ...[cents(price), cents(perPiece), String(sold), cents(effect)],
    ]);
}

const same = (a: Rated, b: Rated) => a.fixed === b.fixed && a.percentage === b.percentage;

function effectOf(scene: Scene, { on, ean, before, after }: { on: Day; ean: string; before: Rated; after: Rated }) {
  const { productId, price: offered } = scene.eans.get(ean)!;
  const sales = itemsNow(scene, { from: addDays(on, -28), to: addDays(on, -1) })
    .filter((item) => item.productId === productId && item.group !== 'rejected')
    .sort(
      by<Item>(
        (item) => item.day,
        (item) => item.incl,
      ),
    );
  const price = sales.at(-1)?.incl ?? millionths(offered);
  const perPiece = asked(after, price) - asked(before, price);
  const sold = sum(sales, ({ quantity }) => quantity);
  return { price, perPiece, sold, effect: perPiece * sold };
}

export function reductionsOnSales(scene: Scene): Answer {
  const eans = eansByProduct(scene);
  const sold = itemsNow(scene, lastDays(30)).filter(
    ({ group, productId }) => group !== 'rejected' && eans.has(productId),
  );
  const byEan = groupBy(sold, ({ productId }) => eans.get(productId)!);
  return inForce(fileOf(known(scene, NEWEST)!), NEWEST)
    .flatMap((line) => {
      const items = byEan.get(line.ean);
      if (!items) return [];
      const pieces = (of: readonly Item[]) => sum(of, ({ quantity }) => quantity);
      const within = pieces(items.filter(({ incl }) => incl <= line.maximum));
      return [{ line, title: items[0]!.title, pieces: pieces(items), within, reduced: within * line.cost }];
    })
    .sort(
      by(
        (r) => -r.reduced,
        (r) => -r.pieces,
        (r) => r.line.ean,
        (r) => r.line.maximum,
        (r) => r.line.cost,
      ),
    )
    .slice(0, 50)
    .map(({ line, title, pieces, within, reduced }) => [
      ...[line.ean, title, cents(line.maximum), cents(line.cost), line.end],
      ...[String(pieces), String(within), cents(reduced)],
    ]);
}

export function cutsThatPay(scene: Scene): Answer {
  const sight = scene.sights.at(-1)!;
  const boundaries = inForce([...fileOf(sight), ...insideOf(sight)], sight.night);
  const once = new Map(boundaries.map((b) => [[b.ean, b.maximum, b.cost, b.end].join(' '), b]));
  const all = groupBy(once.values(), ({ ean }) => ean);
  return [...once.values()]
    .flatMap((boundary) => {
      const { ean, maximum } = boundary;
      const [rate, offer] = [sight.rates.get(ean), scene.eans.get(ean)];
      if (!rate || !offer) return [];
      const commissionAt = (price: bigint) => {
        const costs = (all.get(ean) ?? []).flatMap((other) => (other.maximum >= price ? [other.cost] : []));
        return highest([asked(rated(rate), price) - highest(costs)]);
      };
      const price = millionths(offer.price);
      const [now, then] = [commissionAt(price), commissionAt(maximum)];
      return [{ boundary, offer, price, cut: price - maximum, now, then, gain: now - then - (price - maximum) }];
    })
    .filter(({ cut, gain }) => cut > 0n && gain > 0n)
    .sort(
      by(
        (c) => -c.gain,
        (c) => c.boundary.ean,
        (c) => -c.boundary.maximum,
        (c) => c.boundary.end,
      ),
    )
    .slice(0, 30)
    .map(({ boundary, offer, price, cut, now, then, gain }) => [
      ...[boundary.ean, offer.title, ...[price, boundary.maximum, cut, now, then, gain].map(cents), boundary.end],
    ]);
}
