-- The bookkeeping in schema `etl`: what ran, what was fetched, what is loaded, set aside, kept back and odd. One text for both engines:
-- JSON stands for jsonb in Postgres. Keys and indexes are Postgres' alone: DuckDB pays for them at every delete, and one writer
-- at a time, whose transaction checks what it writes, keeps its tables sound.
-- Every row belongs to a partner account ('default' where there is one), but for those that are about the tables themselves. It ends
-- every key, so that whoever looks for rows by the rest of one, as views do, finds them by it.

CREATE TABLE etl.run (
  account    text NOT NULL,
  run_id     text NOT NULL,
  command    text NOT NULL,
  pipelines  JSON NOT NULL,
  started_at timestamp with time zone NOT NULL,
  ended_at   timestamp with time zone,
  result     text,
  exit_code  integer,
  summary    JSON,
  PRIMARY KEY (run_id, account)
);
COMMENT ON TABLE etl.run IS 'One invocation that moved data.';
COMMENT ON COLUMN etl.run.account IS 'the partner account';
COMMENT ON COLUMN etl.run.run_id IS 'the run; sorts by its beginning';
COMMENT ON COLUMN etl.run.command IS 'the command as it was given';
COMMENT ON COLUMN etl.run.pipelines IS 'the pipelines it was for, a list of names';
COMMENT ON COLUMN etl.run.started_at IS 'beginning';
COMMENT ON COLUMN etl.run.ended_at IS 'end; null while it runs, or when it was killed';
COMMENT ON COLUMN etl.run.result IS 'done, failed, set_aside, refused or interrupted; null without an end';
COMMENT ON COLUMN etl.run.exit_code IS 'exit code of the command; null without an end';
COMMENT ON COLUMN etl.run.summary IS 'windows, calls, rows and slices in figures, and the errors';

CREATE TABLE etl.fetch (
  account        text NOT NULL,
  fetch_id       text NOT NULL,
  run_id         text NOT NULL,
  pipeline       text NOT NULL,
  window_from    date,
  window_to      date,
  method         text NOT NULL,
  url            text NOT NULL,
  attempt        integer NOT NULL,
  started_at     timestamp with time zone NOT NULL,
  finished_at    timestamp with time zone NOT NULL,
  status         integer,
  content_type   text,
  bytes_received bigint NOT NULL,
  bytes_decoded  bigint NOT NULL,
  sha256         text,
  raw_path     text,
  items          bigint,
  outcome        text NOT NULL,
  error_code     text,
  error_message  text,
  pruned_at      timestamp with time zone,
  PRIMARY KEY (fetch_id, account)
);
COMMENT ON TABLE etl.fetch IS 'One request to the service and its answer; a failed one too.';
COMMENT ON COLUMN etl.fetch.account IS 'the partner account';
COMMENT ON COLUMN etl.fetch.fetch_id IS 'the fetch; also the request id that was sent and logged';
COMMENT ON COLUMN etl.fetch.run_id IS 'the run that asked';
COMMENT ON COLUMN etl.fetch.pipeline IS 'the pipeline that it was for';
COMMENT ON COLUMN etl.fetch.window_from IS 'first day asked for';
COMMENT ON COLUMN etl.fetch.window_to IS 'last day asked for, inclusive';
COMMENT ON COLUMN etl.fetch.method IS 'HTTP method';
COMMENT ON COLUMN etl.fetch.url IS 'address that was called';
COMMENT ON COLUMN etl.fetch.attempt IS '1 for the first try of a call';
COMMENT ON COLUMN etl.fetch.started_at IS 'when the request was sent';
COMMENT ON COLUMN etl.fetch.finished_at IS 'when the answer was complete, or given up';
COMMENT ON COLUMN etl.fetch.status IS 'HTTP status; null without an answer';
COMMENT ON COLUMN etl.fetch.content_type IS 'Content-Type of the answer';
COMMENT ON COLUMN etl.fetch.bytes_received IS 'bytes of the body as they came over the wire';
COMMENT ON COLUMN etl.fetch.bytes_decoded IS 'bytes of the body after undoing Content-Encoding';
COMMENT ON COLUMN etl.fetch.sha256 IS 'of the decoded body, lower-case hex; null for a failed fetch';
COMMENT ON COLUMN etl.fetch.raw_path IS 'where the answer lies, relative to the home directory; null for a failed fetch';
COMMENT ON COLUMN etl.fetch.items IS 'items in the answer; null where it was no report';
COMMENT ON COLUMN etl.fetch.outcome IS 'ok or failed';
COMMENT ON COLUMN etl.fetch.error_code IS 'stable code of the error';
COMMENT ON COLUMN etl.fetch.error_message IS 'what went wrong';
COMMENT ON COLUMN etl.fetch.pruned_at IS 'when retention deleted the answer from the raw store; null: it is there, or there never was one';

CREATE TABLE etl.receipt (
  account       text NOT NULL,
  pipeline      text NOT NULL,
  slice_day     date NOT NULL,
  digest        text NOT NULL,
  version       integer NOT NULL,
  rows          bigint NOT NULL,
  rejects       bigint NOT NULL,
  duplicates    bigint NOT NULL,
  sums          JSON NOT NULL,
  settled       boolean NOT NULL,
  fetch_id      text NOT NULL,
  fetched_at    timestamp with time zone NOT NULL,
  run_id        text NOT NULL,
  loaded_at     timestamp with time zone NOT NULL,
  superseded_at timestamp with time zone
);
-- At most one receipt of a slice is current.
CREATE UNIQUE INDEX receipt_current ON etl.receipt (pipeline, slice_day, account) WHERE superseded_at IS NULL;
COMMENT ON TABLE etl.receipt IS 'This slice, with this content, is loaded here. Every version stays: the older ones are the record of restatements.';
COMMENT ON COLUMN etl.receipt.account IS 'the partner account';
COMMENT ON COLUMN etl.receipt.pipeline IS 'the pipeline';
COMMENT ON COLUMN etl.receipt.slice_day IS 'the day';
COMMENT ON COLUMN etl.receipt.digest IS 'identity of the content: two slices of one digest are the same';
COMMENT ON COLUMN etl.receipt.version IS 'version of the pipeline''s declaration that made it';
COMMENT ON COLUMN etl.receipt.rows IS 'rows loaded';
COMMENT ON COLUMN etl.receipt.rejects IS 'rows set aside';
COMMENT ON COLUMN etl.receipt.duplicates IS 'exact duplicates dropped';
COMMENT ON COLUMN etl.receipt.sums IS 'exact sum of every money, percentage and count column, as text; null where no row has a value';
COMMENT ON COLUMN etl.receipt.settled IS 'nothing in the slice can change any more';
COMMENT ON COLUMN etl.receipt.fetch_id IS 'the fetch that brought the content';
COMMENT ON COLUMN etl.receipt.fetched_at IS 'when that fetch was finished';
COMMENT ON COLUMN etl.receipt.run_id IS 'the run that loaded it';
COMMENT ON COLUMN etl.receipt.loaded_at IS 'when it was loaded here';
COMMENT ON COLUMN etl.receipt.superseded_at IS 'when another content took its place; null: current';

CREATE TABLE etl.reject (
  account   text NOT NULL,
  pipeline  text NOT NULL,
  slice_day date NOT NULL,
  fetch_id  text NOT NULL,
  item      bigint NOT NULL,
  reason    text NOT NULL,
  detail    text NOT NULL,
  raw       text NOT NULL
);
CREATE INDEX reject_slice ON etl.reject (pipeline, slice_day, account);
COMMENT ON TABLE etl.reject IS 'A row that could not be loaded, with its raw text and the reason.';
COMMENT ON COLUMN etl.reject.account IS 'the partner account';
COMMENT ON COLUMN etl.reject.pipeline IS 'the pipeline';
COMMENT ON COLUMN etl.reject.slice_day IS 'the slice that it was set aside from';
COMMENT ON COLUMN etl.reject.fetch_id IS 'the fetch whose answer holds it';
COMMENT ON COLUMN etl.reject.item IS 'position of the item in the answer, from 0';
COMMENT ON COLUMN etl.reject.reason IS 'stable code';
COMMENT ON COLUMN etl.reject.detail IS 'what exactly: usually the field and its value';
COMMENT ON COLUMN etl.reject.raw IS 'raw text as received; a long one is cut';

CREATE TABLE etl.hold (
  account     text NOT NULL,
  pipeline    text NOT NULL,
  slice_day   date NOT NULL,
  reason      text NOT NULL,
  detail      text NOT NULL,
  digest      text NOT NULL,
  rows        bigint NOT NULL,
  rows_before bigint NOT NULL,
  fetch_id    text NOT NULL,
  held_at     timestamp with time zone NOT NULL,
  PRIMARY KEY (pipeline, slice_day, account)
);
COMMENT ON TABLE etl.hold IS 'A slice that was fetched but is kept back.';
COMMENT ON COLUMN etl.hold.account IS 'the partner account';
COMMENT ON COLUMN etl.hold.pipeline IS 'the pipeline';
COMMENT ON COLUMN etl.hold.slice_day IS 'the day';
COMMENT ON COLUMN etl.hold.reason IS 'stable code';
COMMENT ON COLUMN etl.hold.detail IS 'what exactly';
COMMENT ON COLUMN etl.hold.digest IS 'identity of the content that is kept back';
COMMENT ON COLUMN etl.hold.rows IS 'rows that it has';
COMMENT ON COLUMN etl.hold.rows_before IS 'rows of the slice that is loaded';
COMMENT ON COLUMN etl.hold.fetch_id IS 'the fetch that brought it';
COMMENT ON COLUMN etl.hold.held_at IS 'since when it is kept back';

CREATE TABLE etl.drift_by_fetch (
  account  text NOT NULL,
  pipeline text NOT NULL,
  fetch_id text NOT NULL,
  kind     text NOT NULL,
  field    text NOT NULL,
  count    bigint NOT NULL,
  example  text NOT NULL,
  seen_at  timestamp with time zone NOT NULL,
  PRIMARY KEY (pipeline, fetch_id, kind, field, account)
);
COMMENT ON TABLE etl.drift_by_fetch IS 'Something in one answer that the contract does not know.';
COMMENT ON COLUMN etl.drift_by_fetch.account IS 'the partner account';
COMMENT ON COLUMN etl.drift_by_fetch.pipeline IS 'the pipeline';
COMMENT ON COLUMN etl.drift_by_fetch.fetch_id IS 'the fetch whose answer shows it';
COMMENT ON COLUMN etl.drift_by_fetch.kind IS 'stable code, for example unknown_field';
COMMENT ON COLUMN etl.drift_by_fetch.field IS 'the field concerned';
COMMENT ON COLUMN etl.drift_by_fetch.count IS 'how often, in this answer';
COMMENT ON COLUMN etl.drift_by_fetch.example IS 'one value of it';
COMMENT ON COLUMN etl.drift_by_fetch.seen_at IS 'when that fetch was finished';

CREATE TABLE etl.migration (
  number     integer NOT NULL,
  name       text NOT NULL,
  sha256     text NOT NULL,
  applied_at timestamp with time zone NOT NULL,
  PRIMARY KEY (number)
);
COMMENT ON TABLE etl.migration IS 'The numbered changes of the schema that were applied here.';
COMMENT ON COLUMN etl.migration.number IS 'its number';
COMMENT ON COLUMN etl.migration.name IS 'name of its file';
COMMENT ON COLUMN etl.migration.sha256 IS 'of the file as it was applied, lower-case hex';
COMMENT ON COLUMN etl.migration.applied_at IS 'when it was applied';

-- One row: the texts that the tables, views and indexes were last made from, and what they made.
CREATE TABLE etl.catalogue (
  sha256  text NOT NULL,
  things  JSON NOT NULL,
  made_at timestamp with time zone NOT NULL
);
COMMENT ON TABLE etl.catalogue IS 'From which declarations and texts the tables, views and indexes were made here: one row.';
COMMENT ON COLUMN etl.catalogue.sha256 IS 'of all of them, lower-case hex';
COMMENT ON COLUMN etl.catalogue.things IS 'the views, functions and indexes that they made, in the order of their making';
COMMENT ON COLUMN etl.catalogue.made_at IS 'when they were made';

CREATE TABLE etl.setting (
  account    text NOT NULL,
  name       text NOT NULL,
  value      text NOT NULL,
  changed_at timestamp with time zone NOT NULL,
  PRIMARY KEY (name, account)
);
COMMENT ON TABLE etl.setting IS 'A setting that views need, as it was when something was published last; one that is not set has no row.';
COMMENT ON COLUMN etl.setting.account IS 'the partner account';
COMMENT ON COLUMN etl.setting.name IS 'sub_ids.grammar: as it stands in the settings; sub_ids.parts: the same taken apart, as JSON';
COMMENT ON COLUMN etl.setting.value IS 'its value';
COMMENT ON COLUMN etl.setting.changed_at IS 'when it got this value here';
