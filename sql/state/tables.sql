-- What the program must remember between runs. One text for both engines: SQLite takes BIGINT and TEXT as they are, BYTES stands
-- for BLOB or BYTEA. Times are ISO 8601 UTC with milliseconds, days yyyy-mm-dd, flags 0 or 1, sums decimal text, lists and
-- objects JSON text. Every table carries the partner account that a row belongs to ('default' where there is one).

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
