-- question: Why is the commission of last month another one than it was at first?
-- reading: The first row is what every day brought when it was first fetched; the next three are the causes, and add up to what is known now.
-- reading: An item that moved to another day of the month is gone on one day and came later on the other; the two cancel out.
-- reading: The last two rows compare with what was known when the month ended, at midnight UTC; its last days were not fetched by then.
-- reading: Rejected items are in these sums, because a rejection does not change the commission that is recorded.
-- reading: mart.restatement has the same causes by day, site, tool and sub-ID; give it the days as literals, such as order_date >= DATE '2026-02-01'.
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
),
last_month AS (
  SELECT
    CAST(date_trunc('month', day) - INTERVAL '1 month' AS date) AS first_day,
    CAST(date_trunc('month', day) - INTERVAL '1 day' AS date) AS last_day,
    timezone('UTC', CAST(date_trunc('month', day) AS timestamp)) AS ended_at
  FROM newest
),
versions AS (
  SELECT order_date, order_id, order_item_id, commission, valid_from, valid_to
  FROM warehouse.fact_order_item_version
  WHERE order_date >= (SELECT first_day FROM last_month) AND order_date <= (SELECT last_day FROM last_month)
),
first_fetch AS (
  SELECT order_date, min(valid_from) AS fetched_at FROM versions GROUP BY order_date
),
known AS (
  SELECT
    versions.*,
    versions.valid_from = first_fetch.fetched_at AS is_first,
    versions.valid_to IS NULL AS is_now,
    versions.valid_from <= last_month.ended_at
      AND (versions.valid_to IS NULL OR versions.valid_to > last_month.ended_at) AS is_month_end
  FROM versions
  JOIN first_fetch ON first_fetch.order_date = versions.order_date
  CROSS JOIN last_month
),
items AS (
  SELECT
    max(CASE WHEN is_first THEN 1 ELSE 0 END) AS at_first,
    max(CASE WHEN is_now THEN 1 ELSE 0 END) AS at_last,
    max(CASE WHEN is_month_end THEN 1 ELSE 0 END) AS at_month_end,
    sum(CASE WHEN is_first THEN commission ELSE 0 END) AS commission_first,
    sum(CASE WHEN is_now THEN commission ELSE 0 END) AS commission_now,
    sum(CASE WHEN is_month_end THEN commission ELSE 0 END) AS commission_month_end
  FROM known
  GROUP BY order_date, order_id, order_item_id
),
sums AS (
  SELECT
    sum(at_first) AS items_first,
    sum(at_last) AS items_now,
    sum(at_month_end) AS items_month_end,
    sum(CASE WHEN at_first = 0 THEN at_last ELSE 0 END) AS items_later,
    sum(CASE WHEN at_last = 0 THEN at_first ELSE 0 END) AS items_gone,
    sum(commission_first) AS commission_first,
    sum(commission_now) AS commission_now,
    sum(commission_month_end) AS commission_month_end,
    sum(CASE WHEN at_first = 0 THEN commission_now ELSE 0 END) AS commission_later,
    sum(CASE WHEN at_last = 0 THEN commission_first ELSE 0 END) AS commission_gone,
    sum(CASE WHEN at_first = 1 AND at_last = 1 THEN commission_now - commission_first ELSE 0 END) AS commission_changed
  FROM items
),
steps AS (
  SELECT 1 AS step, 'as first fetched' AS what, items_first AS items, commission_first AS commission FROM sums
  UNION ALL
  SELECT 2, 'items that came later', items_later, commission_later FROM sums
  UNION ALL
  SELECT 3, 'items that went', -items_gone, -commission_gone FROM sums
  UNION ALL
  SELECT 4, 'items whose commission was changed', NULL, commission_changed FROM sums
  UNION ALL
  SELECT 5, 'as it is now', items_now, commission_now FROM sums
  UNION ALL
  SELECT 6, 'as known when the month ended', items_month_end, commission_month_end FROM sums
  UNION ALL
  SELECT 7, 'difference since then', items_now - items_month_end, commission_now - commission_month_end FROM sums
)
SELECT step, what, CAST(items AS bigint) AS items, CAST(commission AS decimal(38,2)) AS commission
FROM steps
ORDER BY step
