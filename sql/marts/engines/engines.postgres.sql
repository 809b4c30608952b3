-- What the two engines spell in different ways, under one name each: so the views have one text. The planner puts the text of the first two
-- into the query, so they cost nothing.

-- The day of an instant in UTC.
CREATE OR REPLACE FUNCTION etl.utc_day(instant timestamp with time zone) RETURNS date
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CAST(timezone('UTC', instant) AS date) $$;

CREATE OR REPLACE FUNCTION etl.quotient(dividend integer, divisor integer) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT dividend / divisor $$;

-- In the place of a column: a row for each.
CREATE OR REPLACE FUNCTION etl.each_number(first_number integer, last_number integer) RETURNS SETOF integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT generate_series(first_number, last_number) $$;

CREATE OR REPLACE FUNCTION etl.each_day(first_day date, last_day date) RETURNS SETOF date
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CAST(generate_series(CAST(first_day AS timestamp), CAST(last_day AS timestamp), interval '1 day') AS date) $$;

-- warehouse.dim_sub_id reads this: the sub-IDs of an account, by steps from each to the next in the index. A pass over the facts, as DuckDB
-- makes it, takes twelve times as long.
CREATE OR REPLACE VIEW etl.sub_id_seen AS
WITH RECURSIVE sub_ids AS (
  SELECT loaded.account, least(
    (SELECT min(sub_id) FROM warehouse.fact_promotion_day WHERE account = loaded.account),
    (SELECT min(sub_id) FROM warehouse.fact_order_item WHERE account = loaded.account),
    (SELECT min(sub_id) FROM warehouse.fact_commission_day WHERE account = loaded.account)
  ) AS sub_id
  FROM (SELECT DISTINCT account FROM etl.receipt) AS loaded
  UNION ALL
  SELECT sub_ids.account, least(
    (SELECT min(sub_id) FROM warehouse.fact_promotion_day WHERE account = sub_ids.account AND sub_id > sub_ids.sub_id),
    (SELECT min(sub_id) FROM warehouse.fact_order_item WHERE account = sub_ids.account AND sub_id > sub_ids.sub_id),
    (SELECT min(sub_id) FROM warehouse.fact_commission_day WHERE account = sub_ids.account AND sub_id > sub_ids.sub_id)
  )
  FROM sub_ids
  WHERE sub_ids.sub_id IS NOT NULL
)
SELECT
  account,
  sub_id,
  least(
    (SELECT min(promotion_date) FROM warehouse.fact_promotion_day WHERE account = sub_ids.account AND sub_id = sub_ids.sub_id),
    (SELECT min(order_date) FROM warehouse.fact_order_item WHERE account = sub_ids.account AND sub_id = sub_ids.sub_id),
    (SELECT min(order_date) FROM warehouse.fact_commission_day WHERE account = sub_ids.account AND sub_id = sub_ids.sub_id)
  ) AS first_day,
  greatest(
    (SELECT max(promotion_date) FROM warehouse.fact_promotion_day WHERE account = sub_ids.account AND sub_id = sub_ids.sub_id),
    (SELECT max(order_date) FROM warehouse.fact_order_item WHERE account = sub_ids.account AND sub_id = sub_ids.sub_id),
    (SELECT max(order_date) FROM warehouse.fact_commission_day WHERE account = sub_ids.account AND sub_id = sub_ids.sub_id)
  ) AS last_day
FROM sub_ids
WHERE sub_id IS NOT NULL;
