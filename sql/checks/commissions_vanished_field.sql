-- severity: warn
-- about: a field that was there on the 14 days before is not missing on a whole day
-- pipeline: commissions
-- fix: ask the service; it may have renamed the field (then etl.drift has an unknown_field too) or no longer sends it
-- There: in nine of ten rows, and of at least a hundred. A day with fewer than twenty rows says nothing.
WITH counted AS (
  SELECT order_date AS day, count(*) AS rows_of_day,
    count(site_name) AS site_name,
    count(site_code) AS site_code,
    count(frame_type) AS frame_type,
    count(name) AS name,
    count(sub_id) AS sub_id,
    count(commission_percentage) AS commission_percentage,
    count(commission_original) AS commission_original,
    count(commission_approved) AS commission_approved,
    count(commission_open) AS commission_open,
    count(revenue_original_excl_vat) AS revenue_original_excl_vat,
    count(revenue_original_incl_vat) AS revenue_original_incl_vat,
    count(revenue_approved_excl_vat) AS revenue_approved_excl_vat,
    count(revenue_approved_incl_vat) AS revenue_approved_incl_vat,
    count(revenue_open_excl_vat) AS revenue_open_excl_vat,
    count(revenue_open_incl_vat) AS revenue_open_incl_vat,
    count(quantity_payable) AS quantity_payable
  FROM warehouse.fact_commission_day WHERE {on_days:order_date:14} GROUP BY order_date
),
fields AS (
  SELECT day, rows_of_day, 'site_name' AS field, site_name AS filled FROM counted
  UNION ALL SELECT day, rows_of_day, 'site_code', site_code FROM counted
  UNION ALL SELECT day, rows_of_day, 'frame_type', frame_type FROM counted
  UNION ALL SELECT day, rows_of_day, 'name', name FROM counted
  UNION ALL SELECT day, rows_of_day, 'sub_id', sub_id FROM counted
  UNION ALL SELECT day, rows_of_day, 'commission_percentage', commission_percentage FROM counted
  UNION ALL SELECT day, rows_of_day, 'commission_original', commission_original FROM counted
  UNION ALL SELECT day, rows_of_day, 'commission_approved', commission_approved FROM counted
  UNION ALL SELECT day, rows_of_day, 'commission_open', commission_open FROM counted
  UNION ALL SELECT day, rows_of_day, 'revenue_original_excl_vat', revenue_original_excl_vat FROM counted
  UNION ALL SELECT day, rows_of_day, 'revenue_original_incl_vat', revenue_original_incl_vat FROM counted
  UNION ALL SELECT day, rows_of_day, 'revenue_approved_excl_vat', revenue_approved_excl_vat FROM counted
  UNION ALL SELECT day, rows_of_day, 'revenue_approved_incl_vat', revenue_approved_incl_vat FROM counted
  UNION ALL SELECT day, rows_of_day, 'revenue_open_excl_vat', revenue_open_excl_vat FROM counted
  UNION ALL SELECT day, rows_of_day, 'revenue_open_incl_vat', revenue_open_incl_vat FROM counted
  UNION ALL SELECT day, rows_of_day, 'quantity_payable', quantity_payable FROM counted
)
SELECT today.day AS slice_day, today.field, today.rows_of_day AS row_count,
  CAST(sum(before.filled) AS BIGINT) AS filled_before, CAST(sum(before.rows_of_day) AS BIGINT) AS row_count_before
FROM fields AS today
JOIN fields AS before ON before.field = today.field AND before.day BETWEEN today.day - 14 AND today.day - 1
WHERE today.filled = 0 AND today.rows_of_day >= 20
GROUP BY today.day, today.field, today.rows_of_day
HAVING sum(before.rows_of_day) >= 100 AND sum(before.filled) >= 0.9 * sum(before.rows_of_day)
