-- A sub-ID is read from left to right by the parts of the grammar in the settings. A part ends where the literal after it is first
-- found, the last one at the end (before a literal that ends the grammar). It must not hold the literal before it: then nobody
-- could tell where it begins, and the sub-ID counts as not parsed.
--
-- {parts, unread_part}, one of them null; null where there is no sub-ID or no grammar, which is the setting sub_ids.parts. As a
-- correlated subquery it is carried out for all distinct sub-IDs of a query at once, in as many steps as the grammar has parts: 4 µs
-- of one core a sub-ID. Folding the parts by list_reduce costs 5 µs, also where sub-IDs are alike.
CREATE OR REPLACE MACRO warehouse.sub_id_reading(sub_id, grammar) AS (
  WITH RECURSIVE steps AS (
    SELECT part.position AS position, part.name AS name, part.before AS before, part.after AS after, part.is_last AS is_last
    FROM (
      SELECT unnest(from_json(grammar, '[{"position":"INTEGER","name":"VARCHAR","before":"VARCHAR","after":"VARCHAR","is_last":"BOOLEAN"}]')) AS part
    ) AS parts
  ),
  reading AS (
    SELECT 0 AS position, CAST(NULL AS VARCHAR) AS name, CAST(sub_id AS VARCHAR) AS rest, '{' AS parts, true AS is_read, false AS is_last
    UNION ALL
    SELECT
      position,
      name,
      CASE WHEN is_last THEN '' ELSE substr(head, CAST(length(part) + length(after) + 1 AS INTEGER)) END,
      parts || CASE WHEN position > 1 THEN ',' ELSE '' END || CAST(to_json(name) AS VARCHAR) || ':' || CAST(to_json(part) AS VARCHAR),
      begins AND ends AND (position = 1 OR strpos(part, before) = 0),
      is_last
    FROM (
      SELECT
        *,
        CASE WHEN is_last THEN right(head, length(after)) = after ELSE strpos(head, after) > 0 END AS ends,
        CASE WHEN is_last THEN left(head, greatest(length(head) - length(after), 0)) ELSE split_part(head, after, 1) END AS part
      FROM (
        SELECT
          reading.parts,
          steps.*,
          steps.position > 1 OR starts_with(reading.rest, steps.before) AS begins,
          CASE WHEN steps.position = 1 THEN substr(reading.rest, CAST(length(steps.before) + 1 AS INTEGER)) ELSE reading.rest END AS head
        FROM reading JOIN steps ON steps.position = reading.position + 1
        WHERE reading.is_read
      ) AS heads
    ) AS split
  )
  SELECT {'parts': CASE WHEN is_read THEN CAST(parts || '}' AS JSON) END, 'unread_part': CASE WHEN NOT is_read THEN name END}
  FROM reading
  WHERE is_last OR NOT is_read
);
