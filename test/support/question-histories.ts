/** Answers to the questions about single orders, their states and their changes, from what the sandbox held to be true at each night. */
import { addDays, type Day, type DayRange, daysBetween } from '../../src/core/days.ts';
import { LAST_MONTH, MONTH_END_NIGHT, NEWEST } from './question-days.ts';
import type { Scene, Sight } from './question-scene.ts';
import { by, cents, groupBy, type Item, sum } from './question-truth.ts';

export type Answer = readonly (readonly (string | boolean | null)[])[];

export const keyOf = ({ orderId, orderItemId }: Item): string => `${orderId} ${orderItemId}`;

/** The items of some days as a night saw them. */
export function seen({ orders }: Sight, { from, to }: DayRange): Item[] {
  return [...orders].flatMap(([day, items]) => (day >= from && day <= to ? items : []));
}

/** As they are now; all of them, or those of some days. */
export function itemsNow({ sights }: Scene, range: DayRange = { from: '0001-01-01' as Day, to: NEWEST }): Item[] {
  return seen(sights.at(-1)!, range);
}

export const lastDays = (count: number): DayRange => ({ from: addDays(NEWEST, 1 - count), to: NEWEST });

const commission = (items: Iterable<Item>) => sum(items, (item) => item.commission);

export function lastMonthByState(scene: Scene): Answer {
  const items = itemsNow(scene, LAST_MONTH);
  const states = groupBy(items, ({ group, isForPayment }) =>
    group === 'approved' && isForPayment ? 'payment started' : group,
  );
  return ['payment started', 'approved', 'open', 'rejected'].flatMap((state) => {
    const found = states.get(state);
    if (!found) return [];
    const share = Number(cents(commission(found))) / Number(cents(commission(items)));
    return [[LAST_MONTH.from, state, String(found.length), `${cents(commission(found))}0000`, String(share)]];
  });
}

export function pending(scene: Scene): Answer {
  return itemsNow(scene, { from: '0001-01-01' as Day, to: addDays(NEWEST, -61) })
    .filter(({ group }) => group === 'open')
    .sort(
      by<Item>(
        (i) => -i.commission,
        (i) => i.day,
        (i) => i.orderId,
        (i) => i.orderItemId,
      ),
    )
    .slice(0, 50)
    .map((i) => [
      ...[i.day, String(daysBetween(i.day, NEWEST)), i.orderId, i.orderItemId, i.siteName, i.title, i.status],
      ...[String(i.quantity), cents(i.commission)],
    ]);
}

export function whyLastMonthChanged(scene: Scene): Answer {
  const now = itemsNow(scene, LAST_MONTH);
  const first = daysIn(LAST_MONTH).flatMap((day) => [...(firstSightOf(scene, day).orders.get(day) ?? [])]);
  const place = (item: Item) => `${item.day} ${keyOf(item)}`;
  const [wasThere, isThere] = [new Map(first.map((i) => [place(i), i])), new Map(now.map((i) => [place(i), i]))];
  const late = now.filter((i) => !wasThere.has(place(i)));
  const gone = first.filter((i) => !isThere.has(place(i)));
  const changed = sum(now, (i) => (wasThere.has(place(i)) ? i.commission - wasThere.get(place(i))!.commission : 0n));
  const end = seen(sightOf(scene, MONTH_END_NIGHT), LAST_MONTH);
  const row = (step: number, what: string, items: number | null, amount: bigint) => [
    ...[String(step), what, items === null ? null : String(items), cents(amount)],
  ];
  return [
    row(1, 'as first fetched', first.length, commission(first)),
    row(2, 'items that came later', late.length, commission(late)),
    row(3, 'items that went', -gone.length, -commission(gone)),
    row(4, 'items whose commission was changed', null, changed),
    row(5, 'as it is now', now.length, commission(now)),
    row(6, 'as known when the month ended', end.length, commission(end)),
    row(7, 'difference since then', now.length - end.length, commission(now) - commission(end)),
  ];
}

interface Change {
  readonly on: Day;
  readonly kind: string;
  readonly before: Item;
  readonly after: Item | null;
  readonly effect: bigint;
}

export function biggestChanges(scene: Scene): Answer {
  const changes: Change[] = [];
  for (const [i, sight] of scene.sights.entries()) {
    const earlier = scene.sights[i - 1];
    if (earlier && sight.night > addDays(NEWEST, -6)) changes.push(...changesBetween(earlier, sight));
  }
  return changes
    .filter(({ effect }) => effect !== 0n)
    .sort(
      by<Change>(
        ({ effect }) => (effect < 0n ? effect : -effect),
        ({ on }) => on,
        ({ before, after }) => (after ?? before).day,
        ({ before }) => before.orderId,
        ({ before }) => before.orderItemId,
      ),
    )
    .slice(0, 25)
    .map(({ on, kind, before, after, effect }) => [
      ...[
        on,
        kind,
        (after ?? before).day,
        before.orderId,
        before.orderItemId,
        before.siteCode,
        before.group,
        after?.group ?? null,
      ],
      ...[cents(before.commission), after ? cents(after.commission) : null, cents(effect)],
    ]);
}

/** What became of the items that the earlier night saw, wherever they are now. */
function changesBetween(earlier: Sight, later: Sight): Change[] {
  const there = new Map([...later.orders.values()].flat().map((item) => [keyOf(item), item]));
  const counted = (item: Item | null) => (item === null || item.group === 'rejected' ? 0n : item.commission);
  return [...earlier.orders.values()].flat().map((before) => {
    const after = there.get(keyOf(before)) ?? null;
    const kind = after === null ? 'vanished' : kindOf(before, after);
    return { on: later.night, kind, before, after, effect: counted(after) - counted(before) };
  });
}

/** Only of changes that have an effect: the others have no need of a name here. */
function kindOf(before: Item, after: Item): string {
  return before.group === after.group ? 'restated' : 'status';
}

export function daysUntilPaid(scene: Scene): Answer {
  const range = { from: addDays(NEWEST, -104), to: addDays(NEWEST, -45) };
  const steps: readonly [string, (item: Item) => boolean][] = [
    ['decided', ({ group }) => group !== 'open'],
    ['approved', ({ group }) => group === 'approved'],
    ['payment started', ({ group, isForPayment }) => group === 'approved' && isForPayment],
  ];
  const items = itemsNow(scene, range);
  return steps.map(([step, isThere]) => {
    const days = items.flatMap((item) => (isThere(item) ? daysUntil(scene, item, isThere) : [])).sort((a, b) => a - b);
    const share = (tenths: number) => String(days[Math.ceil((days.length * tenths) / 10) - 1]);
    return [step, String(days.length), String(days[0]), share(5), share(9), String(days.at(-1))];
  });
}

/** Days to the night that first saw it so; none when it was so at first sight. */
function daysUntil({ sights }: Scene, { day, ...item }: Item, isThere: (item: Item) => boolean): number[] {
  const versions = sights.flatMap(({ night, orders }) => {
    const found = orders.get(day)?.find((other) => keyOf(other) === keyOf({ day, ...item }));
    return found ? [{ night, found }] : [];
  });
  const at = versions.findIndex(({ found }) => isThere(found));
  return at > 0 ? [daysBetween(day, versions[at]!.night)] : [];
}

export function lastMonthThenAndNow(scene: Scene): Answer {
  const then = groupBy(seen(sightOf(scene, MONTH_END_NIGHT), LAST_MONTH), ({ group }) => group);
  const now = groupBy(itemsNow(scene, LAST_MONTH), ({ group }) => group);
  return [...new Set([...then.keys(), ...now.keys()])].sort().map((state) => {
    const [a, b] = [then.get(state) ?? [], now.get(state) ?? []];
    const amounts = [commission(a), commission(b), commission(b) - commission(a)].map(cents);
    return [state, String(a.length), String(b.length), ...amounts];
  });
}

function daysIn({ from, to }: DayRange): Day[] {
  return Array.from({ length: daysBetween(from, to) + 1 }, (_, i) => addDays(from, i));
}

const firstSightOf = ({ sights }: Scene, day: Day): Sight => sights.find(({ night }) => night > day)!;
const sightOf = ({ sights }: Scene, night: Day): Sight => sights.find((sight) => sight.night === night)!;
