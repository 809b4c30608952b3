CREATE OR REPLACE VIEW warehouse.dim_sub_id AS
WITH readings AS MATERIALIZED (
  SELECT
    seen.account, seen.sub_id, seen.first_day, seen.last_day,
    warehouse.sub_id_reading(seen.sub_id, CAST(grammar.value AS jsonb)) AS reading
  FROM etl.sub_id_seen AS seen
  LEFT JOIN etl.setting AS grammar ON grammar.account = seen.account AND grammar.name = 'sub_ids.parts'
)
SELECT
  account,
  sub_id,
  first_day,
  last_day,
  CASE WHEN (reading).parts IS NOT NULL THEN true WHEN (reading).unread_part IS NOT NULL THEN false END AS is_parsed,
  (reading).parts AS parts,
  (reading).unread_part AS unread_part
FROM readings;
