CREATE OR REPLACE FUNCTION warehouse.reductions_in_force(day date)
RETURNS SETOF warehouse.fact_reduction_version
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
  SELECT line.*
  FROM warehouse.fact_reduction_version AS line
  WHERE coalesce(line.start_date, CAST(day AS date)) <= CAST(day AS date)
    AND coalesce(line.end_date, CAST(day AS date)) >= CAST(day AS date)
    AND line.valid_from < timezone('UTC', CAST(CAST(day AS date) + 1 AS timestamp))
    AND (line.valid_to IS NULL OR line.valid_to >= timezone('UTC', CAST(CAST(day AS date) + 1 AS timestamp)))
$$;
