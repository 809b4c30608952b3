/**
 * What was erased for a person, remembered so that it is known when the service sends it again, and without saying what it was:
 *
 *   state/erasures/key           32 random bytes as hex, mode 0600
 *   state/erasures/values.json   of each value its kind, its HMAC-SHA256 under that key, its length, and the mark in its place; mode 0600
 *
 * A mark is a number, which nobody can make of the value; that of an item is its order's with some signs of the item's HMAC, so
 * that an item which comes later has the same mark every night. Lengths are kept because a value inside a longer text is found
 * by trying each piece of that length. Who has both files can try values, as with any list that recognises them; whoever has only
 * the warehouse or the lake can not. Lost, what comes again is no longer masked: they belong into a backup.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { EtlError } from '../../core/errors.ts';
import { readIfThere, writeAtomic, writeJson } from '../../disk/atomic.ts';

export type ErasedKind = 'sub-id' | 'order-id' | 'order-item-id';

export interface ErasedValue {
  readonly kind: ErasedKind;
  /** As the warehouse has it. */
  readonly text: string;
  /** What stands in its place. */
  readonly mark: string;
}

const KIND = z.enum(['sub-id', 'order-id', 'order-item-id']);
const values = z.object({
  values: z.array(z.object({ kind: KIND, hmac: z.string(), chars: z.int().positive(), mark: z.string() })),
  /** Of the list under the key, so that no damage to either goes unnoticed. */
  proof: z.string(),
});
type Known = z.infer<typeof values>['values'][number];

const KEY_BYTES = 32;
const ITEM_SIGNS = 12;
/** A shorter item id names nobody without its order, and would be found in any text. */
const ITEM_CHARS = 6;
const SECRET = { mode: 0o600 };
/** Texts whose marks are remembered: sub-IDs and orders come many times in an answer. */
const MOST_REMEMBERED = 20_000;

/** The text as a part of an address. */
export function inAddress(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** Where the list and the records of erasures lie. */
export function erasuresFolder(stateDir: string): string {
  return path.join(stateDir, 'erasures');
}

export class Erasures {
  private readonly folder: string;
  private readonly key: string;
  private readonly known: ReadonlyMap<string, Known>;
  /** Lengths of values of each kind: most texts have none of them, and need no HMAC. */
  private readonly chars: Readonly<Record<ErasedKind, ReadonlySet<number>>>;
  private readonly remembered = new Map<string, string | null>();

  private constructor(folder: string, key: string, known: readonly Known[]) {
    this.folder = folder;
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

  /** Errors: `failed/damaged_erasures`: without the list nothing may come in, or it would bring back what was erased. */
  static async read(stateDir: string): Promise<Erasures> {
    const folder = erasuresFolder(stateDir);
    const [key, text] = [await readIfThere(keyFile(folder)), await readIfThere(listFile(folder))];
    if (text === null) return new Erasures(folder, key?.trim() || randomBytes(KEY_BYTES).toString('hex'), []);
    const parsed = values.safeParse(jsonIn(text));
    if (parsed.success && key !== null && isProved(key.trim(), parsed.data))
      return new Erasures(folder, key.trim(), parsed.data.values);
    const file = key === null ? keyFile(folder) : listFile(folder);
    const what = key === null ? `${file} is missing` : `${file} is damaged, or ${keyFile(folder)} is`;
    throw new EtlError('failed', 'damaged_erasures', `${what}: what was erased would not be recognised`, {
      concern: { file },
      hint: `restore ${folder} from a backup; or rm ${keyFile(folder)} ${listFile(folder)} and erase the values again`,
    });
  }

  get isEmpty(): boolean {
    return this.known.size === 0;
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
    return { erasures: new Erasures(this.folder, this.key, known), values: found };
  }

  /** Writes the list, and the key where there is none yet. */
  async save(): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    if ((await readIfThere(keyFile(this.folder))) === null)
      await writeAtomic(keyFile(this.folder), `${this.key}\n`, SECRET);
    const known = [...this.known.values()];
    await writeJson(listFile(this.folder), { values: known, proof: proofOf(this.key, known) }, SECRET);
  }

  private hmac(kind: ErasedKind, text: string): string {
    return createHmac('sha256', this.key).update(`${kind}\n${text}`).digest('hex');
  }
}

function isProved(key: string, { values: known, proof }: z.infer<typeof values>): boolean {
  return proof === proofOf(key, known);
}

function proofOf(key: string, known: readonly Known[]): string {
  const listed = known.map(({ kind, hmac, chars, mark }) => [kind, hmac, chars, mark]);
  return createHmac('sha256', key).update(JSON.stringify(listed)).digest('hex');
}

function keyFile(folder: string): string {
  return path.join(folder, 'key');
}

function listFile(folder: string): string {
  return path.join(folder, 'values.json');
}

function nameOf(kind: ErasedKind, hmac: string): string {
  return `${kind} ${hmac}`;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
