/** What the conformance suite needs of an engine besides the Target itself: a fresh warehouse and a way to look at it from outside. */
import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import type { Pipeline } from '../../src/core/pipeline.ts';
import type { WarehouseSettings } from '../../src/warehouse/settings.ts';
import type { Target } from '../../src/warehouse/target.ts';
import type { SqlDialect, TargetName } from '../../src/warehouse/target-name.ts';
import { SliceMaker } from '../support/slices.ts';

/** One warehouse: without rows, or not there yet. */
export interface Warehouse {
  readonly name: TargetName;
  /** In whose SQL it is spoken to. */
  readonly engine: SqlDialect;
  /** A new target on the same warehouse, as another process would have it, perhaps with other declarations; closed with the warehouse. */
  open(clock?: Clock, settings?: WarehouseSettings, declared?: readonly Pipeline[]): Target;
  /** Runs a statement through a connection of its own, past the target. */
  execute(sql: string): Promise<void>;
  /** A text that is another one when anything at all was written, also something equal. */
  fingerprint(): Promise<string>;
  /** Somebody else publishes until the returned function is called. */
  occupy(): Promise<() => Promise<void>>;
  remove(): Promise<void>;
}

/** How a test finds its warehouse: `migrated`, a copy of one whose tables were made once; `none`, to be made by the first publication. */
export type Beginning = 'migrated' | 'none';

export type NewWarehouse = (beginning: Beginning) => Promise<Warehouse>;

export interface Bench {
  readonly warehouse: Warehouse;
  readonly target: Target;
  readonly maker: SliceMaker;
}

/** Registers the hooks that give every test of the file a warehouse of its own; the returned object is valid inside tests. */
export function useBench(newWarehouse: NewWarehouse, beginning: Beginning = 'migrated'): Bench {
  const bench = {} as { warehouse: Warehouse; target: Target; maker: SliceMaker };
  beforeAll(async () => {
    bench.maker = await SliceMaker.open();
  });
  beforeEach(async () => {
    bench.warehouse = await newWarehouse(beginning);
    bench.target = bench.warehouse.open();
  });
  afterEach(() => bench.warehouse.remove());
  afterAll(() => bench.maker.close());
  return bench;
}

/** One warehouse for all tests of the group: for those that only read, or that are refused. */
export function useSharedBench(newWarehouse: NewWarehouse, beginning: Beginning = 'migrated'): Bench {
  const bench = {} as { warehouse: Warehouse; target: Target; maker: SliceMaker };
  beforeAll(async () => {
    bench.maker = await SliceMaker.open();
    bench.warehouse = await newWarehouse(beginning);
    bench.target = bench.warehouse.open();
  });
  afterAll(async () => {
    await bench.warehouse.remove();
    await bench.maker.close();
  });
  return bench;
}

/** The rows of a query, as text. */
export async function rowsOf(target: Target, sql: string): Promise<readonly (readonly (string | boolean | null)[])[]> {
  return (await target.query(sql, 100_000)).rows;
}

export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}

/** A clock for whom no time passes while others are at work, however long they take: bounded waits do not end. */
export const patientClock: Clock = { now: () => Date.parse('2026-01-05T00:00:00Z'), sleep: systemClock.sleep };

/** A clock whose time passes only by sleeping, so that bounded waits end at once. */
export function leapingClock(startMs = Date.parse('2026-01-05T00:00:00Z')): Clock {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    sleep: async (ms) => {
      nowMs += ms;
    },
  };
}
