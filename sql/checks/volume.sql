-- severity: warn
-- about: a day has as many {pipeline} as that weekday usually has, by the median of the eight weeks before
-- each: promotions, orders, commissions
-- fix: look at the day in the partner platform; too few may be an outage or a report that was cut off, too many rows sent twice
-- The newest day is not judged, since it may not be over; nor a day that has fewer than four such weekdays behind it, or too few
-- rows on them for chance to be known from a fault.
WITH loaded AS (
  SELECT account, slice_day, rows AS row_count FROM etl.receipt WHERE pipeline = '{pipeline}' AND superseded_at IS NULL
),
compared AS (
  SELECT judged.account, judged.slice_day, judged.row_count, count(*) AS weeks,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY usual.row_count) AS usual_row_count
  FROM (SELECT * FROM loaded WHERE {on_days:slice_day}) AS judged
  JOIN loaded AS usual ON usual.account = judged.account
    AND usual.slice_day BETWEEN judged.slice_day - 56 AND judged.slice_day - 7 AND (judged.slice_day - usual.slice_day) % 7 = 0
  GROUP BY judged.account, judged.slice_day, judged.row_count
)
SELECT slice_day, row_count, usual_row_count
FROM compared
JOIN (SELECT account, max(slice_day) AS day FROM loaded GROUP BY account) AS newest ON newest.account = compared.account
WHERE weeks >= 4 AND usual_row_count >= 50 AND slice_day < newest.day
  AND (row_count < usual_row_count * 0.4 OR row_count > usual_row_count * 2.5)
