/**
 * SQL that reads numbers from their text, exactly.
 *
 * DuckDB's own cast is exact for texts without an exponent (200,000 random ones were right), but not for others: `8e-12` became 0.000001
 * as DECIMAL(18,6), and `0.00000000000000000000000000000000000001e38`, which is 1, became 0. So the exponent is taken out of
 * the text first, by moving its point. Where no number has an exponent nothing needs to be moved, and a statement that could do it
 * for each of fourteen columns takes 0.1 s to plan, more than the rows of most windows.
 */

/** Whether some of the numbers that are read may have an exponent. */
export interface NumberForm {
  readonly hasExponents: boolean;
}

/** Zeros to move the point through; a number with a larger exponent is 0 or fits nowhere, and is refused. */
const FARTHEST = 1000;

/** The number without an exponent, as SQL text; null where the exponent is larger than FARTHEST. Other texts stay as they are. */
function withoutExponent(text: string, { hasExponents }: NumberForm): string {
  if (!hasExponents) return text;
  const part = (side: 1 | 2) => `split_part(lower(${text}), 'e', ${side})`;
  const mantissa = `ltrim(${part(1)}, '-')`;
  const power = `TRY_CAST(${part(2)} AS INTEGER)`;
  const zeros = `repeat('0', ${FARTHEST})`;
  const digits = `concat(${zeros}, replace(${mantissa}, '.', ''), ${zeros})`;
  const point = `(${FARTHEST} + length(split_part(${mantissa}, '.', 1)) + ${power})`;
  const sign = `CASE WHEN starts_with(${text}, '-') THEN '-' ELSE '' END`;
  const moved = `concat(${sign}, '0', ltrim(left(${digits}, ${point}), '0'), '.', rtrim(substr(${digits}, ${point} + 1), '0'), '0')`;
  return `CASE WHEN ${exponentIn(text)} THEN CASE WHEN abs(${power}) <= ${FARTHEST} THEN ${moved} END ELSE ${text} END`;
}

function exponentIn(text: string): string {
  return `(contains(${text}, 'e') OR contains(${text}, 'E'))`;
}

/** DECIMAL(18,6), more decimals rounded half up (away from zero); null for what does not fit. */
export function decimalIn(text: string, form: NumberForm): string {
  return `TRY_CAST(${withoutExponent(text, form)} AS DECIMAL(18,6))`;
}

/** Whether the number has more than six decimals that say something. Most are too short for that. */
export function hasMoreDecimals(text: string, form: NumberForm): string {
  const isLong = `length(${text}) > 8`;
  const mayHave = form.hasExponents ? `(${isLong} OR ${exponentIn(text)})` : isLong;
  return `(${mayHave} AND regexp_matches(${withoutExponent(text, form)}, '\\.[0-9]{6}0*[1-9]'))`;
}

/** BIGINT; null for what does not fit or is not whole: `1e2` and `3.0` are, `1.5` is not, which a plain cast would round. */
export function wholeIn(text: string, form: NumberForm): string {
  const plain = withoutExponent(text, form);
  const isSpelled = `contains(${text}, '.')${form.hasExponents ? ` OR ${exponentIn(text)}` : ''}`;
  return `CASE WHEN ${text} IS NULL THEN NULL
      WHEN NOT (${isSpelled}) THEN TRY_CAST(${text} AS BIGINT)
      WHEN rtrim(split_part(${plain}, '.', 2), '0') = '' THEN TRY_CAST(split_part(${plain}, '.', 1) AS BIGINT) END`;
}
