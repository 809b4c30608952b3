-- severity: warn
-- about: a field that was there on the 14 days before is not missing on a whole day
-- pipeline: orders
-- fix: ask the service; it may have renamed the field (then etl.drift has an unknown_field too) or no longer sends it
-- There: in nine of ten rows, and of at least a hundred. A day with fewer than twenty rows says nothing.
WITH counted AS (
  SELECT order_date AS day, count(*) AS rows_of_day,
    count(order_date_time) AS order_date_time,
    count(product_title) AS product_title,
    count(product_id) AS product_id,
    count(chunk_name) AS chunk_name,
    count(site_name) AS site_name,
    count(site_code) AS site_code,
    count(frame_type) AS frame_type,
    count(name) AS name,
    count(sub_id) AS sub_id,
    count(status) AS status,
    count(quantity) AS quantity,
    count(price_excl_vat) AS price_excl_vat,
    count(price_incl_vat) AS price_incl_vat,
    count(commission_percentage) AS commission_percentage,
    count(commission) AS commission,
    count(status_final) AS status_final,
    count(approved_for_payment) AS approved_for_payment
  FROM warehouse.fact_order_item WHERE {on_days:order_date:14} GROUP BY order_date
),
fields AS (
  SELECT day, rows_of_day, 'order_date_time' AS field, order_date_time AS filled FROM counted
  UNION ALL SELECT day, rows_of_day, 'product_title', product_title FROM counted
  UNION ALL SELECT day, rows_of_day, 'product_id', product_id FROM counted
  UNION ALL SELECT day, rows_of_day, 'chunk_name', chunk_name FROM counted
  UNION ALL SELECT day, rows_of_day, 'site_name', site_name FROM counted
  UNION ALL SELECT day, rows_of_day, 'site_code', site_code FROM counted
  UNION ALL SELECT day, rows_of_day, 'frame_type', frame_type FROM counted
  UNION ALL SELECT day, rows_of_day, 'name', name FROM counted
  UNION ALL SELECT day, rows_of_day, 'sub_id', sub_id FROM counted
  UNION ALL SELECT day, rows_of_day, 'status', status FROM counted
  UNION ALL SELECT day, rows_of_day, 'quantity', quantity FROM counted
  UNION ALL SELECT day, rows_of_day, 'price_excl_vat', price_excl_vat FROM counted
  UNION ALL SELECT day, rows_of_day, 'price_incl_vat', price_incl_vat FROM counted
  UNION ALL SELECT day, rows_of_day, 'commission_percentage', commission_percentage FROM counted
  UNION ALL SELECT day, rows_of_day, 'commission', commission FROM counted
  UNION ALL SELECT day, rows_of_day, 'status_final', status_final FROM counted
  UNION ALL SELECT day, rows_of_day, 'approved_for_payment', approved_for_payment FROM counted
)
SELECT today.day AS slice_day, today.field, today.rows_of_day AS row_count,
  CAST(sum(before.filled) AS BIGINT) AS filled_before, CAST(sum(before.rows_of_day) AS BIGINT) AS row_count_before
FROM fields AS today
JOIN fields AS before ON before.field = today.field AND before.day BETWEEN today.day - 14 AND today.day - 1
WHERE today.filled = 0 AND today.rows_of_day >= 20
GROUP BY today.day, today.field, today.rows_of_day
HAVING sum(before.rows_of_day) >= 100 AND sum(before.filled) >= 0.9 * sum(before.rows_of_day)
