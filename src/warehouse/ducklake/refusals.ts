/** What DuckDB says of a DuckLake, sorted by what is to be done next. It has no codes: its words are all there is. */
import { type ErrorKind, EtlError } from '../../core/errors.ts';

interface Verdict {
  readonly words: RegExp;
  readonly kind: ErrorKind;
  readonly code: string;
  readonly hint: string;
}

const VERDICTS: readonly Verdict[] = [
  {
    words: /Transaction conflict|Failed to commit DuckLake transaction/,
    kind: 'retry',
    code: 'ducklake_overtaken',
    hint: 'another host has published meanwhile, and nothing of this was; the next try begins from what is there now',
  },
  {
    words: /DATA_PATH parameter .* does not match/s,
    kind: 'usage',
    code: 'ducklake_data',
    hint: 'set targets.ducklake.data to where the files are; a DuckLake whose files were moved is made anew with another targets.ducklake.schema',
  },
  {
    words: /DuckLake (?:catalog )?version|catalog version/i,
    kind: 'usage',
    code: 'ducklake_version',
    hint: 'the catalog was made by another version of the extension ducklake: use the DuckDB that made it, or another targets.ducklake.schema',
  },
  {
    words: /HTTP.*\b(?:401|403)\b|Authentication Failure|AccessDenied|SignatureDoesNotMatch|InvalidAccessKeyId/is,
    kind: 'usage',
    code: 'ducklake_bucket',
    hint: 'the bucket refuses: see AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and its rights to list, read, write and delete',
  },
  {
    words: /HTTP.*\b(?:301|307|400)\b|PermanentRedirect|AuthorizationHeaderMalformed/is,
    kind: 'usage',
    code: 'ducklake_bucket',
    hint: 'the bucket is in another region, or behind another address: see AWS_REGION and AWS_ENDPOINT_URL',
  },
  {
    words: /NoSuchBucket|HTTP.*\b404\b/is,
    kind: 'failed',
    code: 'ducklake_bucket',
    hint: 'see whether the bucket in targets.ducklake.data exists; if only files are gone: partner-etl rebuild --target ducklake',
  },
  {
    words: /Could not connect to server error for HTTP|Could not resolve hostname/i,
    kind: 'retry',
    code: 'ducklake_bucket',
    hint: 'the bucket does not answer: see AWS_ENDPOINT_URL and the network',
  },
  {
    words:
      /Unable to connect to Postgres|server closed the connection|connection to server|terminating connection|no connection to the server/i,
    kind: 'retry',
    code: 'ducklake_connection',
    hint: 'see whether the server runs and PARTNER_ETL_DUCKLAKE_URL names it',
  },
];

/** `what` failed, as a sentence without its reason. */
export function refusalOf(cause: unknown, what: string): EtlError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const { kind, code, hint } = VERDICTS.find(({ words }) => words.test(why)) ?? {
    kind: 'failed' as const,
    code: 'ducklake',
    hint: "the DuckLake is as it was; see DuckDB's message",
  };
  return new EtlError(kind, code, `${what}: ${why}`, { cause, concern: { target: 'ducklake' }, hint });
}
