/**
 * What was erased for a person, remembered so that it is known when the service sends it again, and without saying what it was
 * (sql/state/tables.sql): of each value its HMAC under a key of this installation, its length, and the mark in its place.
 *
 * A mark is a number, which nobody can make of the value; that of an item is its order's with some signs of the item's HMAC, so
 * that an item which comes later has the same mark every night. Lengths are kept because a value inside a longer text is found
 * by trying each piece of that length.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { State, StateDb } from '../../store/state.ts';
import { addErased, type ErasedRow, readErased } from '../../store/tables/erased.ts';

export type ErasedKind = ErasedRow['kind'];

export interface ErasedValue {
  readonly kind: ErasedKind;
  /** As the warehouse has it. */
  readonly text: string;
  /** What stands in its place. */
  readonly mark: string;
}

const KEY_BYTES = 32;
const ITEM_SIGNS = 12;
/** A shorter item id names nobody without its order, and would be found in any text. */
const ITEM_CHARS = 6;
/** Texts whose marks are remembered: sub-IDs and orders come many times in an answer. */
const MOST_REMEMBERED = 20_000;

/** The text as a part of an address. */
export function inAddress(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

export class Erasures {
  private readonly key: string;
  private readonly known: ReadonlyMap<string, ErasedRow>;
  /** Lengths of values of each kind: most texts have none of them, and need no HMAC. */
  private readonly chars: Readonly<Record<ErasedKind, ReadonlySet<number>>>;
  private readonly remembered = new Map<string, string | null>();

  private constructor(key: string, known: readonly ErasedRow[]) {
    this.key = key;
    this.known = new Map(known.map((value) => [nameOf(value.kind, value.hmac), value]));
    const lengths = (kind: ErasedKind) =>
      new Set(known.filter((value) => value.kind === kind).map(({ chars }) => chars));
    this.chars = {
      'sub-id': lengths('sub-id'),
      'order-id': lengths('order-id'),
      'order-item-id': lengths('order-item-id'),
    };
  }

  static async read(db: StateDb): Promise<Erasures> {
    const { key, values } = await readErased(db);
    return new Erasures(key ?? randomBytes(KEY_BYTES).toString('hex'), values);
  }

  /** How many values it recognises. */
  get size(): number {
    return this.known.size;
  }

  /** Lengths of the values of these kinds, the longest first. */
  lengths(kinds: readonly ErasedKind[]): number[] {
    return [...new Set(kinds.flatMap((kind) => [...this.chars[kind]]))].sort((a, b) => b - a);
  }

  /** The mark of a text that is such a value as a whole, else null. */
  markOf(kind: ErasedKind, text: string): string | null {
    if (!this.chars[kind].has(text.length)) return null;
    const name = `${kind} ${text}`;
    const before = this.remembered.get(name);
    if (before !== undefined) return before;
    if (this.remembered.size >= MOST_REMEMBERED) this.remembered.clear();
    const mark = this.known.get(nameOf(kind, this.hmac(kind, text)))?.mark ?? null;
    this.remembered.set(name, mark);
    return mark;
  }

  /** The mark of an item of an erased order, whether it is in the list or not. */
  itemMark(orderMark: string, item: string): string {
    return `${orderMark}-${this.hmac('order-item-id', item).slice(0, ITEM_SIGNS)}`;
  }

  /**
   * The list with these values, each with the mark that it has already or a new one; `items` are named with their orders.
   * Nothing is written.
   */
  with(
    subIds: readonly string[],
    orders: readonly string[],
    items: readonly { readonly order: string; readonly item: string }[],
  ): { readonly erasures: Erasures; readonly values: readonly ErasedValue[] } {
    const known = [...this.known.values()];
    let number = Math.max(0, ...known.map(({ mark }) => Number(/^erased-(\d+)/.exec(mark)?.[1] ?? 0)));
    const found: ErasedValue[] = [];
    const put = (kind: ErasedKind, text: string, fresh: () => string) => {
      if (found.some((value) => value.kind === kind && value.text === text)) return;
      const mark = this.markOf(kind, text) ?? fresh();
      found.push({ kind, text, mark });
      for (const spelled of new Set([text, inAddress(text)]))
        if (this.markOf(kind, spelled) === null)
          known.push({ kind, hmac: this.hmac(kind, spelled), chars: spelled.length, mark });
    };
    const next = () => `erased-${++number}`;
    for (const text of subIds) put('sub-id', text, next);
    for (const text of orders) put('order-id', text, next);
    const orderMarks = new Map(found.filter(({ kind }) => kind === 'order-id').map(({ text, mark }) => [text, mark]));
    for (const { order, item } of items.filter(({ item }) => item.length >= ITEM_CHARS))
      put('order-item-id', item, () => this.itemMark(orderMarks.get(order) ?? 'erased', item));
    return { erasures: new Erasures(this.key, known), values: found };
  }

  async save(state: State): Promise<void> {
    await addErased(state, this.key, [...this.known.values()]);
  }

  private hmac(kind: ErasedKind, text: string): string {
    return createHmac('sha256', this.key).update(`${kind}\n${text}`).digest('hex');
  }
}

function nameOf(kind: ErasedKind, hmac: string): string {
  return `${kind} ${hmac}`;
}
