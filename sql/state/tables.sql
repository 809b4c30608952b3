-- What the program must remember between runs. One text for both engines: SQLite takes BIGINT and TEXT as they are, BYTES stands
-- for BLOB or BYTEA, and WITHOUT ROWID is left out for Postgres. Times are ISO 8601 UTC with milliseconds, days yyyy-mm-dd, flags
-- 0 or 1, sums decimal text, lists and objects JSON text. Every table carries the partner account that a row belongs to
-- ('default' where there is one).

-- The version of this schema: one row.
CREATE TABLE state_version (
  version BIGINT NOT NULL
);

-- Single facts that a part of the program wants to find again, by name.
CREATE TABLE memo (
  account TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  noted_at TEXT NOT NULL,
  PRIMARY KEY (account, name)
);

-- How many calls an endpoint has room for, and until when the service wants none: one row an endpoint, changed by every process
-- that makes calls. `askers`: of each such process when it was seen, how many calls it wants, and when each of its calls
-- no longer counts, all in epoch milliseconds.
CREATE TABLE budget (
  account TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  held_until TEXT,
  askers TEXT NOT NULL,
  PRIMARY KEY (account, endpoint)
);

-- The access token and the circuit in front of the authentication service: one row a pair of credentials, named by a print of the
-- address and the client id. `credentials` is a salted print of id and secret, `refusal` is null while the circuit is closed,
-- `asking` the process that asks now and how long it may take.
CREATE TABLE token (
  account TEXT NOT NULL,
  pair TEXT NOT NULL,
  credentials TEXT NOT NULL,
  access_token TEXT,
  obtained_at TEXT,
  expires_at TEXT,
  refusal TEXT,
  requested_at TEXT NOT NULL,
  paused_until TEXT,
  asking TEXT,
  PRIMARY KEY (account, pair)
);

-- Slices that a blocking check keeps out of a target, as its last publication found them.
CREATE TABLE check_hold (
  account TEXT NOT NULL,
  target TEXT NOT NULL,
  pipeline TEXT NOT NULL,
  slice_day TEXT NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL,
  digest TEXT NOT NULL,
  rows BIGINT NOT NULL,
  rows_before BIGINT NOT NULL,
  fetch_id TEXT NOT NULL,
  held_at TEXT NOT NULL,
  check_name TEXT NOT NULL,
  fix TEXT NOT NULL,
  PRIMARY KEY (account, target, pipeline, slice_day)
);

-- Contents of slices that a person has released from checks.
CREATE TABLE released_content (
  account TEXT NOT NULL,
  digest TEXT NOT NULL,
  released_at TEXT NOT NULL,
  PRIMARY KEY (account, digest)
);

-- What the scheduler has started and finished, by pipeline; runs by hand are not among it. Without `due_at`: nothing yet.
CREATE TABLE scheduled (
  account TEXT NOT NULL,
  pipeline TEXT NOT NULL,
  -- Every due time up to here is handled.
  handled_until TEXT NOT NULL,
  -- Of the last run: the due time that it was for, and what came of it.
  due_at TEXT,
  started_at TEXT,
  finished_at TEXT,
  result TEXT,
  run_id TEXT,
  tries BIGINT,
  PRIMARY KEY (account, pipeline)
);

-- Deliveries of push messages that were accepted and wait for the pipeline. Ids sort in the order in which they were stored.
CREATE TABLE inbox (
  account TEXT NOT NULL,
  delivery_id TEXT NOT NULL,
  received_at TEXT NOT NULL,
  source_address TEXT NOT NULL,
  key_id TEXT NOT NULL,
  -- What the message is about, for who waits for it.
  resource TEXT NOT NULL,
  resource_id TEXT NOT NULL,
  -- Lower-case hex.
  body_sha256 TEXT NOT NULL,
  body BYTES NOT NULL,
  PRIMARY KEY (account, delivery_id)
);

-- How much waits there, changed in the same transactions: to count a full inbox takes seconds. At most one row an account.
CREATE TABLE inbox_size (
  account TEXT NOT NULL,
  messages BIGINT NOT NULL,
  body_bytes BIGINT NOT NULL,
  PRIMARY KEY (account)
);

-- Invocations that moved data. One that was killed, or is at work, has no end.
CREATE TABLE run (
  account TEXT NOT NULL,
  run_id TEXT NOT NULL,
  command TEXT NOT NULL,
  pipelines TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT,
  result TEXT,
  exit_code BIGINT,
  summary TEXT,
  PRIMARY KEY (account, run_id)
);

-- What answers of a run showed that the contract does not know, and what checks warned of; in the order in which it was seen.
CREATE TABLE drift (
  account TEXT NOT NULL,
  run_id TEXT NOT NULL,
  nth BIGINT NOT NULL,
  pipeline TEXT NOT NULL,
  fetch_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  field TEXT NOT NULL,
  count BIGINT NOT NULL,
  example TEXT NOT NULL,
  found_by TEXT,
  PRIMARY KEY (account, run_id, nth)
);

-- Requests that were carried out, with where the response lies: `raw_path` names an object of the raw store, `line` its line there
-- where many responses share one. `seq` counts in the order in which rows were written. `is_applied`: of a look-up, whether the
-- lake has what the response says; null for what is not a look-up.
CREATE TABLE "fetch" (
  account TEXT NOT NULL,
  fetch_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  run_id TEXT NOT NULL,
  pipeline TEXT NOT NULL,
  endpoint TEXT,
  window_from TEXT,
  window_to TEXT,
  method TEXT NOT NULL,
  url TEXT NOT NULL,
  attempt BIGINT NOT NULL,
  started_at TEXT NOT NULL,
  finished_at TEXT NOT NULL,
  status BIGINT,
  content_type TEXT,
  bytes_received BIGINT NOT NULL,
  bytes_decoded BIGINT NOT NULL,
  sha256 TEXT,
  raw_path TEXT,
  line BIGINT,
  items BIGINT,
  outcome TEXT NOT NULL,
  error_code TEXT,
  error_message TEXT,
  notes TEXT,
  pruned_at TEXT,
  is_applied BIGINT,
  PRIMARY KEY (account, fetch_id)
);
CREATE INDEX fetch_of_pipeline ON "fetch" (account, pipeline, fetch_id);
CREATE INDEX fetch_in_object ON "fetch" (account, pipeline, raw_path, fetch_id) WHERE raw_path IS NOT NULL;
CREATE INDEX fetch_of_run ON "fetch" (account, run_id);
CREATE INDEX fetch_written ON "fetch" (account, seq);
CREATE INDEX fetch_pruned ON "fetch" (account, pruned_at) WHERE pruned_at IS NOT NULL;
CREATE INDEX fetch_pending ON "fetch" (account, pipeline, seq) WHERE is_applied = 0;

-- What look-ups asked for: when each key was asked for last, what came of it, and how often in a row there was nothing. `key` is a JSON
-- array of the values of the key columns. A memory aid: what is lost is asked for again. There may be a million, so SQLite keeps
-- them once (WITHOUT ROWID), and not a second time in an index.
CREATE TABLE asked (
  account TEXT NOT NULL,
  pipeline TEXT NOT NULL,
  key TEXT NOT NULL,
  asked_at TEXT NOT NULL,
  outcome TEXT NOT NULL,
  misses BIGINT NOT NULL,
  PRIMARY KEY (account, pipeline, key)
) WITHOUT ROWID;

-- The lake's current slices, one a pipeline and day: what each holds, and the files that hold it, as paths under the home
-- directory (null where there is nothing to hold). A file that no row here or in `hold` names is not part of the lake.
-- `moved`: an item of it turned up on another day, so the service is to be asked again. `checked_…`: when an answer last said what
-- the slice holds (or what is held of it), and that answer with its window; null where no answer has since the slice changed.
CREATE TABLE slice (
  account TEXT NOT NULL,
  pipeline TEXT NOT NULL,
  day TEXT NOT NULL,
  digest TEXT NOT NULL,
  rows BIGINT NOT NULL,
  rejects BIGINT NOT NULL,
  duplicates BIGINT NOT NULL,
  sums TEXT NOT NULL,
  settled BIGINT NOT NULL,
  version BIGINT NOT NULL,
  fetch_id TEXT NOT NULL,
  fetched_at TEXT NOT NULL,
  key_min TEXT,
  key_max TEXT,
  file TEXT,
  rejects_file TEXT,
  moved BIGINT NOT NULL,
  checked_on TEXT,
  checked_sha256 TEXT,
  checked_from TEXT,
  checked_to TEXT,
  PRIMARY KEY (account, pipeline, day)
);

-- What was fetched of a slice and is kept back until a newer answer or a person decides. Its slice has a row above.
CREATE TABLE hold (
  account TEXT NOT NULL,
  pipeline TEXT NOT NULL,
  day TEXT NOT NULL,
  digest TEXT NOT NULL,
  rows BIGINT NOT NULL,
  rejects BIGINT NOT NULL,
  duplicates BIGINT NOT NULL,
  sums TEXT NOT NULL,
  settled BIGINT NOT NULL,
  version BIGINT NOT NULL,
  fetch_id TEXT NOT NULL,
  fetched_at TEXT NOT NULL,
  key_min TEXT,
  key_max TEXT,
  file TEXT,
  rejects_file TEXT,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL,
  rows_before BIGINT NOT NULL,
  held_at TEXT NOT NULL,
  PRIMARY KEY (account, pipeline, day)
);

-- How often the two tables above were changed: who shows what they say reads them again when it is another number.
CREATE TABLE lake_commit (
  account TEXT NOT NULL PRIMARY KEY,
  commits BIGINT NOT NULL
);

-- What was erased for a person, so that it is recognised when the service sends it again, and without saying what it was: of each
-- value its HMAC-SHA256 under the account's key (64 hex digits), its length, and the mark in its place. Who has both tables can try values,
-- as with any list that recognises them.
CREATE TABLE erasure_key (
  account TEXT NOT NULL PRIMARY KEY,
  key TEXT NOT NULL
);
CREATE TABLE erased_value (
  account TEXT NOT NULL,
  kind TEXT NOT NULL,
  hmac TEXT NOT NULL,
  chars BIGINT NOT NULL,
  mark TEXT NOT NULL,
  PRIMARY KEY (account, kind, hmac)
);

-- Erasures: when, and how much was found; names no one. One that was killed has no end.
CREATE TABLE erasure (
  account TEXT NOT NULL,
  erasure_id TEXT NOT NULL,
  began_at TEXT NOT NULL,
  ended_at TEXT,
  is_complete BIGINT NOT NULL,
  asked TEXT NOT NULL,
  found TEXT,
  PRIMARY KEY (account, erasure_id)
);
