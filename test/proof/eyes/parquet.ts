/** Every value of a Parquet file, once as hyparquet reads it and once as DuckDB tells it, spelled alike. */
import { readFile } from 'node:fs/promises';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { type ColumnKind, isSummed } from '../../../src/core/columns.ts';
import { Engine, quoteName, quoteText } from '../../../src/engine/duckdb.ts';
import { plainDecimals } from '../../support/plain-decimals.ts';

export interface KindOfColumn {
  readonly column: string;
  readonly kind: ColumnKind;
}

type Values = readonly (string | null)[];

/** By a reader that shares no code with DuckDB. */
export async function byHyparquet(file: string, columns: readonly KindOfColumn[]): Promise<Values[]> {
  const bytes = await readFile(file);
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  const metadata = plainDecimals(parquetMetadata(buffer));
  // Texts as their bytes, so that nothing is decoded away.
  const parsers = {
    jsonFromBytes: (text: Uint8Array) => text && hex(text),
    stringFromBytes: (text: Uint8Array) => text && hex(text),
    dateFromDays: (days: number) => days,
    timestampFromMicroseconds: (micros: bigint) => micros,
  };
  const rows = await parquetReadObjects({ file: buffer, metadata, compressors, parsers });
  return rows.map((row) => columns.map(({ column, kind }) => spelled(kind, row[column])));
}

/** By the engine that wrote it; in the file's order. */
export async function byDuckdb(file: string, columns: readonly KindOfColumn[]): Promise<Values[]> {
  const engine = await Engine.open({ tempDir: `${file}.spill` });
  const source = `read_parquet(${quoteText(file)}, hive_partitioning = false, file_row_number = true) ORDER BY file_row_number`;
  try {
    return await valuesFrom(engine, source, columns);
  } finally {
    engine.close();
  }
}

/** `source`: what follows FROM. */
export async function valuesFrom(engine: Engine, source: string, columns: readonly KindOfColumn[]): Promise<Values[]> {
  const of = ({ column, kind }: KindOfColumn) => {
    const name = quoteName(column);
    if (kind === 'text' || kind === 'json') return `lower(hex(encode(${name}::VARCHAR)))`;
    if (kind === 'day') return `(${name} - DATE '1970-01-01')`;
    if (kind === 'local-time' || kind === 'utc-time') return `epoch_us(${name})`;
    return kind === 'money' || kind === 'percentage' ? `replace(${name}::VARCHAR, '.', '')` : name;
  };
  const select = columns.map((column, i) => `${of(column)} AS c${i}`);
  const rows = await engine.rows(`SELECT ${select.join(', ')} FROM ${source}`);
  return rows.map((row) => columns.map(({ kind }, i) => spelled(kind, row[`c${i}`])));
}

function spelled(kind: ColumnKind, value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return isSummed(kind) ? String(BigInt(String(value))) : String(value);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
