-- The history of order items, and what was known when. The columns are those of pipelines/orders.ts, as in 0002_reports.sql.
--
-- A row is a version: what was seen of an item from observed_from on, until observed_to (null: holds now). A row that is not
-- present says that the report no longer had the item. An item that moved to another day has its versions on both days.
CREATE TABLE warehouse.order_item_version (
  order_date            DATE NOT NULL,
  order_date_time       VARCHAR,
  order_id              VARCHAR NOT NULL,
  order_item_id         VARCHAR NOT NULL,
  product_title         VARCHAR,
  product_id            VARCHAR,
  chunk_name            VARCHAR,
  site_name             VARCHAR,
  site_code             VARCHAR,
  frame_type            VARCHAR,
  name                  VARCHAR,
  sub_id                VARCHAR,
  status                VARCHAR,
  quantity              BIGINT,
  price_excl_vat        DECIMAL(18,6),
  price_incl_vat        DECIMAL(18,6),
  commission_percentage DECIMAL(18,6),
  commission            DECIMAL(18,6),
  status_final          BOOLEAN,
  approved_for_payment  BOOLEAN,
  observed_on           DATE NOT NULL,
  observed_from         TIMESTAMP WITH TIME ZONE NOT NULL,
  is_present            BOOLEAN NOT NULL,
  order_local_time      TIMESTAMP,
  order_utc_time        TIMESTAMP WITH TIME ZONE,
  status_group          VARCHAR,
  extra                 JSON,
  fetch_id              VARCHAR NOT NULL,
  loaded_at             TIMESTAMP WITH TIME ZONE NOT NULL,
  observed_to           TIMESTAMP WITH TIME ZONE
);

-- The items as they were known at an instant: SELECT * FROM warehouse.orders_as_of('2026-05-01 00:00:00+02').
CREATE MACRO warehouse.orders_as_of(instant) AS TABLE
SELECT version.*
FROM main.order_item_version AS version
WHERE version.is_present
  AND version.observed_from <= CAST(instant AS TIMESTAMP WITH TIME ZONE)
  AND (version.observed_to IS NULL OR version.observed_to > CAST(instant AS TIMESTAMP WITH TIME ZONE));
COMMENT ON MACRO TABLE warehouse.orders_as_of IS 'The order items as they were known at the given instant, one row each.';

-- How the sums of a report day moved with age: a row for every content that was loaded of a day, oldest first. What was loaded
-- again as it was, by a rebuild, is no revision.
CREATE VIEW mart.order_revision AS
SELECT
  slice_day AS order_date,
  row_number() OVER (PARTITION BY slice_day ORDER BY loaded_at) AS revision,
  loaded_at,
  date_diff('day', slice_day, CAST(timezone('UTC', loaded_at) AS DATE)) AS age_days,
  rows,
  CAST(sums ->> 'quantity' AS HUGEINT) AS quantity,
  CAST(sums ->> 'price_excl_vat' AS DECIMAL(38,6)) AS price_excl_vat,
  CAST(sums ->> 'price_incl_vat' AS DECIMAL(38,6)) AS price_incl_vat,
  CAST(sums ->> 'commission' AS DECIMAL(38,6)) AS commission,
  settled,
  lead(loaded_at) OVER (PARTITION BY slice_day ORDER BY loaded_at) IS NULL AS is_newest,
  fetch_id
FROM (
  SELECT *, lag(digest) OVER (PARTITION BY slice_day ORDER BY loaded_at) AS digest_before
  FROM etl.receipt
  WHERE pipeline = 'orders'
) AS receipt
WHERE digest_before IS NULL OR digest_before <> digest;
COMMENT ON VIEW mart.order_revision IS 'How a report day moved with age: one row for every content of the day that was loaded here, with its age in days and its exact sums.';
COMMENT ON COLUMN mart.order_revision.order_date IS 'day of the orders';
COMMENT ON COLUMN mart.order_revision.revision IS '1 for the content that was loaded first';
COMMENT ON COLUMN mart.order_revision.loaded_at IS 'when this content was loaded here';
COMMENT ON COLUMN mart.order_revision.age_days IS 'days from the report day to the day (UTC) on which the content was loaded';
COMMENT ON COLUMN mart.order_revision.rows IS 'items';
COMMENT ON COLUMN mart.order_revision.quantity IS 'pieces';
COMMENT ON COLUMN mart.order_revision.price_excl_vat IS 'sum of the prices, excluding VAT';
COMMENT ON COLUMN mart.order_revision.price_incl_vat IS 'sum of the prices, including VAT';
COMMENT ON COLUMN mart.order_revision.commission IS 'sum of the commission; takes no account of returns';
COMMENT ON COLUMN mart.order_revision.settled IS 'nothing in the day could change any more';
COMMENT ON COLUMN mart.order_revision.is_newest IS 'the content that the day has now';
COMMENT ON COLUMN mart.order_revision.fetch_id IS 'the fetch that brought the content';
