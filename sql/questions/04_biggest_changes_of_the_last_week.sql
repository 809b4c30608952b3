-- question: What were the biggest changes of the last week?
-- reading: effect is what the change does to the commission that can be counted on: an item counts with its commission until it is rejected or gone.
-- reading: New orders are left out, and so are changes without an effect, such as an approval or an item that only moved to another day.
-- reading: changed_on is the day on which the change was seen; it happened some time since the run before.
-- reading: mart.order_change has every change of the items of some days; give it the days as literals, such as order_date >= DATE '2026-02-01'.
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
),
recent AS (
  SELECT order_date, order_id, order_item_id, status_group, commission, is_present, observed_on, observed_from
  FROM warehouse.order_item_version
  WHERE observed_on > (SELECT day FROM newest) - 6 AND observed_on <= (SELECT day FROM newest) + 30
),
changes AS (
  SELECT
    recent.observed_on AS changed_on,
    CASE
      WHEN NOT recent.is_present THEN 'vanished'
      WHEN recent.status_group IS DISTINCT FROM earlier.status_group THEN 'status'
      ELSE 'restated'
    END AS change,
    recent.order_date,
    recent.order_id,
    recent.order_item_id,
    earlier.site_code,
    earlier.status_group AS status_group_before,
    recent.status_group AS status_group_after,
    earlier.commission AS commission_before,
    recent.commission AS commission_after,
    CASE WHEN recent.is_present AND coalesce(recent.status_group, 'unknown') <> 'rejected' THEN coalesce(recent.commission, 0) ELSE 0 END
      - CASE WHEN coalesce(earlier.status_group, 'unknown') <> 'rejected' THEN coalesce(earlier.commission, 0) ELSE 0 END AS effect
  FROM recent
  JOIN warehouse.order_item_version AS earlier
    ON earlier.order_id = recent.order_id
    AND earlier.order_item_id = recent.order_item_id
    AND earlier.observed_to = recent.observed_from
  WHERE earlier.is_present
)
SELECT
  changed_on,
  change,
  order_date,
  order_id,
  order_item_id,
  site_code,
  status_group_before,
  status_group_after,
  CAST(commission_before AS decimal(38,2)) AS commission_before,
  CAST(commission_after AS decimal(38,2)) AS commission_after,
  CAST(effect AS decimal(38,2)) AS effect
FROM changes
WHERE effect <> 0
ORDER BY abs(changes.effect) DESC, changed_on, order_date, order_id, order_item_id
LIMIT 25
