-- severity: warn
-- about: a field that was there on the 14 days before is not missing on a whole day
-- pipeline: promotions
-- fix: ask the service; it may have renamed the field (then etl.drift has an unknown_field too) or no longer sends it
-- There: in nine of ten rows, and of at least a hundred. A day with fewer than twenty rows says nothing.
WITH counted AS (
  SELECT promotion_date AS day, count(*) AS rows_of_day,
    count(site_name) AS site_name,
    count(site_code) AS site_code,
    count(frame_type) AS frame_type,
    count(name) AS name,
    count(sub_id) AS sub_id,
    count(clicks) AS clicks,
    count(impressions) AS impressions,
    count(click_through_rate) AS click_through_rate,
    count(commission) AS commission,
    count(earnings_per_click) AS earnings_per_click,
    count(earnings_per_mille) AS earnings_per_mille,
    count(orders) AS orders,
    count(conversion) AS conversion,
    count(revenue_excl_vat) AS revenue_excl_vat,
    count(revenue_incl_vat) AS revenue_incl_vat,
    count(average_order_value) AS average_order_value
  FROM warehouse.fact_promotion_day WHERE {on_days:promotion_date:14} GROUP BY promotion_date
),
fields AS (
  SELECT day, rows_of_day, 'site_name' AS field, site_name AS filled FROM counted
  UNION ALL SELECT day, rows_of_day, 'site_code', site_code FROM counted
  UNION ALL SELECT day, rows_of_day, 'frame_type', frame_type FROM counted
  UNION ALL SELECT day, rows_of_day, 'name', name FROM counted
  UNION ALL SELECT day, rows_of_day, 'sub_id', sub_id FROM counted
  UNION ALL SELECT day, rows_of_day, 'clicks', clicks FROM counted
  UNION ALL SELECT day, rows_of_day, 'impressions', impressions FROM counted
  UNION ALL SELECT day, rows_of_day, 'click_through_rate', click_through_rate FROM counted
  UNION ALL SELECT day, rows_of_day, 'commission', commission FROM counted
  UNION ALL SELECT day, rows_of_day, 'earnings_per_click', earnings_per_click FROM counted
  UNION ALL SELECT day, rows_of_day, 'earnings_per_mille', earnings_per_mille FROM counted
  UNION ALL SELECT day, rows_of_day, 'orders', orders FROM counted
  UNION ALL SELECT day, rows_of_day, 'conversion', conversion FROM counted
  UNION ALL SELECT day, rows_of_day, 'revenue_excl_vat', revenue_excl_vat FROM counted
  UNION ALL SELECT day, rows_of_day, 'revenue_incl_vat', revenue_incl_vat FROM counted
  UNION ALL SELECT day, rows_of_day, 'average_order_value', average_order_value FROM counted
)
SELECT today.day AS slice_day, today.field, today.rows_of_day AS row_count,
  CAST(sum(before.filled) AS BIGINT) AS filled_before, CAST(sum(before.rows_of_day) AS BIGINT) AS row_count_before
FROM fields AS today
JOIN fields AS before ON before.field = today.field AND before.day BETWEEN today.day - 14 AND today.day - 1
WHERE today.filled = 0 AND today.rows_of_day >= 20
GROUP BY today.day, today.field, today.rows_of_day
HAVING sum(before.rows_of_day) >= 100 AND sum(before.filled) >= 0.9 * sum(before.rows_of_day)
