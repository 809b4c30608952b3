/** What a slice's rows and rejects amount to, computed from the rows themselves. */
import type { Pipeline } from '../core/pipeline.ts';
import type { SliceContent } from '../core/records.ts';
import {
  contentColumnsSql,
  contentOf,
  digestOf,
  hashSumsOf,
  hashSumsSql,
  NO_HASHES,
  rejectHashSql,
  rowHashSql,
} from './content.ts';
import { type Engine, readParquet } from './duckdb.ts';

export type Measured = Pick<SliceContent, 'rows' | 'sums' | 'settled' | 'key_min' | 'key_max' | 'digest'>;

/** `rows`: SQL of a relation with the stored columns, null for none. `rejectsFile`: the slice's rejects, null for none. */
export async function measureSlice(
  engine: Engine,
  pipeline: Pipeline,
  rows: string | null,
  rejectsFile: string | null,
): Promise<Measured> {
  const hashed = rows && `(SELECT *, ${rowHashSql(pipeline)} AS _hash FROM ${rows})`;
  const row = hashed ? await engine.row(`SELECT ${contentColumnsSql(pipeline)} FROM ${hashed}`) : null;
  const rejects = rejectsFile && `(SELECT ${rejectHashSql()} AS h FROM ${readParquet([rejectsFile])})`;
  const refused = rejects ? await engine.row(`SELECT count(*) AS _rows, ${hashSumsSql('h')} FROM ${rejects}`) : null;
  const digest = digestOf(
    pipeline,
    row ? hashSumsOf(row, '_rows') : NO_HASHES,
    refused ? hashSumsOf(refused, '_rows') : NO_HASHES,
  );
  const content = row ? contentOf(row) : { rows: 0, sums: {}, settled: true, key_min: null, key_max: null };
  return { ...content, digest };
}
