/** How a bucket is spoken to. */

export interface S3Access {
  readonly keyId: string;
  readonly secret: string;
  readonly sessionToken: string | null;
  readonly region: string | null;
  /** http:// or https://; null: that of AWS. */
  readonly endpoint: string | null;
}
