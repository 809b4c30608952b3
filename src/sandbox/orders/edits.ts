/** What was changed in the generated world since it began, kept by day so that days without a change cost nothing. */
import type { ReportName } from '../report-name.ts';
import { type ItemPlace, orderItemIdOf, type Restatement } from './items.ts';

export interface ItemEdit {
  readonly place: ItemPlace;
  /** Not shown on the day on which it was ordered. */
  readonly away: boolean;
  /** Number of the day on which it is shown instead; undefined for an item that vanished. */
  readonly movedTo: number | undefined;
  readonly restated: Restatement | undefined;
}

export type FieldValue = string | number | boolean;

export class Edits {
  readonly #byDay = new Map<number, Map<string, ItemEdit>>();
  readonly #arrivals = new Map<number, Map<string, ItemPlace>>();
  readonly #itemLimits = new Map<number, number>();
  readonly #rowLimits = new Map<string, number>();
  readonly #fields = new Map<ReportName, Map<string, FieldValue>>();

  /** Edits of the items that were ordered on a day, by order item id. */
  ofDay(day: number): ReadonlyMap<string, ItemEdit> | undefined {
    return this.#byDay.get(day);
  }

  /** Items that are shown on this day although they were ordered on another one, in the order of their ids. */
  arrivalsOn(day: number): readonly ItemPlace[] {
    const arrivals = this.#arrivals.get(day);
    return arrivals === undefined ? [] : [...arrivals].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, place]) => place);
  }

  /** How many items of the day exist at the most, in all reports. */
  itemLimit(day: number): number {
    return this.#itemLimits.get(day) ?? Number.POSITIVE_INFINITY;
  }

  /** How many rows of the day one report shows at the most. */
  rowLimit(report: ReportName, day: number): number {
    return this.#rowLimits.get(`${report} ${day}`) ?? Number.POSITIVE_INFINITY;
  }

  /** Fields outside the contract that every row of a report carries. */
  fieldsOf(report: ReportName): ReadonlyMap<string, FieldValue> | undefined {
    return this.#fields.get(report);
  }

  limitItems(day: number, items: number): void {
    this.#itemLimits.set(day, items);
  }

  limitRows(report: ReportName, day: number, rows: number): void {
    this.#rowLimits.set(`${report} ${day}`, rows);
  }

  addField(report: ReportName, field: string, value: FieldValue): void {
    const fields = this.#fields.get(report) ?? new Map<string, FieldValue>();
    this.#fields.set(report, fields.set(field, value));
  }

  move(place: ItemPlace, toDay: number): void {
    this.#edit(place, { away: toDay !== place.day, movedTo: toDay === place.day ? undefined : toDay });
  }

  vanish(place: ItemPlace): void {
    this.#edit(place, { away: true, movedTo: undefined });
  }

  restate(place: ItemPlace, values: Restatement): void {
    const known = this.#byDay.get(place.day)?.get(orderItemIdOf(place))?.restated;
    this.#edit(place, { restated: { ...known, ...values } });
  }

  #edit(place: ItemPlace, change: Partial<ItemEdit>): void {
    const id = orderItemIdOf(place);
    const day = this.#byDay.get(place.day) ?? new Map<string, ItemEdit>();
    const known = day.get(id) ?? { place, away: false, movedTo: undefined, restated: undefined };
    const edit = { ...known, ...change };
    if (known.movedTo !== undefined) this.#arrivals.get(known.movedTo)?.delete(id);
    if (edit.movedTo !== undefined) {
      const arrivals = this.#arrivals.get(edit.movedTo) ?? new Map<string, ItemPlace>();
      this.#arrivals.set(edit.movedTo, arrivals.set(id, place));
    }
    this.#byDay.set(place.day, day.set(id, edit));
  }
}
