/**
 * Order items as a pure function of seed, day, position and the time that it is: nothing is stored, so a day of any
 * size is read without being built.
 *
 * DayItems is a cursor over one day. It is mutable and flat because a million items a day pass through it; everything
 * that reads it takes what it needs before calling next() again.
 */
import { type Day, dayOfNumber } from '../../core/days.ts';
import { commissionOf } from '../catalogue/amounts.ts';
import { MAX_QUANTITY, PRICES, PRODUCTS } from '../catalogue/catalogue.ts';
import { clockText, DAY_SECONDS, dutchWall, lastPassedSecond, usableSeconds, wallSecond } from '../dutch-time.ts';
import { below, hash2, hash3, mix } from '../hash.ts';
import type { World } from '../world.ts';
import { type ItemPlace, orderItemIdOf, type Restatement } from './items.ts';
import { DECISIONS, type Decision, decisionOf, ITEM_STATES, type ItemState, stateAt } from './life-cycle.ts';
import { placementOf } from './placements.ts';

/** Items of an order on average, by the sizes of sizeOf. */
const ITEMS_PER_ORDER = 1.8;
/** Orders of a weekday, Sunday first, in percent of the average. */
const WEEKDAY_PERCENT = [108, 101, 97, 96, 98, 103, 97];

/** Orders of a day, whether they have happened yet or not. */
export function ordersOfDay(seed: number, ordersPerDay: number, day: number): number {
  const percent = WEEKDAY_PERCENT[(day + 4) % 7]! + below(hash2(seed, 0x60000000 + day), 9) - 4;
  return Math.max(1, Math.round((ordersPerDay * percent) / 100 / ITEMS_PER_ORDER));
}

function sizeOf(orderHash: number): number {
  const part = orderHash & 0xff;
  if (part < 128) return 1;
  if (part < 200) return 2;
  return part < 236 ? 3 : 4;
}

export class DayItems {
  /** The day on which the items are shown. */
  readonly shownDay: Day;
  /** Where the item under the cursor was born; differs from the shown day for a moved item. */
  day = 0;
  order = -1;
  item = 0;
  /** Seconds of the wall clock. */
  seconds = 0;
  placement = 0;
  product = 0;
  /** Index of product and price into the catalogue's amounts. */
  slot = 0;
  quantity = 0;
  /** Index into ITEM_STATES. */
  state = 0;
  restated: Restatement | undefined;

  readonly #world: World;
  readonly #now: number;
  readonly #today: number;
  #orders = 0;
  #usable = DAY_SECONDS;
  #lastSecond = -1;
  #age = 0;
  #size = 0;
  #orderHash = 0;
  readonly #arrivals: readonly ItemPlace[];
  #arrived = 0;
  #left: number;

  /** Reads at most `limit` items, and no more than the world has. */
  constructor(world: World, shownDay: number, now: number, limit = Number.POSITIVE_INFINITY) {
    this.#world = world;
    this.#now = now;
    this.#today = dutchWall(now).day;
    this.shownDay = dayOfNumber(shownDay);
    this.#arrivals = world.edits.arrivalsOn(shownDay);
    this.#left = Math.min(limit, world.edits.itemLimit(shownDay));
    this.#enterDay(shownDay);
  }

  /** Moves to the next item that exists; false at the end of the day. */
  next(): boolean {
    if (this.#left <= 0) return false;
    const edits = this.#world.edits.ofDay(this.day);
    while (this.#advance()) {
      const edit = edits?.get(orderItemIdOf(this));
      if (edit?.away) continue;
      this.restated = edit?.restated;
      this.#left--;
      return true;
    }
    return this.#nextArrival();
  }

  /** Goes to one item, wherever it is shown; false when there is none, or not yet. */
  find(place: ItemPlace): boolean {
    this.#enterDay(place.day);
    this.order = place.order;
    if (place.order >= this.#orders || place.day < this.#world.firstDay) return false;
    this.#enterOrder();
    if (place.item > this.#size || this.seconds > this.#lastSecond) return false;
    this.#enterItem(place.item);
    this.restated = this.#world.edits.ofDay(place.day)?.get(orderItemIdOf(place))?.restated;
    return true;
  }

  get orderTime(): string {
    return `${this.shownDay} ${clockText(this.seconds)}`;
  }

  get exclCents(): number {
    return this.restated?.exclCents ?? this.#world.catalogue.exclCents[this.slot]!;
  }

  get inclCents(): number {
    return this.restated?.inclCents ?? this.#world.catalogue.inclCents[this.slot]!;
  }

  get pieces(): number {
    return this.restated?.quantity ?? this.quantity;
  }

  get percentage(): number {
    return this.restated?.percentage ?? this.#world.catalogue.percentage[this.product]!;
  }

  get commissionCents(): number {
    const restated = this.restated;
    if (restated === undefined)
      return this.#world.catalogue.commissionCents[this.slot * (MAX_QUANTITY + 1) + this.quantity]!;
    return restated.commissionCents ?? commissionOf(this.exclCents, this.pieces, this.percentage);
  }

  get decision(): Decision {
    const status = this.restated?.status;
    return status === undefined ? DECISIONS[this.state]! : decisionOf(status);
  }

  /** The state as reported. */
  get reported(): ItemState {
    return this.restated === undefined ? ITEM_STATES[this.state]! : { ...ITEM_STATES[this.state]!, ...this.restated };
  }

  #enterDay(day: number): void {
    this.day = day;
    this.#orders = day < this.#world.firstDay ? 0 : ordersOfDay(this.#world.seed, this.#world.ordersPerDay, day);
    this.#usable = usableSeconds(day);
    this.#lastSecond = lastPassedSecond(day, this.#now);
    this.#age = this.#today - day;
    this.order = -1;
    this.item = 0;
    this.#size = 0;
  }

  #advance(): boolean {
    if (this.item < this.#size) {
      this.#enterItem(this.item + 1);
      return true;
    }
    this.order++;
    if (this.order >= this.#orders) return false;
    this.#enterOrder();
    if (this.seconds > this.#lastSecond) {
      this.#orders = 0;
      return false;
    }
    this.#enterItem(1);
    return true;
  }

  /** Order times grow with the order's number, so a day can be read until the present and no further. */
  #enterOrder(): void {
    const h = hash3(this.#world.seed, this.day, this.order);
    this.#orderHash = h;
    this.#size = sizeOf(h);
    this.item = 0;
    const part = (this.order + (mix(h ^ 0x3c6ef372) >>> 0) / 4_294_967_296) / this.#orders;
    this.seconds = wallSecond(Math.floor(part * this.#usable), this.#usable);
    this.placement = placementOf(h >>> 16, this.#world.placements.length);
  }

  #enterItem(item: number): void {
    this.item = item;
    const h = mix(this.#orderHash + Math.imul(item, 0x9e3779b1));
    this.product = below(h, PRODUCTS);
    this.slot = this.product * PRICES + ((h >>> 12) & (PRICES - 1));
    const pieces = (h >>> 14) & 15;
    this.quantity = pieces < 13 ? 1 : pieces < 15 ? 2 : MAX_QUANTITY;
    this.state = stateAt(h, this.#age);
  }

  /** Items that were moved to this day follow its own. */
  #nextArrival(): boolean {
    while (this.#arrived < this.#arrivals.length) {
      const exists = this.find(this.#arrivals[this.#arrived++]!);
      this.#orders = 0;
      this.#size = 0;
      if (!exists) continue;
      this.#left--;
      return true;
    }
    return false;
  }
}
