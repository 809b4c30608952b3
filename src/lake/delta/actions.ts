/**
 * What a Delta log says, by https://github.com/delta-io/delta/blob/master/PROTOCOL.md: one JSON document a line, each an action.
 * Only what this program writes.
 */
import type { ColumnKind } from '../../core/columns.ts';

export interface AddFile {
  readonly path: string;
  readonly partitionValues: Readonly<Record<string, string>>;
  readonly size: number;
  readonly modificationTime: number;
  readonly dataChange: boolean;
  /** JSON: `numRecords` and the least and largest day. Readers count rows by it, without looking into the file. */
  readonly stats: string;
}

export interface RemoveFile {
  readonly path: string;
  readonly deletionTimestamp: number;
  readonly dataChange: boolean;
  readonly extendedFileMetadata: boolean;
  readonly partitionValues: Readonly<Record<string, string>>;
  readonly size: number;
}

export interface Metadata {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly format: { readonly provider: 'parquet'; readonly options: Readonly<Record<string, string>> };
  readonly schemaString: string;
  readonly partitionColumns: readonly string[];
  readonly configuration: Readonly<Record<string, string>>;
  readonly createdTime: number;
}

export interface Protocol {
  readonly minReaderVersion: number;
  readonly minWriterVersion: number;
  readonly readerFeatures?: readonly string[];
  readonly writerFeatures?: readonly string[];
}

export interface CommitInfo {
  readonly timestamp: number;
  readonly operation: 'WRITE';
  readonly engineInfo: 'partner-etl';
}

export interface Action {
  readonly commitInfo?: CommitInfo;
  readonly protocol?: Protocol;
  readonly metaData?: Metadata;
  readonly add?: AddFile;
  readonly remove?: RemoveFile;
}

export interface DeltaColumn {
  readonly column: string;
  readonly kind: ColumnKind;
  readonly about: string;
}

/** Of files that DuckDB wrote; JSON is text to every reader. */
const DELTA_TYPE: Readonly<Record<ColumnKind, string>> = {
  text: 'string',
  day: 'date',
  money: 'decimal(18,6)',
  percentage: 'decimal(18,6)',
  ratio: 'double',
  count: 'long',
  boolean: 'boolean',
  'local-time': 'timestamp_ntz',
  'utc-time': 'timestamp',
  json: 'string',
};

export function schemaOf(columns: readonly DeltaColumn[]): string {
  const fields = columns.map(({ column, kind, about }) => {
    return { name: column, type: DELTA_TYPE[kind], nullable: true, metadata: { comment: about } };
  });
  return JSON.stringify({ type: 'struct', fields });
}

/** Times without a zone are a feature that old readers do not know; without such columns every reader will do. */
export function protocolOf(columns: readonly DeltaColumn[]): Protocol {
  if (!columns.some(({ kind }) => kind === 'local-time')) return { minReaderVersion: 1, minWriterVersion: 2 };
  const features = ['timestampNtz'];
  return { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: features, writerFeatures: features };
}
