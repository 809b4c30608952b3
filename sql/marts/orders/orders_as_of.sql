-- The items as they were known at an instant: SELECT * FROM warehouse.orders_as_of('2026-05-01 00:00:00+02'). Neither strict nor
-- volatile, so that the planner of Postgres puts its text into the query and conditions on order_date find the index.
CREATE OR REPLACE FUNCTION warehouse.orders_as_of(instant timestamp with time zone)
RETURNS SETOF warehouse.fact_order_item_version
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
  SELECT version.*
  FROM warehouse.fact_order_item_version AS version
  WHERE version.valid_from <= CAST(instant AS timestamp with time zone)
    AND (version.valid_to IS NULL OR version.valid_to > CAST(instant AS timestamp with time zone))
$$;
