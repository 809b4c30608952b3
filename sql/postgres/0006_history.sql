-- The history of order items, and what was known when. The columns are those of pipelines/orders.ts, as in 0002_reports.sql.
--
-- A row is a version: what was seen of an item from observed_from on, until observed_to (null: holds now). A row that is not
-- present says that the report no longer had the item. An item that moved to another day has its versions on both days.
CREATE TABLE warehouse.order_item_version (
  order_date            date NOT NULL,
  order_date_time       text,
  order_id              text NOT NULL,
  order_item_id         text NOT NULL,
  product_title         text,
  product_id            text,
  chunk_name            text,
  site_name             text,
  site_code             text,
  frame_type            text,
  name                  text,
  sub_id                text,
  status                text,
  quantity              bigint,
  price_excl_vat        numeric(18,6),
  price_incl_vat        numeric(18,6),
  commission_percentage numeric(18,6),
  commission            numeric(18,6),
  status_final          boolean,
  approved_for_payment  boolean,
  observed_on           date NOT NULL,
  observed_from         timestamp with time zone NOT NULL,
  is_present            boolean NOT NULL,
  order_local_time      timestamp without time zone,
  order_utc_time        timestamp with time zone,
  status_group          text,
  extra                 jsonb,
  fetch_id              text NOT NULL,
  loaded_at             timestamp with time zone NOT NULL,
  observed_to           timestamp with time zone,
  PRIMARY KEY (order_id, order_item_id, observed_from)
);
CREATE INDEX order_item_version_day ON warehouse.order_item_version (order_date);
CREATE INDEX order_item_version_observed_on ON warehouse.order_item_version (observed_on);

-- The items as they were known at an instant: SELECT * FROM warehouse.orders_as_of('2026-05-01 00:00:00+02'). Neither strict nor
-- volatile, so that the planner puts its text into the query and conditions on order_date find the index.
CREATE FUNCTION warehouse.orders_as_of(instant timestamp with time zone)
RETURNS SETOF warehouse.order_item_version
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
  SELECT version.*
  FROM warehouse.order_item_version AS version
  WHERE version.is_present
    AND version.observed_from <= instant
    AND (version.observed_to IS NULL OR version.observed_to > instant)
$$;
COMMENT ON FUNCTION warehouse.orders_as_of IS 'The order items as they were known at the given instant, one row each.';

-- How the sums of a report day moved with age: a row for every content that was loaded of a day, oldest first. What was loaded
-- again as it was, by a rebuild, is no revision.
CREATE VIEW mart.order_revision AS
SELECT
  slice_day AS order_date,
  row_number() OVER (PARTITION BY slice_day ORDER BY loaded_at) AS revision,
  loaded_at,
  CAST(timezone('UTC', loaded_at) AS date) - slice_day AS age_days,
  rows,
  CAST(sums ->> 'quantity' AS numeric(38,0)) AS quantity,
  CAST(sums ->> 'price_excl_vat' AS numeric(38,6)) AS price_excl_vat,
  CAST(sums ->> 'price_incl_vat' AS numeric(38,6)) AS price_incl_vat,
  CAST(sums ->> 'commission' AS numeric(38,6)) AS commission,
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
