-- severity: warn
-- about: revenue including VAT is 1.00 to 1.25 times the revenue without
-- pipeline: commissions
-- fix: ask the service; the two columns may have changed places, or one of them may mean something else now
-- Amounts below zero are compared by their size. A cent for each piece is left to rounding.
SELECT order_date AS slice_day, field, site_code, frame_type, name, sub_id, commission_percentage, quantity_payable, excl_vat, incl_vat
FROM (
  SELECT order_date, site_code, frame_type, name, sub_id, commission_percentage, quantity_payable,
    'revenue_original_incl_vat' AS field, revenue_original_excl_vat AS excl_vat, revenue_original_incl_vat AS incl_vat
  FROM warehouse.fact_commission_day WHERE {on_days:order_date}
  UNION ALL
  SELECT order_date, site_code, frame_type, name, sub_id, commission_percentage, quantity_payable,
    'revenue_approved_incl_vat', revenue_approved_excl_vat, revenue_approved_incl_vat
  FROM warehouse.fact_commission_day WHERE {on_days:order_date}
  UNION ALL
  SELECT order_date, site_code, frame_type, name, sub_id, commission_percentage, quantity_payable,
    'revenue_open_incl_vat', revenue_open_excl_vat, revenue_open_incl_vat
  FROM warehouse.fact_commission_day WHERE {on_days:order_date}
) AS revenue
WHERE abs(incl_vat) < abs(excl_vat) OR abs(incl_vat) > CAST(abs(excl_vat) AS DECIMAL(38,6)) * 1.25 + 0.01 * (1 + greatest(least(coalesce(quantity_payable, 0), 1000000), 0))
