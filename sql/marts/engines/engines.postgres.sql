-- What the two engines spell in different ways, under one name each: so the views have one text. The planner puts the text of the first two
-- into the query, so they cost nothing.

-- The day of an instant in UTC.
CREATE OR REPLACE FUNCTION etl.utc_day(instant timestamp with time zone) RETURNS date
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CAST(timezone('UTC', instant) AS date) $$;

CREATE OR REPLACE FUNCTION etl.quotient(dividend integer, divisor integer) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT dividend / divisor $$;

-- In the place of a column: a row for each.
CREATE OR REPLACE FUNCTION etl.each_number(first_number integer, last_number integer) RETURNS SETOF integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT generate_series(first_number, last_number) $$;

CREATE OR REPLACE FUNCTION etl.each_day(first_day date, last_day date) RETURNS SETOF date
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CAST(generate_series(CAST(first_day AS timestamp), CAST(last_day AS timestamp), interval '1 day') AS date) $$;
