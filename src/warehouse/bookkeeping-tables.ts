/**
 * The tables of schema `etl` as kysely sees them; sql/etl makes them.
 * What is JSON in the table is handed over as JSON text, a time as ISO 8601 in UTC, a day as `yyyy-mm-dd`.
 */
import type { FetchRecord, RunRecord } from '../core/records.ts';
import type { AppliedMigration } from './schema/migrations.ts';
import type { HoldRecord } from './target.ts';

type Json = string;

/** Every row belongs to an account. */
interface OfAccount {
  readonly account: string;
}

export interface RunTable extends OfAccount, Omit<RunRecord, 'pipelines' | 'summary'> {
  readonly pipelines: Json;
  readonly summary: Json | null;
}

export interface FetchTable extends OfAccount, Omit<FetchRecord, 'notes' | 'pruned_at'> {
  readonly pruned_at: string | null;
}

export interface ReceiptTable extends OfAccount {
  readonly pipeline: string;
  readonly slice_day: string;
  readonly digest: string;
  readonly version: number;
  readonly rows: number;
  readonly rejects: number;
  readonly duplicates: number;
  readonly sums: Json;
  readonly settled: boolean;
  readonly fetch_id: string;
  readonly fetched_at: string;
  readonly run_id: string;
  readonly loaded_at: string;
  readonly superseded_at: string | null;
}

export interface DriftTable extends OfAccount {
  readonly pipeline: string;
  readonly fetch_id: string;
  readonly kind: string;
  readonly field: string;
  readonly count: number;
  readonly example: string;
  readonly seen_at: string;
}

export interface MigrationTable extends AppliedMigration {
  readonly applied_at: string;
}

/** One row: what tables, views and indexes were made from. */
export interface CatalogueTable {
  readonly sha256: string;
  readonly things: Json;
  readonly made_at: string;
}

/** A setting that views need. */
export interface SettingTable extends OfAccount {
  readonly name: string;
  readonly value: string;
  readonly changed_at: string;
}

export interface BookkeepingTables {
  'etl.run': RunTable;
  'etl.fetch': FetchTable;
  'etl.receipt': ReceiptTable;
  'etl.hold': HoldRecord & OfAccount;
  'etl.drift_by_fetch': DriftTable;
  'etl.migration': MigrationTable;
  'etl.catalogue': CatalogueTable;
  'etl.setting': SettingTable;
  'information_schema.tables': { readonly table_schema: string; readonly table_name: string };
}
