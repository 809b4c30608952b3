/** Where a DuckLake lies, and how its bucket is spoken to. */

export interface DucklakePlace {
  /** postgres://…, of the database with the catalog; may hold a password. */
  readonly catalogUrl: string;
  /** In which DuckLake keeps the catalog's tables. */
  readonly schema: string;
  /** A folder, or s3://bucket/prefix. */
  readonly data: string;
  /** null: the files lie in a folder. */
  readonly s3: S3Access | null;
  /** The folder with DuckDB's extensions; null: DuckDB fetches them. */
  readonly extensions: string | null;
  /** For how many days it can be read as it was; null: for ever. */
  readonly snapshotDays: number | null;
}

export interface S3Access {
  readonly keyId: string;
  readonly secret: string;
  readonly sessionToken: string | null;
  readonly region: string | null;
  /** http:// or https://; null: that of AWS. */
  readonly endpoint: string | null;
}

export function isBucket(data: string): boolean {
  return data.startsWith('s3://');
}
