-- severity: warn
-- about: approved and open commission together are not above the original
-- pipeline: commissions
-- fix: ask the service which orders were credited later than they were placed
SELECT order_date AS slice_day, site_code, frame_type, name, sub_id, commission_percentage,
  commission_original, commission_approved, commission_open
FROM warehouse.fact_commission_day
WHERE {on_days:order_date}
  AND commission_original >= 0
  AND coalesce(CAST(commission_approved AS DECIMAL(38,6)), 0) + coalesce(commission_open, 0) > commission_original
