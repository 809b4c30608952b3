-- What the two engines spell in different ways, under one name each: so the views have one text.

-- The day of an instant in UTC, counted from its microseconds: timezone('UTC', …) costs fourteen times as much.
CREATE OR REPLACE MACRO etl.utc_day(instant) AS date '1970-01-01' + CAST(epoch_us(instant) // 86400000000 AS integer);

CREATE OR REPLACE MACRO etl.quotient(dividend, divisor) AS dividend // divisor;

-- In the place of a column: a row for each.
CREATE OR REPLACE MACRO etl.each_number(first_number, last_number) AS unnest(generate_series(first_number, last_number));

CREATE OR REPLACE MACRO etl.each_day(first_day, last_day) AS CAST(unnest(generate_series(first_day, last_day, interval 1 day)) AS date);
