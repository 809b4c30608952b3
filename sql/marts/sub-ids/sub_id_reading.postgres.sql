-- A sub-ID is read from left to right by the parts of the grammar in the settings. A part ends where the literal after it is first
-- found, the last one at the end (before a literal that ends the grammar). It must not hold the literal before it: then nobody
-- could tell where it begins, and the sub-ID counts as not parsed.
--
-- parts or unread_part; both null where there is no sub-ID or no grammar. The grammar is an argument, so that who may read a view
-- need not be allowed to read the settings, and they are read once a query.
CREATE OR REPLACE FUNCTION warehouse.sub_id_reading(sub_id text, grammar jsonb, OUT parts jsonb, OUT unread_part text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000
AS $$
DECLARE
  rest text := sub_id;
  step jsonb;
  part text;
  literal text;
  is_read boolean;
BEGIN
  IF sub_id IS NULL OR grammar IS NULL THEN
    RETURN;
  END IF;
  IF NOT starts_with(sub_id, grammar -> 0 ->> 'before') THEN
    unread_part := grammar -> 0 ->> 'name';
    RETURN;
  END IF;
  rest := substr(sub_id, length(grammar -> 0 ->> 'before') + 1);
  parts := '{}';
  FOR step IN SELECT jsonb_array_elements(grammar) LOOP
    literal := step ->> 'after';
    IF CAST(step ->> 'is_last' AS boolean) THEN
      is_read := right(rest, length(literal)) = literal;
      part := left(rest, greatest(length(rest) - length(literal), 0));
    ELSE
      is_read := strpos(rest, literal) > 0;
      part := split_part(rest, literal, 1);
    END IF;
    IF NOT is_read OR (CAST(step ->> 'position' AS integer) > 1 AND strpos(part, step ->> 'before') > 0) THEN
      parts := NULL;
      unread_part := step ->> 'name';
      RETURN;
    END IF;
    parts := parts || jsonb_build_object(step ->> 'name', part);
    rest := substr(rest, length(part) + length(literal) + 1);
  END LOOP;
END
$$;
