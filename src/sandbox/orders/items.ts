/** What names an order item, and what may be said of it instead of what was generated. */
import type { ItemState } from './life-cycle.ts';

/** An item's place in the world: the day on which it was ordered, and where in it. It never changes. */
export interface ItemPlace {
  readonly day: number;
  readonly order: number;
  /** 1 for the first item of the order. */
  readonly item: number;
}

/** What replaces an item's own values. Amounts in cents, percentage in hundredths of a percent. */
export interface Restatement extends Partial<ItemState> {
  readonly quantity?: number;
  readonly exclCents?: number;
  readonly inclCents?: number;
  readonly percentage?: number;
  /** Computed from the others when it is not given. */
  readonly commissionCents?: number;
  readonly productTitle?: string;
}

export function orderIdOf(place: ItemPlace): string {
  return `${String(place.day).padStart(5, '0')}${String(place.order).padStart(7, '0')}`;
}

export function orderItemIdOf(place: ItemPlace): string {
  return `7${orderIdOf(place)}${place.item}`;
}

/** The place that an order item id names; undefined when it is none of ours. Whether such an item exists is not asked. */
export function placeOf(orderItemId: string): ItemPlace | undefined {
  const parts = /^7(\d{5})(\d{7})([1-4])$/.exec(orderItemId);
  return parts ? { day: Number(parts[1]), order: Number(parts[2]), item: Number(parts[3]) } : undefined;
}
