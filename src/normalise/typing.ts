/**
 * SQL that turns the splitter's lines (every value as text) into typed columns, by the rules of DESIGN.md §9.
 *
 * Three nested selects: `lines` holds the raw texts as `r_<column>`; `typed` the values, null where a text does not fit;
 * the outermost says what is wrong with a row (`_reject`, `code␟detail`) and what was fixed (`_drift`, names with commas).
 * The splitter has proved JSON types already: a number column holds a JSON number literal or null.
 */
import type { DayRange } from '../core/days.ts';
import type { DerivedColumn, Pipeline, SourceColumn } from '../core/pipeline.ts';
import { rowHashSql } from '../engine/content.ts';
import { quoteName, quoteText } from '../engine/duckdb.ts';
import { decimalIn, hasMoreDecimals, type NumberForm, wholeIn } from './number-text.ts';
import { zoneStretches } from './zone.ts';

/** Between the code of a reject and its detail: U+241F would be visible, U+001F is not. */
export const UNIT = 'chr(31)';

const raw = (column: string) => quoteName(`r_${column}`);
/** A time as it stands, any offset in it left aside. */
const wall = (column: string) => quoteName(`w_${column}`);

/**
 * The `columns` argument of read_json: item number, offset, length, unknown fields, wrong type, then every known field, then
 * what is carried through as it is.
 */
export function lineColumns(pipeline: Pipeline, carried: readonly string[] = []): string {
  const names = ['_i', '_o', '_l', '_x', '_b', ...pipeline.columns.map((c) => c.field), ...carried];
  return `{${names.map((name) => `${quoteText(name)}: 'VARCHAR'`).join(', ')}}`;
}

/**
 * The typed relation over `source` (a FROM item with the line columns). `range`: days outside of it make a row a reject; null
 * where no day can be wrong. `carried`: further columns of the source that the relation shall have. `form`: how numbers are spelled.
 */
export function typedSelect(
  pipeline: Pipeline,
  source: string,
  range: DayRange | null,
  timeZone: string,
  form: NumberForm,
  carried: readonly string[] = [],
): string {
  const raws = pipeline.columns.map((c) => `${quoteName(c.field)} AS ${raw(c.column)}`);
  const typed = pipeline.columns.map((c) => `${typedValue(c, form)} AS ${quoteName(c.column)}`);
  const checked = pipeline.columns.map((c) => c.column).map(raw);
  const times = new Set(pipeline.derived.filter((d) => d.rule !== 'status-group').map((d) => d.from));
  const walls = [...times].map((column) => `${timeIn(raw(column), 'TIMESTAMP')} AS ${wall(column)}`);
  const derived = pipeline.derived.map((d) => `${derivedValue(d, range, timeZone)} AS ${quoteName(d.column)}`);
  const stored = [...pipeline.columns, ...pipeline.derived].map((c) => quoteName(c.column));
  const also = carried.map((name) => `${quoteName(name)}, `).join('');
  return `SELECT *, ${rowHashSql(pipeline)} AS _hash FROM (
    SELECT _item, _offset, _length, extra, ${also}${stored.join(', ')},
      ${rejectCase(pipeline, range)} AS _reject,
      ${driftText(pipeline, form)} AS _drift
    FROM (SELECT *${derived.map((d) => `, ${d}`).join('')} FROM (
      SELECT _i::BIGINT AS _item, _o::BIGINT AS _offset, _l::BIGINT AS _length, _x AS extra, _b, ${also}
        ${[...checked, ...typed, ...walls].join(',\n        ')}
      FROM (SELECT _i, _o, _l, _x, _b, ${also}${raws.join(', ')} FROM ${source})
    ))
  )`;
}

function typedValue(column: SourceColumn, form: NumberForm): string {
  const text = raw(column.column);
  switch (column.kind) {
    case 'money':
    case 'percentage':
      return decimalIn(text, form);
    case 'ratio':
      return `TRY_CAST(${text} AS DOUBLE)`;
    case 'count':
      return wholeIn(text, form);
    case 'boolean':
      return `(${text} = 'true')`;
    case 'day':
      return dayPart(text);
    case 'utc-time':
      return timeIn(text, 'TIMESTAMPTZ');
    default:
      return text;
  }
}

/**
 * Null for what is no time, or none of the years 1900 to 9998, by its own clock up to 18 hours beside UTC: DuckDB also reads `infinity`,
 * `epoch` and years before Christ.
 */
function timeIn(text: string, type: 'TIMESTAMP' | 'TIMESTAMPTZ'): string {
  const time = `TRY_CAST(${text} AS ${type})`;
  return `CASE WHEN ${time} >= ${type} '1899-12-31 06:00:00' AND ${time} < ${type} '9999-01-01 18:00:00' THEN ${time} END`;
}

/** `yyyy-MM-dd`, alone or before a `T` or a space and a time; `2026-1-5`, 30 February and `2026-11-22 BC` are no days. */
function dayPart(text: string): string {
  const day = `TRY_CAST(left(${text}, 10) AS DATE)`;
  const isTime = `substr(${text}, 11, 1) IN ('T', ' ') AND substr(${text}, 12, 1) BETWEEN '0' AND '9' AND NOT ${text} ILIKE '%BC%'`;
  return `CASE WHEN ${day}::VARCHAR = left(${text}, 10) AND (length(${text}) = 10 OR (${isTime})) THEN ${day} END`;
}

function derivedValue(derived: DerivedColumn, range: DayRange | null, timeZone: string): string {
  const from = quoteName(derived.from);
  const wallClock = wall(derived.from);
  switch (derived.rule) {
    case 'local-time':
      return `CASE WHEN ${hasOffset(from)} THEN timezone(${quoteText(timeZone)}, ${timeIn(from, 'TIMESTAMPTZ')}) ELSE ${wallClock} END`;
    case 'utc-time':
      return `CASE WHEN ${hasOffset(from)} THEN ${timeIn(from, 'TIMESTAMPTZ')} ${range ? inStretches(wallClock, range, timeZone) : ''}
        ELSE ${firstPass(wallClock, timeZone)} END`;
    case 'status-group':
      return statusGroup(from);
  }
}

/** A TIMESTAMP cast silently drops an offset, so times with one go another way. The usual form has none and skips the search. */
function hasOffset(text: string): string {
  const usual = `length(${text}) = 19 AND substr(${text}, 17, 1) = ':'`;
  const offset = `regexp_matches(${text}, '(Z|[+-][0-9]{2}(:?[0-9]{2})?)$') AND length(${text}) > 16`;
  return `CASE WHEN ${text} IS NULL OR ${usual} THEN false ELSE ${offset} END`;
}

/** WHEN branches for the times of the window, where the zone's offset is known beforehand. */
function inStretches(local: string, range: DayRange, timeZone: string): string {
  return zoneStretches(range, timeZone)
    .map(({ from, to, offsetMs }) => {
      const within = `${local} >= TIMESTAMP ${quoteText(from)} AND ${local} < TIMESTAMP ${quoteText(to)}`;
      return `WHEN ${within} THEN make_timestamptz(epoch_us(${local}) - ${offsetMs * 1000})`;
    })
    .join(' ');
}

/** ICU takes the second pass of the hour that autumn repeats; the contract wants the first, one hour before. */
function firstPass(local: string, timeZone: string): string {
  const zone = quoteText(timeZone);
  const instant = `timezone(${zone}, ${local})`;
  const before = `(${instant} - INTERVAL 1 HOUR)`;
  return `CASE WHEN timezone(${zone}, ${before}) = ${local} THEN ${before} ELSE ${instant} END`;
}

function statusGroup(status: string): string {
  const word = `lower(trim(${status}))`;
  return `CASE WHEN ${word} = 'geaccepteerd' THEN 'approved'
      WHEN starts_with(${word}, 'geweigerd') THEN 'rejected'
      WHEN ${word} = 'open' THEN 'open'
      WHEN status_final THEN 'unknown' ELSE 'open' END`;
}

/** What makes a row a reject: the first that applies, as `code␟detail`; null for a sound row. */
function rejectCase(pipeline: Pipeline, range: DayRange | null): string {
  const tell = (code: string, column: string) =>
    `${quoteText(code)} || ${UNIT} || ${quoteText(`${column} = `)} || left(${raw(column)}, 200)`;
  const cases = [`WHEN _b IS NOT NULL THEN replace(_b, ':', ${UNIT})`];
  for (const c of pipeline.columns) {
    const [r, value] = [raw(c.column), quoteName(c.column)];
    if (c.required)
      cases.push(
        `WHEN ${r} IS NULL OR ${r} = '' THEN ${quoteText('missing_field')} || ${UNIT} || ${quoteText(c.field)}`,
      );
    if (c.kind === 'text' || c.kind === 'boolean' || c.kind === 'json') continue;
    const word = c.kind === 'day' ? 'day' : c.kind === 'utc-time' ? 'time' : 'number';
    cases.push(`WHEN ${value} IS NULL AND ${r} IS NOT NULL THEN ${tell(`bad_${word}`, c.column)}`);
    // DOUBLE has room for infinities, which no ratio is and JSON cannot say.
    if (c.kind === 'ratio') cases.push(`WHEN isinf(${value}) THEN ${tell('bad_number', c.column)}`);
  }
  const day = quoteName(pipeline.day);
  if (range !== null)
    cases.push(
      `WHEN ${day} NOT BETWEEN DATE ${quoteText(range.from)} AND DATE ${quoteText(range.to)} THEN ${tell('outside_window', pipeline.day)}`,
    );
  return `CASE ${cases.join('\n      ')} END`;
}

/** Names of what was fixed or not understood in a row, each with a comma behind; '' for most rows. */
function driftText(pipeline: Pipeline, form: NumberForm): string {
  const parts = pipeline.columns
    .filter((c) => c.kind === 'money' || c.kind === 'percentage')
    .map((c) => {
      const r = raw(c.column);
      return `CASE WHEN ${hasMoreDecimals(r, form)} AND ${quoteName(c.column)} IS NOT NULL THEN ${quoteText(`rounded:${c.column},`)} ELSE '' END`;
    });
  for (const d of pipeline.derived) {
    const [from, value] = [quoteName(d.from), quoteName(d.column)];
    if (d.rule === 'local-time')
      parts.push(
        `CASE WHEN ${value} IS NULL AND ${from} IS NOT NULL THEN ${quoteText(`bad_time:${d.from},`)} ELSE '' END`,
      );
    if (d.rule === 'status-group')
      parts.push(
        `CASE WHEN ${value} = 'unknown' OR (${value} = 'open' AND lower(trim(${from})) <> 'open') THEN ${quoteText(`unknown_status:${d.from},`)} ELSE '' END`,
      );
  }
  return parts.length === 0 ? "''" : parts.join(' ||\n      ');
}
