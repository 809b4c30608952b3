/**
 * A warehouse that slices are loaded into. DuckDB and Postgres implement it and are held to one conformance suite
 * (test/warehouse/conformance.ts). What is published becomes visible all at once or not at all.
 */
import type { Day } from '../core/days.ts';
import type { Pipeline } from '../core/pipeline.ts';
import type { ControlSums, DriftRecord, FetchRecord, PrunedFetch, RunRecord, SliceContent } from '../core/records.ts';
import type { Tracer } from '../core/tracer.ts';
import type { BrokenCheck, Check } from './checks/checks.ts';
import type { DifferingRows } from './differing-rows.ts';
import type { Erasure } from './erasing.ts';
import type { SqlDialect, TargetName } from './target-name.ts';

/** A slice to be loaded: its content as declared by the lake, and the files that hold it. */
export interface LoadSlice {
  readonly pipeline: Pipeline;
  readonly content: SliceContent;
  /** Absolute path of the slice's Parquet file; null when it has no rows. */
  readonly file: string | null;
  /** Absolute path of the Parquet file with the slice's rejects (columns of RejectRecord); null when it has none. */
  readonly rejectsFile: string | null;
}

/** A slice that is kept back, as `etl.hold` shows it. */
export interface HoldRecord {
  readonly pipeline: string;
  readonly slice_day: Day;
  readonly reason: string;
  readonly detail: string;
  readonly digest: string;
  readonly rows: number;
  readonly rows_before: number;
  readonly fetch_id: string;
  readonly held_at: string;
}

/** What makes one hold another than the next: the content that is kept back, and why. */
export type ShownHold = Pick<HoldRecord, 'pipeline' | 'slice_day' | 'digest' | 'detail'>;

export interface PublishWatcher {
  /** So many more rows are loaded; not yet to be seen. */
  onRows(rows: number): void;
  /** What is done now, in a word or two. */
  onStep(what: string): void;
}

/** Everything that one run makes visible in a target. */
export interface Publication {
  readonly run: RunRecord;
  /** Runs to record besides this one (earlier nights that changed nothing); recording one again replaces it. */
  readonly runs: readonly RunRecord[];
  /** Fetches to record; those already there are left alone. */
  readonly fetches: readonly FetchRecord[];
  /** Fetches whose answers are gone from the raw store since. */
  readonly pruned?: readonly PrunedFetch[];
  readonly drift: readonly DriftRecord[];
  /** All holds that stand now: they replace what the target knew. */
  readonly holds: readonly HoldRecord[];
  readonly slices: readonly LoadSlice[];
  /** Load every slice, whatever its receipt says, and drop what is not among them; a damaged warehouse is set aside. */
  readonly afresh?: boolean;
  /** Checks that what was loaded must stand before it can be seen. */
  readonly checks?: readonly Check[];
  /** Digests of slices that a person has released: they are published whatever blocks them, and it is reported. */
  readonly released?: ReadonlySet<string>;
  /** Record runs, fetches and holds also when no slice is to be loaded, because the holds are other ones now. */
  readonly showHolds?: boolean;
  /** Gets spans of loading and of checks. */
  readonly tracer?: Tracer;
  /** Called as it goes on, for people to see. */
  readonly watcher?: PublishWatcher;
  /** What the publisher has read of the target just now; absent: it is asked. Under its lock it is asked again. */
  readonly known?: TargetState;
}

/** What a slice was published in spite of: a check that only warns, or one that blocks and whose slice was released. */
export interface CheckWarning extends BrokenCheck {
  /** The fetch that brought the check's own slice of that day; where there is none, the slice that called for the check. */
  readonly fetch_id: string;
}

export interface PublishResult {
  readonly slices: number;
  readonly rows: number;
  readonly tookMs: number;
  /** DuckDB: of `tookMs`, the copying of the warehouse file. 0 elsewhere. */
  readonly copyMs: number;
  readonly warnings: readonly CheckWarning[];
}

/** What the rows of a slice in the target add up to, computed from the rows themselves. */
export interface SliceSums {
  readonly rows: number;
  readonly sums: ControlSums;
}

/** What the rejects of a slice are, computed from themselves: how many, and sums over hashes of all their columns. */
export interface RejectSums {
  readonly rejects: number;
  readonly hashes: string;
}

export interface QueryResult {
  readonly columns: readonly string[];
  /** Values as text (decimals and 64-bit integers with every digit), null, or boolean. */
  readonly rows: readonly (readonly (string | boolean | null)[])[];
  /** Whether the limit cut rows off. */
  readonly truncated: boolean;
}

/** `whole`: an integer type; `decimal`: exact, with digits behind the point; `float`: binary. */
export type ColumnKind = 'whole' | 'decimal' | 'float' | 'boolean' | 'other';

export interface AnswerColumn {
  readonly name: string;
  readonly kind: ColumnKind;
}

/** Values as in `QueryResult`. */
export type AnswerRow = QueryResult['rows'][number];

/** Reads an answer while the warehouse is open; who stops early leaves the rest unread. */
export type ReadAnswer = (
  columns: readonly AnswerColumn[],
  batches: AsyncIterable<readonly AnswerRow[]>,
) => Promise<void>;

/** What a current receipt says of a slice. */
export interface Receipt {
  readonly digest: string;
  readonly fetch_id: string;
}

/** Every current receipt, by pipeline and day. One question, because opening a warehouse costs more. */
export type Receipts = ReadonlyMap<string, ReadonlyMap<Day, Receipt>>;

/**
 * Whether a receipt is of this content, brought by the same fetch: rows name it, and those whose history is kept also say since when they
 * are so. A slice of equal content has another fetch only where its damaged file was made again from another answer.
 */
export function isReceiptOf(receipt: Receipt | undefined, content: Pick<SliceContent, 'digest' | 'fetch_id'>): boolean {
  return receipt?.digest === content.digest && receipt.fetch_id === content.fetch_id;
}

/** Those of one pipeline. */
export function receiptsOf(receipts: Receipts, pipeline: string): ReadonlyMap<Day, Receipt> {
  return receipts.get(pipeline) ?? NO_RECEIPTS;
}

const NO_RECEIPTS: ReadonlyMap<Day, Receipt> = new Map();

export interface TargetState {
  readonly receipts: Receipts;
  /**
   * Whether publishing is due without a slice: an existing warehouse lacks tables, views or migrations, has views that somebody dropped or replaced, or says other settings (`etl.setting`) than it
   * was opened with.
   */
  readonly isOutdated: boolean;
  /** Newest run recorded in the target with its end, or null; later ones are due for recording. */
  readonly lastRunId: string | null;
  /** The holds that it shows. */
  readonly holds: readonly ShownHold[];
}

/** What a warehouse says of itself. Writes nothing. */
export interface Reading {
  /** Whether the warehouse exists and has its tables. Never creates anything. */
  exists(): Promise<boolean>;

  /** What is loaded; nothing where the warehouse does not exist yet. */
  receipts(): Promise<Receipts>;

  /** What a publication has to know beforehand. Errors: as of `lacking`. */
  state(): Promise<TargetState>;

  /**
   * What an existing warehouse lacks in migrations, tables and views, because an older program wrote it last, by name.
   * Errors: `failed/migration_changed`, `failed/newer_schema`.
   */
  lacking(): Promise<readonly string[]>;

  /** Views, functions and indexes that were made here and are gone or are others now, in words; to be asked where nothing is lacking. */
  altered(): Promise<readonly string[]>;

  /** Rows and exact sums by day, computed from the fact table, for the given days (all days when absent). */
  sums(pipeline: Pipeline, days?: readonly Day[]): Promise<ReadonlyMap<Day, SliceSums>>;

  /**
   * Days of these slices of one pipeline whose rows are not those of their files, in any column that the files have. All of them are
   * compared at once, in bounded memory. Errors: `failed/lake_file`, naming the slice.
   */
  differing(slices: readonly LoadSlice[]): Promise<readonly DifferingRows[]>;

  /** What the rejects of a pipeline are, by the day of their slice. */
  rejectSums(pipeline: Pipeline): Promise<ReadonlyMap<Day, RejectSums>>;

  /** What breaks these checks on any day, to be asked last, as no file may be read afterwards; nothing where the warehouse does not exist yet. Errors: those of a check, as `CheckEngine.rows` names them. */
  broken(checks: readonly Check[]): Promise<readonly BrokenCheck[]>;

  /** Reads everything that it holds where the engine leaves that to us. Errors: `failed/damaged_warehouse`, `failed/engine_open`. */
  proveWhole(): Promise<void>;
}

export interface Target extends Reading {
  readonly name: TargetName;
  readonly dialect: SqlDialect;

  /**
   * Opens the warehouse once for all that `work` asks; where it is a file, each question of its own opens it anew. Nothing else may be
   * asked of the target meanwhile. Errors: `failed/engine_open` and `failed/damaged_warehouse`, and those of `work`.
   */
  reading<T>(work: (warehouse: Reading) => Promise<T>): Promise<T>;

  /**
   * Replaces each slice whole, together with its receipt, everything in one transaction; creates or migrates tables first.
   * A slice whose current receipt has the same digest is left alone. Settings that differ are written, also without a slice.
   * Errors: `BlockedByChecks` (`failed/check`) names the slices that break a blocking check, and `usage/check` a file that is none;
   * `failed/control_sums`, `failed/lake_file`, `failed/duplicate_key` and `failed/postgres_value` name pipeline and day in
   * `concern`, and nothing was published; `failed/migration_changed`, `failed/newer_schema`, `failed/table_differs` and `failed/views_in_use` refuse the tables as they are;
   * `retry/…` when the connection was lost; `locked/…` when another process publishes into the same warehouse.
   */
  publish(publication: Publication): Promise<PublishResult>;

  /** Runs one read-only statement. Errors: `usage/sql` with the engine's message; `failed/no_warehouse` where there is no file yet. */
  query(sql: string, limit: number): Promise<QueryResult>;

  /**
   * The same for any number of rows, in bounded memory; `limit` null: all of them. Resolves to whether the limit cut rows off.
   * Errors: those of `query`, also while it is read, and those of `read`.
   */
  stream(sql: string, limit: number | null, read: ReadAnswer): Promise<boolean>;

  /**
   * Respells values wherever they stand, in one transaction, and returns how many there were. Afterwards no copy of the old ones
   * is left that the engine lets us reach: the DuckDB file is written anew, in Postgres dead rows are vacuumed and statistics
   * taken again. 0 where the warehouse does not exist yet. Errors: `retry/…`, `failed/…`, `locked/publish`; nothing was changed then.
   */
  erase(erasure: Erasure): Promise<number>;

  /** Of a warehouse that can still be read as it was: how many of its older snapshots retention lets go; null: it keeps none. */
  oldSnapshots(): Promise<number | null>;

  /**
   * Lets them go, with every file that only they name or nobody does, and makes one file of many small ones. What readers see now stays as
   * it is. Nothing where it keeps none. Errors: `locked/publish`, `retry/…`, `failed/…`.
   */
  tidy(): Promise<void>;

  /** Checks rights and version without changing anything; throws an EtlError with the fix. Returns the engine's version. */
  check(): Promise<string>;

  close(): Promise<void>;
}
