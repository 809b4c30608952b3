-- The items as they were known at an instant: SELECT * FROM warehouse.orders_as_of('2026-05-01 00:00:00+02').
CREATE OR REPLACE MACRO warehouse.orders_as_of(instant) AS TABLE
SELECT version.*
FROM warehouse.fact_order_item_version AS version
WHERE version.valid_from <= CAST(instant AS TIMESTAMP WITH TIME ZONE)
  AND (version.valid_to IS NULL OR version.valid_to > CAST(instant AS TIMESTAMP WITH TIME ZONE));
