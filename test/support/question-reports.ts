/** Answers to the questions that lay the three reports side by side, from what the sandbox held to be true when each was fetched. */
import type { Day } from '../../src/core/days.ts';
import type { TruthRow } from '../../src/sandbox/sandbox.ts';
import { LAST_MONTH } from './question-days.ts';
import { type Answer, itemsNow, lastDays, seen } from './question-histories.ts';
import type { Scene } from './question-scene.ts';
import { by, cents, decimal, groupBy, type Item, millionths, sum, textOf } from './question-truth.ts';

const commission = (items: Iterable<Item>) => sum(items, (item) => item.commission);

export function bestSubIds(scene: Scene): Answer {
  const { from } = lastDays(90);
  const shown = [...scene.promotions].flatMap(([day, rows]) => (day >= from ? rows : []));
  const rowsBy = groupBy(shown, ({ subId }) => String(textOf(subId)));
  const itemsBy = groupBy(itemsNow(scene, lastDays(90)), ({ subId }) => String(subId));
  const whole = (rows: readonly TruthRow[], field: string) => sum(rows, (row) => BigInt(String(row[field] ?? 0)));
  return [...rowsBy]
    .map(([subId, rows]) => {
      const items = itemsBy.get(subId) ?? [];
      const of = (is: (item: Item) => boolean) => commission(items.filter(is));
      return {
        subId: textOf(rows[0]?.subId),
        ...{ clicks: whole(rows, 'clicks'), orders: whole(rows, 'orders'), earned: commission(items) },
        approved: of(({ group }) => group === 'approved'),
        paid: of(({ group, isForPayment }) => group === 'approved' && isForPayment),
        lost: of(({ group }) => group === 'rejected'),
      };
    })
    .sort(
      by(
        (s) => -s.approved,
        (s) => -s.earned,
        (s) => s.subId,
      ),
    )
    .map(({ subId, clicks, orders, earned, approved, paid, lost }) => [
      ...[subId, String(clicks), String(orders), ...[earned, approved, paid, lost].map(cents)],
      ...[earned, approved].map((amount) => decimal(amount, clicks * 1_000_000n, 4)),
    ]);
}

/** What one report says of a group: commission, revenue excluding and including VAT, and where it says so, approved and open. */
type Figures = readonly bigint[];

export function doTheReportsAgree(scene: Scene): Answer {
  const now = itemFigures(itemsNow(scene, LAST_MONTH));
  // The commissions were not asked for in the last night.
  const then = itemFigures(seen(scene.sights.at(-2)!, LAST_MONTH));
  const shown = rowFigures(scene.promotions, ['commission', 'revenueExclVat', 'revenueInclVat']);
  const booked = rowFigures(scene.commissions, [
    ...[
      'commissionOriginal',
      'revenueOriginalExclVat',
      'revenueOriginalInclVat',
      'commissionApproved',
      'commissionOpen',
    ],
  ]);
  const groups = [...new Set([now, shown, booked].flatMap((figures) => [...figures.keys()]))].map((key) => {
    const [orders, promotions, commissions] = [now, shown, booked].map((figures) => figures.get(key) ?? []);
    const [promotionsOff, commissionsOff] = [apart(promotions!, orders!.slice(0, 3)), apart(commissions!, orders!)];
    const isTiming = apart(commissions!, then.get(key) ?? []).every((off) => off === 0n);
    const isEqual = [...promotionsOff, ...commissionsOff].every((off) => off === 0n);
    const cls = isEqual ? 'equal' : isTiming && promotionsOff.every((off) => off === 0n) ? 'timing' : 'unexplained';
    return { key, cls, commission: orders![0] ?? 0n, promotionsOff, commissionsOff };
  });
  const classes = groupBy(groups, ({ cls }) => cls);
  return ['unexplained', 'timing', 'equal'].flatMap((cls) => {
    const found = classes.get(cls) ?? [];
    if (found.length === 0) return [];
    const days = new Set(found.map(({ key }) => (JSON.parse(key) as string[])[0]));
    const offs = [0, 3, 4].map((i) => sum(found, ({ commissionsOff }) => commissionsOff[i] ?? 0n));
    const amounts = [sum(found, (g) => g.commission), sum(found, (g) => g.promotionsOff[0] ?? 0n), ...offs];
    return [[cls, String(found.length), String(days.size), ...amounts.map(cents)]];
  });
}

function apart(a: Figures, b: Figures): bigint[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => (a[i] ?? 0n) - (b[i] ?? 0n));
}

function itemFigures(items: readonly Item[]): Map<string, Figures> {
  const label = ({ day, siteCode, frameType, name, subId }: Item) =>
    JSON.stringify([day, siteCode, frameType, name, subId]);
  return new Map(
    [...groupBy(items, label)].map(([key, group]) => [
      key,
      [
        commission(group),
        sum(group, (item) => item.excl * item.quantity),
        sum(group, (item) => item.incl * item.quantity),
        commission(group.filter((item) => item.group === 'approved')),
        commission(group.filter((item) => item.group === 'open')),
      ],
    ]),
  );
}

function rowFigures(report: ReadonlyMap<Day, readonly TruthRow[]>, fields: readonly string[]): Map<string, Figures> {
  const rows = [...report].flatMap(([day, told]) =>
    day >= LAST_MONTH.from && day <= LAST_MONTH.to ? told.map((row) => ({ day, row })) : [],
  );
  const label = ({ day, row }: (typeof rows)[number]) =>
    JSON.stringify([day, ...[row.siteCode, row.frameType, row.name, row.subId].map(textOf)]);
  return new Map(
    [...groupBy(rows, label)].map(([key, group]) => [
      key,
      fields.map((field) => sum(group, ({ row }) => millionths(row[field]))),
    ]),
  );
}
