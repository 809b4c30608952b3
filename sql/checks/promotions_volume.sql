-- severity: warn
-- about: a day has as many promotions as that weekday usually has, by the median of the eight weeks before
-- pipeline: promotions
-- fix: look at the day in the partner platform; too few may be an outage or a report that was cut off, too many rows told twice
-- The newest day is not judged, since it may not be over; nor a day that has fewer than four such weekdays behind it, or too few
-- rows on them for chance to be told from a fault.
WITH loaded AS (
  SELECT slice_day, rows AS row_count FROM etl.receipt WHERE pipeline = 'promotions' AND superseded_at IS NULL
),
compared AS (
  SELECT judged.slice_day, judged.row_count, count(*) AS weeks,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY usual.row_count) AS usual_row_count
  FROM (SELECT * FROM loaded WHERE {on_days:slice_day}) AS judged
  JOIN loaded AS usual ON usual.slice_day BETWEEN judged.slice_day - 56 AND judged.slice_day - 7
    AND (judged.slice_day - usual.slice_day) % 7 = 0
  GROUP BY judged.slice_day, judged.row_count
)
SELECT slice_day, row_count, usual_row_count
FROM compared
WHERE weeks >= 4 AND usual_row_count >= 50 AND slice_day < (SELECT max(slice_day) FROM loaded)
  AND (row_count < usual_row_count * 0.4 OR row_count > usual_row_count * 2.5)
