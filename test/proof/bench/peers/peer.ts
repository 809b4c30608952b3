/** What is raced: programs that bring the orders report of a range of days into an engine, each day replaced. */
import type { Day } from '../../../../src/core/days.ts';

export type EngineName = 'duckdb' | 'postgres';

/** Where the rows go: a DuckDB file, or the address of a Postgres database. */
export interface Place {
  readonly engine: EngineName;
  readonly address: string;
}

export interface Load {
  readonly place: Place;
  readonly from: Day;
  readonly to: Day;
  /** A folder of its own that lives as long as the place. */
  readonly folder: string;
}

/** A process to run to its end. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export const AMOUNTS = ['quantity', 'priceExclVat', 'priceInclVat', 'commissionPercentage', 'commission'] as const;
export type Amount = (typeof AMOUNTS)[number];

/** Where a peer's rows are found. Names as SQL writes them. */
export interface Table {
  readonly name: string;
  readonly column: (field: Amount | 'orderDate' | 'orderItemId') => string;
}

export interface Peer {
  readonly name: string;
  /** What was installed, with versions. */
  readonly version: string;
  readonly engines: readonly EngineName[];
  readonly table: (engine: EngineName) => Table;
  readonly load: (load: Load) => Command;
  /** For a peer that holds an emptied day back: what somebody does who has looked at it. */
  readonly release?: (load: Load, day: Day) => Command;
}

/** Exit codes of ours: 3 is done, but something is held or rejected. */
export const DONE = [0, 3];

/** Columns named as ours. */
export function snakeTable(name: string): Table {
  return { name, column: (field) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) };
}

/** Columns named as the answer's fields; DuckDB does not look at case. */
export function fieldTable(name: string): Table {
  return { name, column: (field) => `"${field}"` };
}
