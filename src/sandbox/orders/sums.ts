/** The promotions and commissions reports: sums over the same order items that the orders report lists. */
import type { Day } from '../../core/days.ts';
import { ratio } from '../catalogue/amounts.ts';
import { DAY_SECONDS, lastPassedSecond } from '../dutch-time.ts';
import type { World } from '../world.ts';
import { DayItems } from './orders.ts';
import { clicksOfDay, impressionsOf, type Placement } from './placements.ts';
import { extraCells, money, placementCells, type Row } from './rows.ts';

/** Amounts in cents, revenue as price × pieces. */
interface Amounts {
  commission: number;
  excl: number;
  incl: number;
}

interface Group {
  readonly placement: number;
  /** Hundredths of a percent. */
  readonly percentage: number;
  readonly original: Amounts;
  readonly approved: Amounts;
  readonly open: Amounts;
  quantityPayable: number;
}

interface DaySums {
  readonly day: Day;
  readonly groups: readonly Group[];
  /** Orders by placement. */
  readonly orders: readonly number[];
}

const nothing = (): Amounts => ({ commission: 0, excl: 0, incl: 0 });

function add(to: Amounts, commission: number, excl: number, incl: number): void {
  to.commission += commission;
  to.excl += excl;
  to.incl += incl;
}

/** Percentages stay below this, so one number names placement and percentage. */
const PERCENTAGES = 100_001;

function sumDay(world: World, shownDay: number, now: number): DaySums {
  const items = new DayItems(world, shownDay, now);
  const groups = new Map<number, Group>();
  const orders = world.placements.map(() => 0);
  let lastDay = -1;
  let lastOrder = -1;
  while (items.next()) {
    const { placement, percentage, pieces, decision } = items;
    const key = placement * PERCENTAGES + percentage;
    let group = groups.get(key);
    if (group === undefined) {
      group = { placement, percentage, original: nothing(), approved: nothing(), open: nothing(), quantityPayable: 0 };
      groups.set(key, group);
    }
    const commission = items.commissionCents;
    const excl = items.exclCents * pieces;
    const incl = items.inclCents * pieces;
    add(group.original, commission, excl, incl);
    if (decision === 'accepted') {
      add(group.approved, commission, excl, incl);
      group.quantityPayable += pieces;
    } else if (decision === 'open') add(group.open, commission, excl, incl);
    if (items.order !== lastOrder || items.day !== lastDay) orders[placement]!++;
    lastDay = items.day;
    lastOrder = items.order;
  }
  const sorted = [...groups].sort(([a], [b]) => a - b).map(([, group]) => group);
  return { day: items.shownDay, groups: sorted, orders };
}

function commissionRow(world: World, day: Day, group: Group): Row {
  return [
    ['orderDate', day],
    ...placementCells(world.placements[group.placement]!),
    ['commissionPercentage', money(group.percentage)],
    ['commissionOriginal', money(group.original.commission)],
    ['commissionApproved', money(group.approved.commission)],
    ['commissionOpen', money(group.open.commission)],
    ['revenueOriginalExclVat', money(group.original.excl)],
    ['revenueOriginalInclVat', money(group.original.incl)],
    ['revenueApprovedExclVat', money(group.approved.excl)],
    ['revenueApprovedInclVat', money(group.approved.incl)],
    ['revenueOpenExclVat', money(group.open.excl)],
    ['revenueOpenInclVat', money(group.open.incl)],
    ['quantityPayable', group.quantityPayable],
    ...extraCells(world, 'commissions'),
  ];
}

export function commissionRows(world: World, shownDay: number, now: number): Row[] {
  const { day, groups } = sumDay(world, shownDay, now);
  return groups.map((group) => commissionRow(world, day, group));
}

interface Shown {
  readonly clicks: number;
  readonly impressions: number;
  readonly orders: number;
}

function promotionRow(world: World, day: Day, placement: Placement, shown: Shown, sums: Amounts): Row {
  const { clicks, impressions, orders } = shown;
  return [
    ['date', day],
    ...placementCells(placement),
    ['clicks', clicks],
    ['impressions', impressions],
    ['clickThroughRate', ratio(clicks, impressions)],
    ['commission', money(sums.commission)],
    ['earningsPerClick', ratio(sums.commission, clicks * 100)],
    ['earningsPerMille', ratio(sums.commission * 10, impressions)],
    ['orders', orders],
    ['conversion', ratio(orders, clicks)],
    ['revenueExclVat', money(sums.excl)],
    ['revenueInclVat', money(sums.incl)],
    ['averageOrderValue', ratio(sums.excl, orders * 100)],
    ...extraCells(world, 'promotions'),
  ];
}

export function promotionRows(world: World, shownDay: number, now: number): Row[] {
  const passed = (lastPassedSecond(shownDay, now) + 1) / DAY_SECONDS;
  if (passed === 0 || shownDay < world.firstDay) return [];
  const { day, groups, orders } = sumDay(world, shownDay, now);
  const sums = world.placements.map(nothing);
  for (const { placement, original } of groups)
    add(sums[placement]!, original.commission, original.excl, original.incl);
  return world.placements.flatMap((placement, i) => {
    const expected = clicksOfDay(world.seed, shownDay, i, world.placements.length, world.ordersPerDay);
    const clicks = Math.floor(expected * passed) + orders[i]!;
    const impressions = impressionsOf(world.seed, shownDay, i, clicks);
    if (impressions === 0) return [];
    return [promotionRow(world, day, placement, { clicks, impressions, orders: orders[i]! }, sums[i]!)];
  });
}
