-- A line that a file brought, for as long as the files had it. The last of them is the one before the file that no longer had
-- it, also one of the same content, which brought no line. Joined, and not looked for line by line: 400,000
-- lines of 300 files take Postgres 0.4 s, else 19 s.
CREATE OR REPLACE VIEW mart.reduction AS
WITH files AS (
  SELECT
    account,
    observed_from AS fetched_at,
    max(file_name) AS file_name,
    lag(max(file_name)) OVER (PARTITION BY account ORDER BY observed_from) AS file_before,
    lead(observed_from) OVER (PARTITION BY account ORDER BY observed_from) IS NULL AS is_newest
  FROM warehouse.reductions_file
  GROUP BY account, observed_from
)
SELECT
  line.account,
  line.ean,
  line.maximum_price,
  line.cost_reduction,
  line.start_date,
  line.end_date,
  line.file_name AS first_file,
  CASE WHEN line.valid_to IS NOT NULL THEN ended.file_before ELSE newest.file_name END AS last_file,
  line.valid_to IS NULL AS is_current,
  line.observed_on,
  line.valid_from,
  line.valid_to,
  line.extra,
  line.fetch_id,
  line.loaded_at
FROM warehouse.fact_reduction_version AS line
LEFT JOIN files AS ended ON ended.account = line.account AND ended.fetched_at = line.valid_to
LEFT JOIN files AS newest ON newest.account = line.account AND newest.is_newest;
