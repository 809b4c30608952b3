-- What a sub-ID is read as by the grammar in the settings of the account `default`, or the part at which that ended.
CREATE OR REPLACE FUNCTION warehouse.sub_id_parts(sub_id text) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
  SELECT (warehouse.sub_id_reading(sub_id, (SELECT CAST(value AS jsonb) FROM etl.setting WHERE name = 'sub_ids.parts' AND account = 'default'))).parts
$$;

CREATE OR REPLACE FUNCTION warehouse.sub_id_unread_part(sub_id text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
  SELECT (warehouse.sub_id_reading(sub_id, (SELECT CAST(value AS jsonb) FROM etl.setting WHERE name = 'sub_ids.parts' AND account = 'default'))).unread_part
$$;
