-- severity: warn
-- about: revenue including VAT is 1.00 to 1.25 times the revenue without
-- pipeline: promotions
-- fix: ask the service; the two columns may have changed places, or one of them may mean something else now
-- Amounts below zero are compared by their size. A cent for each order is left to rounding.
SELECT promotion_date AS slice_day, site_code, frame_type, name, sub_id, orders, revenue_excl_vat, revenue_incl_vat
FROM warehouse.fact_promotion_day
WHERE {on_days:promotion_date}
  AND (abs(revenue_incl_vat) < abs(revenue_excl_vat)
    OR abs(revenue_incl_vat) > CAST(abs(revenue_excl_vat) AS DECIMAL(38,6)) * 1.25 + 0.01 * (1 + greatest(least(coalesce(orders, 0), 1000000), 0)))
