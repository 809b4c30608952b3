-- What the two engines spell in different ways, under one name each: so the views have one text.

-- The day of an instant in UTC, counted from its microseconds: timezone('UTC', …) costs fourteen times as much.
CREATE OR REPLACE MACRO etl.utc_day(instant) AS date '1970-01-01' + CAST(epoch_us(instant) // 86400000000 AS integer);

CREATE OR REPLACE MACRO etl.quotient(dividend, divisor) AS dividend // divisor;

-- In the place of a column: a row for each.
CREATE OR REPLACE MACRO etl.each_number(first_number, last_number) AS unnest(generate_series(first_number, last_number));

CREATE OR REPLACE MACRO etl.each_day(first_day, last_day) AS CAST(unnest(generate_series(first_day, last_day, interval 1 day)) AS date);

-- warehouse.dim_sub_id reads this: the sub-IDs of an account, by one pass over the facts.
CREATE OR REPLACE VIEW etl.sub_id_seen AS
SELECT account, sub_id, min(day) AS first_day, max(day) AS last_day
FROM (
  SELECT account, sub_id, promotion_date AS day FROM warehouse.fact_promotion_day
  UNION ALL
  SELECT account, sub_id, order_date FROM warehouse.fact_order_item
  UNION ALL
  SELECT account, sub_id, order_date FROM warehouse.fact_commission_day
) AS every_sub_id
WHERE sub_id IS NOT NULL
GROUP BY account, sub_id;
