-- severity: warn
-- about: a field that was there on the 14 days before is not missing on a whole day
-- each: promotions, orders, commissions
-- fix: ask the service; it may have renamed the field (then etl.drift has an unknown_field too) or no longer sends it
-- There: in nine of ten rows, and of at least a hundred. A day with fewer than twenty rows says nothing.
WITH counted AS (
  SELECT account, {day} AS day,
    count({column}) AS {column},
    count(*) AS rows_of_day
  FROM {table} WHERE {on_days:{day}:14} GROUP BY account, {day}
),
fields AS (
  SELECT account, day, rows_of_day, 'none' AS field, rows_of_day AS filled FROM counted WHERE false
  UNION ALL SELECT account, day, rows_of_day, '{column}', {column} FROM counted
)
SELECT today.day AS slice_day, today.field, today.rows_of_day AS row_count,
  CAST(sum(before.filled) AS BIGINT) AS filled_before, CAST(sum(before.rows_of_day) AS BIGINT) AS row_count_before
FROM fields AS today
JOIN fields AS before
  ON before.account = today.account AND before.field = today.field AND before.day BETWEEN today.day - 14 AND today.day - 1
WHERE today.filled = 0 AND today.rows_of_day >= 20
GROUP BY today.account, today.day, today.field, today.rows_of_day
HAVING sum(before.rows_of_day) >= 100 AND sum(before.filled) >= 0.9 * sum(before.rows_of_day)
