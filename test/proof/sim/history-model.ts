/** The history of order items must say of every instant at which a run had ended what the fact table could say then. */
import { byDay, difference } from './checks.ts';
import type { State, Truth } from './model.ts';
import type { Reader } from './warehouse-reader.ts';

interface Snapshot {
  readonly at: string;
  readonly states: ReadonlyMap<string, readonly State[]>;
  /** What the service told then. */
  readonly told: Truth;
  /** A run had died, and published nothing: what it had seen counts from then on, but no run has ended since. */
  readonly isAfterDeath: boolean;
}

/** Columns that the service does not send. */
const ASIDE = new Set([
  ...['account', 'fetch_id', 'loaded_at', 'order_local_time', 'order_utc_time', 'status_group'],
  ...['valid_from', 'valid_to', 'ended_by'],
]);

export class HistoryModel {
  private readonly snapshots: Snapshot[] = [];
  /** Days whose hold was released: their history begins when what was held was fetched. */
  private readonly released = new Set<string>();

  take(atMs: number, states: ReadonlyMap<string, readonly State[]>, told: Truth, isAfterDeath: boolean): void {
    this.snapshots.push({ at: new Date(atMs).toISOString(), states: new Map(states), told, isAfterDeath });
  }

  release(day: string): void {
    this.released.add(day);
  }

  async flaws(reader: Reader): Promise<string[]> {
    const flaws: string[] = [];
    for (const { at, states, told, isAfterDeath } of this.snapshots) {
      const then = `TIMESTAMPTZ '${at}'`;
      const rows = await reader.rows(
        'warehouse.fact_order_item_version',
        `valid_from <= ${then} AND (valid_to IS NULL OR valid_to > ${then})`,
      );
      const held = byDay(rows, 'order_date', ASIDE);
      for (const [day, certain] of states) {
        const possible = [...certain];
        if (this.released.has(day)) possible.push(...this.ofReleased(day, told, at, certain));
        if (isAfterDeath) possible.push(...unmoved(day, told, certain));
        const flaw = difference(held.get(day) ?? [], possible);
        if (flaw) flaws.push(`history of ${day} at ${at}: ${flaw}`);
      }
    }
    return flaws;
  }

  /**
   * What was held takes nothing back of items that were seen on another day before it was released: until then they were where
   * they had been.
   */
  private ofReleased(day: string, told: Truth, at: string, certain: readonly State[]): State[] {
    const later = this.snapshots.filter((snapshot) => snapshot.at > at);
    const elsewhere = new Set(
      later.flatMap((one) => [...one.told].flatMap(([other, rows]) => (other === day ? [] : rows.map(nameOf)))),
    );
    const toldNow = told.get(day) ?? [];
    const names = new Set(toldNow.map(nameOf));
    const left = certain.map((state) => {
      const stayed = (state ?? []).filter((row) => elsewhere.has(nameOf(row)) && !names.has(nameOf(row)));
      return [...toldNow, ...stayed].sort();
    });
    return [toldNow, ...left];
  }
}

/**
 * An item that the dead run saw gone, and that a later one sees on another day before any has ended, was where it had been until
 * then: nobody could read that it was gone. What else the dead run saw counts from when it saw it.
 */
function unmoved(day: string, told: Truth, certain: readonly State[]): State[] {
  const elsewhere = new Set([...told].flatMap(([other, rows]) => (other === day ? [] : rows.map(nameOf))));
  return certain.flatMap((state) => {
    const names = new Set((state ?? []).map(nameOf));
    const stayed = (one: State) => (one ?? []).filter((row) => elsewhere.has(nameOf(row)) && !names.has(nameOf(row)));
    return certain.map((one) => [...(state ?? []), ...stayed(one)].sort());
  });
}

function nameOf(row: string): string {
  const { order_id: order, order_item_id: item } = JSON.parse(row) as Record<string, string>;
  return `${order} ${item}`;
}
