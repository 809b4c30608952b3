/** Answers to the questions about sums of the reports, from what the sandbox held to be true. */
import { addDays, type Day, type DayRange, daysBetween, daysOf } from '../../src/core/days.ts';
import type { TruthRow } from '../../src/sandbox/sandbox.ts';
import { FIRST, HELD, NEWEST } from './question-days.ts';
import { type Answer, itemsNow, lastDays } from './question-histories.ts';
import type { Scene } from './question-scene.ts';
import { by, cents, decimal, groupBy, type Item, millionths, percent, sum, textOf } from './question-truth.ts';

const commission = (items: Iterable<Item>) => sum(items, (item) => item.commission);
const wholeOf = (rows: readonly TruthRow[], field: string) => sum(rows, (row) => BigInt(String(row[field] ?? 0)));
const MILLION = 1_000_000n;

function promotionsOf({ promotions }: Scene, { from, to }: DayRange): TruthRow[] {
  return [...promotions].flatMap(([day, rows]) => (day >= from && day <= to ? rows : []));
}

export function sitesByEarningsPerClick(scene: Scene): Answer {
  const sites = groupBy(promotionsOf(scene, lastDays(30)), ({ siteCode }) => String(siteCode));
  const sums = [...sites].map(([code, rows]) => {
    const [clicks, orders] = [wholeOf(rows, 'clicks'), wholeOf(rows, 'orders')];
    const earned = sum(rows, (row) => millionths(row.commission));
    const perClick = decimal(earned, clicks * MILLION, 4);
    return { code, name: String(rows[0]?.siteName), clicks, orders, earned, perClick };
  });
  return sums
    .sort(
      by(
        (site) => -Number(site.perClick),
        (site) => -site.earned,
        (site) => site.code,
      ),
    )
    .map(({ code, name, clicks, orders, earned, perClick }) => [
      ...[code, name, String(clicks), String(orders), cents(earned), decimal(orders * 100n, clicks, 2), perClick],
    ]);
}

export function clicksWithoutOrders(scene: Scene): Answer {
  const label = (row: TruthRow) => [row.siteCode, row.frameType, row.name, row.subId].map(textOf);
  const groups = groupBy(promotionsOf(scene, lastDays(30)), (row) => JSON.stringify(label(row)));
  return [...groups.values()]
    .map((rows) => ({
      rows,
      label: label(rows[0]!),
      clicks: wholeOf(rows, 'clicks'),
      impressions: wholeOf(rows, 'impressions'),
    }))
    .filter(({ rows, clicks }) => clicks > 0n && wholeOf(rows, 'orders') === 0n)
    .sort(
      by(
        (g) => -g.clicks,
        (g) => -g.impressions,
        (g) => g.label[0]!,
        (g) => g.label[1]!,
        (g) => g.label[2]!,
        (g) => g.label[3]!,
      ),
    )
    .slice(0, 30)
    .map(({ rows, label: [code, ...rest], clicks, impressions }) => [
      ...[String(rows[0]?.siteName), code!, ...rest, String(clicks), String(impressions)],
      String(new Set(rows.map(({ date }) => date)).size),
    ]);
}

const BUCKETS = [
  ['0-30', 0, 30],
  ['31-60', 31, 60],
  ['61-90', 61, 90],
  ['90+', 91, 99_999],
] as const;

export function approvedButNotPaid(scene: Scene): Answer {
  const waiting = itemsNow(scene).filter(
    ({ group, isForPayment }) => group === 'open' || (group === 'approved' && !isForPayment),
  );
  return (['approved_unpaid', 'pending'] as const).flatMap((state) =>
    BUCKETS.flatMap(([bucket, from, to]) => {
      const items = waiting.filter(({ day, group }) => {
        const age = daysBetween(day, NEWEST);
        return (group === 'approved') === (state === 'approved_unpaid') && age >= from && age <= to;
      });
      return items.length === 0 ? [] : [[NEWEST, state, bucket, String(items.length), cents(commission(items))]];
    }),
  );
}

export function turnedDown(scene: Scene): Answer {
  const items = itemsNow(scene, { from: addDays(NEWEST, -119), to: addDays(NEWEST, -30) });
  const groups = groupBy(items, ({ chunkName, siteCode }) => JSON.stringify([chunkName, siteCode]));
  return [...groups.values()]
    .map((all) => ({
      chunk: all[0]!.chunkName,
      site: all[0]!.siteCode,
      items: all.length,
      decided: all.filter(({ group }) => group !== 'open').length,
      rejected: all.filter(({ group }) => group === 'rejected'),
    }))
    .filter(({ rejected }) => rejected.length > 0)
    .sort(
      by(
        (g) => -commission(g.rejected),
        (g) => -g.rejected.length,
        (g) => g.chunk,
        (g) => g.site,
      ),
    )
    .slice(0, 25)
    .map(({ chunk, site, items: count, decided, rejected }) => [
      ...[chunk, site, String(count), String(decided), String(rejected.length)],
      ...[percent(BigInt(rejected.length), BigInt(decided)), cents(commission(rejected))],
    ]);
}

export function isEverythingHere({ sights, promotions, commissions }: Scene): Answer {
  const orders = sights.at(-1)!.orders;
  const isSettled = (item: Item) => item.isFinal && (item.group !== 'approved' || item.isForPayment);
  const isClosed = (row: TruthRow) =>
    [row.commissionOpen, row.revenueOpenExclVat].every((open) => millionths(open) === 0n);
  const stateOf = {
    commissions: (day: Day) => closed(commissions.get(day)?.every(isClosed)),
    orders: (day: Day) => closed(orders.get(day)?.every(isSettled)),
    promotions: (day: Day) => (day === HELD ? 'held' : closed(promotions.has(day) ? true : undefined)),
  };
  const newest = { commissions, orders, promotions };
  return (['commissions', 'orders', 'promotions'] as const).map((name) => {
    const days = daysOf(lastDays(60));
    const states = groupBy(days, stateOf[name]);
    const count = (state: string) => String(states.get(state)?.length ?? 0);
    const [first = null] = [...(states.get('missing') ?? []), ...(states.get('held') ?? [])].sort();
    const last = [...newest[name].keys()].sort().at(-1)!;
    // Every night brought a new day, so its newest answer is of the day after it.
    const counts = ['missing', 'held', 'open', 'settled'].map(count);
    return [name, String(days.length), ...counts, first, '0', last, addDays(last as Day, 1)];
  });
}

function closed(isClosed: boolean | undefined): string {
  if (isClosed === undefined) return 'missing';
  return isClosed ? 'settled' : 'open';
}

/** Public holidays of the Netherlands between the first and the newest day. */
const HOLIDAYS = ['2025-12-25', '2025-12-26', '2026-01-01'] as Day[];

export function weekendsAndHolidays(scene: Scene): Answer {
  const days = daysOf({ from: FIRST, to: NEWEST }).slice(-90);
  const kinds = groupBy(days, (day) => {
    if (HOLIDAYS.includes(day)) return 'holiday';
    return [0, 6].includes(new Date(`${day}T00:00:00Z`).getUTCDay()) ? 'weekend' : 'weekday';
  });
  const kept = itemsNow(scene).filter(({ group }) => group !== 'rejected');
  return ['holiday', 'weekday', 'weekend'].map((kind) => {
    const ofKind = kinds.get(kind) ?? [];
    const items = kept.filter(({ day }) => ofKind.includes(day));
    const count = BigInt(ofKind.length);
    const perDay = [decimal(BigInt(items.length), count, 1), decimal(commission(items), count * MILLION, 2)];
    return [kind, String(count), String(items.length), cents(commission(items)), ...perDay];
  });
}

export function bestProducts(scene: Scene): Answer {
  const kept = itemsNow(scene, lastDays(90)).filter(({ group }) => group !== 'rejected');
  return [...groupBy(kept, ({ productId }) => productId)]
    .sort(
      by(
        ([, items]) => -commission(items),
        ([id]) => id,
      ),
    )
    .slice(0, 20)
    .map(([id, items]) => {
      const safe = items.filter(({ group, isForPayment }) => group === 'approved' && isForPayment);
      const title = items
        .map((item) => item.title)
        .reduce((a, b) => (Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0 ? b : a));
      return [
        ...[id, title, String(sum(items, (item) => item.quantity)), String(new Set(items.map((i) => i.orderId)).size)],
        ...[sum(items, (item) => item.excl * item.quantity), commission(items), commission(safe)].map(cents),
      ];
    });
}
