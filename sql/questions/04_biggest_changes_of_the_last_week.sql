-- question: What were the biggest changes of the last week?
-- reading: effect is what the change does to the commission that can be counted on: an item counts with its commission until it is rejected or gone.
-- reading: New orders are left out, and so are changes without an effect, such as an approval or an item that only moved to another day.
-- reading: changed_on is the day on which the change was seen; it happened some time since the run before.
-- reading: mart.order_change has every change of the items of some days; give it the days as literals, such as order_date >= DATE '2026-02-01'.
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
),
ended AS (
  SELECT account, order_date, order_id, order_item_id, site_code, status_group, commission, valid_to, ended_by, ended_on
  FROM warehouse.fact_order_item_history
  WHERE ended_on > (SELECT day FROM newest) - 6 AND ended_on <= (SELECT day FROM newest) + 30
),
changes AS (
  SELECT
    ended.ended_on AS changed_on,
    CASE
      WHEN ended.ended_by = 'gone' THEN 'vanished'
      WHEN after.status_group IS DISTINCT FROM ended.status_group THEN 'status'
      ELSE 'restated'
    END AS change,
    coalesce(after.order_date, ended.order_date) AS order_date,
    ended.order_id,
    ended.order_item_id,
    ended.site_code,
    ended.status_group AS status_group_before,
    after.status_group AS status_group_after,
    ended.commission AS commission_before,
    after.commission AS commission_after,
    CASE WHEN coalesce(after.status_group, 'unknown') <> 'rejected' THEN coalesce(after.commission, 0) ELSE 0 END
      - CASE WHEN coalesce(ended.status_group, 'unknown') <> 'rejected' THEN coalesce(ended.commission, 0) ELSE 0 END AS effect
  FROM ended
  LEFT JOIN warehouse.fact_order_item_version AS after
    ON after.account = ended.account
    AND after.order_id = ended.order_id
    AND after.order_item_id = ended.order_item_id
    AND after.valid_from = ended.valid_to
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
