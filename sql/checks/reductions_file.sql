-- severity: block
-- about: every line of the reductions file was seen in a file that is known
-- pipeline: reductions
-- fix: where verify finds the lake sound, make the warehouse afresh from it: partner-etl rebuild; else make both again from the raw store: partner-etl replay reductions --from D --to D
SELECT line.observed_on AS slice_day, line.valid_from, count(*) AS row_count, min(line.ean) AS ean
FROM warehouse.fact_reduction AS line
WHERE {on_days:observed_on}
GROUP BY line.account, line.observed_on, line.valid_from
HAVING NOT EXISTS (
  SELECT 1 FROM warehouse.reductions_file AS seen WHERE seen.account = line.account AND seen.observed_from = line.valid_from
)
