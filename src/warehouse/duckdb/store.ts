/** Where DuckDB keeps a warehouse: in a file that is copied and replaced, or in a DuckLake. */
import type { EtlError } from '../../core/errors.ts';
import type { Engine } from '../../engine/duckdb.ts';
import type { TargetName } from '../target-name.ts';

export interface DuckdbStore {
  readonly name: TargetName;
  /** What messages call it: the file, or the address without its password. */
  readonly place: string;

  exists(): Promise<boolean>;

  /** Opens it read-only, runs `work`, closes it. Errors: `failed/engine_open` and `failed/damaged_warehouse`, and what the store itself meets. */
  read<T>(work: (engine: Engine) => Promise<T>): Promise<T>;

  /** Reads every value that it holds. Errors: `failed/damaged_warehouse`. */
  prove(engine: Engine): Promise<void>;

  /**
   * Opens it for writing while nobody else may, makes it where it does not exist, and runs `work`. What was written is to be seen when
   * this resolves, all at once; nothing of it where this throws. Errors: `locked/publish`, and those of `work`.
   */
  change<T>(
    how: Change,
    work: (engine: Engine) => Promise<Changed<T>>,
  ): Promise<{ readonly value: T; readonly copyMs: number }>;

  /** Runs `work` in a transaction, which fails where another host has published since it began. */
  transaction<T>(engine: Engine, work: () => Promise<T>): Promise<T>;

  /** What a publication says that failed for a reason of the engine's. */
  refusal(cause: unknown): EtlError;

  /** As of `Target`. */
  oldSnapshots(): Promise<number | null>;

  tidy(): Promise<void>;

  /** Whether it can be written to, without changing anything. Errors: with the remedy. */
  check(): Promise<void>;

  close(): Promise<void>;
}

export interface Change {
  /** What others see while it is going on. */
  readonly what: string;
  /** Everything is loaded anew: what is damaged is set aside. */
  readonly afresh?: boolean;
  /** Nothing may be left of values that `work` took out, wherever the engine keeps what was. */
  readonly isTraceless?: boolean;
  /** Hears what is done, in a word or two. */
  readonly onStep?: (what: string) => void;
}

export interface Changed<T> {
  readonly value: T;
  /** false: nothing was written. */
  readonly isWritten: boolean;
}
