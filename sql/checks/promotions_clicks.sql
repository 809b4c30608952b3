-- severity: warn
-- about: nothing was clicked more often than it was shown
-- pipeline: promotions
-- fix: ask the service; without impressions (a plain link has none) nothing is compared
SELECT promotion_date AS slice_day, site_code, frame_type, name, sub_id, clicks, impressions
FROM warehouse.fact_promotion_day
WHERE {on_days:promotion_date} AND impressions > 0 AND clicks > impressions
