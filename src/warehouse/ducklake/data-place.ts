/** Where a DuckLake keeps its Parquet files: a folder, or a bucket that speaks S3. */
import path from 'node:path';
import { isBucket, type S3Access } from '../../core/ducklake.ts';
import { type Engine, quoteText } from '../../engine/duckdb.ts';

/** As DuckLake notes it: absolute, with a slash at its end. */
export function dataPath(data: string): string {
  const whole = isBucket(data) ? data : path.resolve(data);
  return whole.endsWith('/') ? whole : `${whole}/`;
}

/** Lets DuckDB into the bucket. */
export async function allowBucket(engine: Engine, s3: S3Access): Promise<void> {
  const said: [string, string | null][] = [
    ['KEY_ID', s3.keyId],
    ['SECRET', s3.secret],
    ['SESSION_TOKEN', s3.sessionToken],
    ['REGION', s3.region],
  ];
  const options = said.flatMap(([name, value]) => (value === null ? [] : [`${name} ${quoteText(value)}`]));
  if (s3.endpoint !== null) {
    const { protocol, host } = new URL(s3.endpoint);
    // Names of buckets are no names of hosts there.
    options.push(`ENDPOINT ${quoteText(host)}`, `USE_SSL ${protocol === 'https:'}`, `URL_STYLE 'path'`);
  }
  await engine.run(`CREATE SECRET bucket (TYPE s3, ${options.join(', ')})`);
}
