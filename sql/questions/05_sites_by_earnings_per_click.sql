-- question: Which of my sites earn most per click?
-- reading: The last 30 loaded days, from the promotions report; earnings_per_click is commission divided by clicks, in euro.
-- reading: The commission is as first recorded: what is rejected later is still in it.
-- reading: Never average the ratios of the report or of these rows; add up commission and clicks, and divide then.
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'promotions' AND superseded_at IS NULL
),
sites AS (
  SELECT
    site_code,
    max(site_name) AS site_name,
    CAST(sum(clicks) AS bigint) AS clicks,
    CAST(sum(orders) AS bigint) AS orders,
    sum(commission) AS commission
  FROM warehouse.fact_promotion_day
  WHERE promotion_date > (SELECT day FROM newest) - 30 AND promotion_date <= (SELECT day FROM newest)
  GROUP BY site_code
)
SELECT
  site_code,
  site_name,
  clicks,
  orders,
  CAST(commission AS decimal(38,2)) AS commission,
  CAST(100 * CAST(orders AS double precision) / nullif(clicks, 0) AS decimal(18,2)) AS orders_per_100_clicks,
  CAST(CAST(commission AS double precision) / nullif(clicks, 0) AS decimal(18,4)) AS earnings_per_click
FROM sites
ORDER BY earnings_per_click DESC NULLS LAST, commission DESC, site_code
LIMIT 50
