-- How the sums of a report day moved with age: a row for every content that was loaded of a day, oldest first. What was loaded
-- again as it was, by a rebuild, is no revision.
CREATE OR REPLACE VIEW mart.order_revision AS
SELECT
  account,
  slice_day AS order_date,
  row_number() OVER (PARTITION BY account, slice_day ORDER BY loaded_at) AS revision,
  loaded_at,
  etl.utc_day(loaded_at) - slice_day AS age_days,
  rows,
  CAST(sums ->> 'quantity' AS numeric(38,0)) AS quantity,
  CAST(sums ->> 'price_excl_vat' AS numeric(38,6)) AS price_excl_vat,
  CAST(sums ->> 'price_incl_vat' AS numeric(38,6)) AS price_incl_vat,
  CAST(sums ->> 'commission' AS numeric(38,6)) AS commission,
  settled,
  lead(loaded_at) OVER (PARTITION BY account, slice_day ORDER BY loaded_at) IS NULL AS is_newest,
  fetch_id
FROM (
  SELECT *, lag(digest) OVER (PARTITION BY account, slice_day ORDER BY loaded_at) AS digest_before
  FROM etl.receipt
  WHERE pipeline = 'orders'
) AS receipt
WHERE digest_before IS NULL OR digest_before <> digest;
