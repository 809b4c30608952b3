/** Order items as the lake hands them over, made from what each fetch showed of them: rows of now, and rows of what they were. */

import { orders } from '../../pipelines/orders.ts';
import type { Day } from '../../src/core/days.ts';
import type { EndedBy } from '../../src/core/pipeline.ts';
import type { LoadSlice } from '../../src/warehouse/target.ts';
import { orderHistory } from './history-tables.ts';
import type { RowText, SliceMaker, SliceOptions } from './slices.ts';

/** What one fetch showed of an item: on which day it was and what it said; without values, that it was gone from that day. */
export interface Sight {
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly on: Day;
  readonly values: RowText | null;
}

export interface SeenItem {
  readonly order_id: string;
  readonly order_item_id: string;
  /** Oldest first. */
  readonly sights: readonly Sight[];
}

/** The slices of now, of every day that a sight names, and those of the days on which something ended. */
export function orderSlices(
  maker: SliceMaker,
  items: readonly SeenItem[],
  options: SliceOptions = {},
): Promise<LoadSlice>[] {
  const rows = items.flatMap(rowsOf);
  const days = new Set(items.flatMap(({ sights }) => sights.map(({ on }) => on)));
  const endDays = new Set(rows.flatMap(({ ended_on }) => (ended_on ? [ended_on as Day] : [])));
  const ofDay = (on: Day) => rows.filter((row) => row.order_date === on && !row.ended_on);
  const endedOn = (on: Day) => rows.filter((row) => row.ended_on === on);
  return [
    ...[...days].map((on) => maker.make(orders, on, ofDay(on), options)),
    ...[...endDays].map((on) => maker.make(orderHistory, on, endedOn(on))),
  ];
}

function rowsOf({ sights, ...key }: SeenItem): RowText[] {
  return sights.flatMap(({ at, on, values }, i) => {
    if (values === null) return [];
    const next = sights[i + 1];
    const row = { order_date: on, ...key, ...values, valid_from: at };
    if (next === undefined) return [row];
    const endedBy: EndedBy = next.values === null ? 'gone' : next.on === on ? 'changed' : 'moved';
    return [{ ...row, valid_to: next.at, ended_by: endedBy, ended_on: next.at.slice(0, 10) }];
  });
}
