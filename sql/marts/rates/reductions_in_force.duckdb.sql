CREATE OR REPLACE MACRO warehouse.reductions_in_force(day) AS TABLE
SELECT line.*
FROM warehouse.fact_reduction_version AS line
WHERE coalesce(line.start_date, CAST(day AS DATE)) <= CAST(day AS DATE)
  AND coalesce(line.end_date, CAST(day AS DATE)) >= CAST(day AS DATE)
  AND line.valid_from < timezone('UTC', CAST(CAST(day AS DATE) + 1 AS TIMESTAMP))
  AND (line.valid_to IS NULL OR line.valid_to >= timezone('UTC', CAST(CAST(day AS DATE) + 1 AS TIMESTAMP)));
