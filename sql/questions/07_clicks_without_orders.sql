-- question: Which promotions get clicks and no orders?
-- reading: The last 30 loaded days; a row is a site, a kind of tool, a name and a sub-ID whose clicks led to no order in that time.
-- reading: A name or sub-ID that is empty was not given; all rows without one are one row.
-- reading: Some tens of clicks without an order are chance; look at the first rows.
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'promotions' AND superseded_at IS NULL
)
SELECT
  max(site_name) AS site_name,
  site_code,
  frame_type,
  name,
  sub_id,
  CAST(sum(clicks) AS bigint) AS clicks,
  CAST(sum(impressions) AS bigint) AS impressions,
  count(DISTINCT promotion_date) AS days_shown
FROM warehouse.fact_promotion_day
WHERE promotion_date > (SELECT day FROM newest) - 30 AND promotion_date <= (SELECT day FROM newest)
GROUP BY site_code, frame_type, name, sub_id
HAVING sum(clicks) > 0 AND coalesce(sum(orders), 0) = 0
ORDER BY clicks DESC, impressions DESC, site_code, frame_type, name NULLS LAST, sub_id NULLS LAST
LIMIT 30
